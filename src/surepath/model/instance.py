"""Instance: an MDP together with its reward laws; a world to simulate, with the truth inside."""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import frozen
from surepath._types import FloatArray, IntArray
from surepath.errors import ProblemError
from surepath.model.mdp import MDP
from surepath.model.paths import best_path
from surepath.model.rewards import KNOWN, ArcLaws, Law

# Units in the last place that means read from text, or made by adding, may be off by.
_ULPS = 4
# Searches for the best path, each relative to the last one found; the second nearly always confirms the first.
_SEARCHES = 4


class Instance:
    """A problem whose reward laws are known to us, though never to a learner.

    Attributes:
        mdp: The layered graph.
        means: Mean reward of each arc in the user's direction, float [N].
        sigma: Sub-Gaussian factor of each arc, float [N]; 0 on arcs whose reward is known in advance.
        law: The law laid on the arcs.
        id: A versioned id that rebuilds the instance exactly, or None.

    Example:
        >>> from surepath import Gaussian
        >>> mdp = MDP.from_arrays([[[0, 0]]])
        >>> Instance(mdp, Gaussian([0.2, 0.8], sigma=0.5)).optimal_return
        0.8
    """

    def __init__(self, mdp: MDP, rewards: Law, *, id: str | None = None) -> None:
        if not isinstance(mdp, MDP):
            raise ProblemError(f"an instance needs an MDP, not {type(mdp).__name__}")
        if not isinstance(rewards, Law):
            raise ProblemError(f"rewards must be a law such as Gaussian(means, sigma), not {type(rewards).__name__}")
        self.mdp = mdp
        self.id = id
        self.law: ArcLaws = rewards.bind(mdp)
        known = mdp.is_known
        if mdp.known is not None and known.any():
            self.law.kind[known] = KNOWN
            self.law.mean[known] = self.law.a[known] = mdp.known[known]
            self.law.sigma[known] = 0.0
            self.law.low[known] = self.law.high[known] = mdp.known[known]
        self.means = cast(FloatArray, frozen(self.law.mean))
        self.sigma = cast(FloatArray, frozen(self.law.sigma))

    @cached_property
    def gains(self) -> FloatArray:
        """Return mean worths turned so that larger is better, float [N]: means, less what costs take from them."""
        return cast(FloatArray, frozen(self.mdp.gains_of(slice(None), self.means)))

    @cached_property
    def _best(self) -> IntArray:
        """Find an optimal path among gains relative to those of a path that is nearly so, int [H].

        Every path has one arc of each stage, so nothing changes between paths, and where it is close the numbers that
        are added are small: means near 1e9 that differ in the fifth decimal are distinguished.
        """
        best = best_path(self.mdp, self.gains)
        for _ in range(_SEARCHES):
            reference = np.repeat(self.gains[best], np.diff(self.mdp.stage_arc))
            again = best_path(self.mdp, self.gains - reference)
            if np.array_equal(again, best):
                break
            best = again
        return best

    @property
    def optimal_return(self) -> float:
        """Return the value of the best path, in the user's direction."""
        return self.value_of(self._best)

    def value_of(self, path: ArrayLike) -> float:
        """Return the true mean return of a path, in the user's direction; its worth, where costs count."""
        arcs = self.mdp.check_path(path)
        return math.fsum(self.means[arcs] if self.mdp.charge is None else self.mdp.sign * self.gains[arcs])

    def regret_of(self, path: ArrayLike) -> float:
        """Return how far a path's mean return is from the best: the differences stage by stage, added exactly."""
        arcs = self.mdp.check_path(path)
        return max(0.0, math.fsum((*self.gains[self._best], *-self.gains[arcs])))

    def is_within(self, path: ArrayLike, epsilon: float) -> bool:
        """Return whether a path is within epsilon of the best, up to a few last places of the largest mean."""
        return self.regret_of(path) <= epsilon + self.tolerance_of(path)

    def tolerance_of(self, path: ArrayLike) -> float:
        """Return what a regret is exact to: a few last places of the largest mean of a path and the best one."""
        largest = max(np.abs(self.gains[arcs]).max() for arcs in (self.mdp.check_path(path), self._best))
        return float(_ULPS * np.spacing(largest))

    def best_path(self) -> IntArray:
        """Return one optimal path; the lowest arc where several are optimal."""
        return self._best.copy()

    @cached_property
    def content_hash(self) -> str:
        """Return the SHA-256 of the graph and of the laws' numbers."""
        digest = hashlib.sha256(self.mdp.content_hash.encode())
        law = self.law
        for array in (
            law.kind,
            law.mean,
            law.sigma,
            law.low,
            law.high,
            law.a,
            law.b,
            law.table_first,
            law.table,
        ):
            digest.update(np.ascontiguousarray(array).tobytes())
        if law.loading is not None:
            digest.update(law.loading.tobytes() + np.float64(law.carry).tobytes())
        return digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self.content_hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instance) and self.content_hash == other.content_hash

    def __repr__(self) -> str:
        return f"Instance({self.id or self.mdp!r})"
