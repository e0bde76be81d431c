"""Worlds to simulate: reward laws, and an Instance, which is an MDP with such laws."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import (
    LARGEST,
    FloatArray,
    IntArray,
    NotNumbersError,
    check_sigma,
    frozen,
    per_arc,
    positive,
    read_numbers,
    real,
    shortened,
)
from surepath.errors import ProblemError
from surepath.model.mdp import MDP
from surepath.model.paths import best_path

# Rewards --------------------------------------------------------------------------------------------------------------
# A law knows the mean, the sub-Gaussian factor sigma and the range of every arc. Means may be given as one number,
# as [N] in arc order, or as [H, S, A]. All laws are in the user's own direction (costs stay costs).

# Kinds of draw that a compiled run knows; `CALLABLE` is drawn in Python.
GAUSSIAN, BERNOULLI, UNIFORM, BETA, TABLE, KNOWN, CALLABLE = range(7)


def on_arcs(what: str, value: ArrayLike, mdp: MDP) -> FloatArray:
    """Return one number per arc from a scalar, [N] or [H, S, A]; True and False are 1 and 0, as in a mask."""
    try:
        array = read_numbers(value, booleans=True)
    except NotNumbersError as cause:
        raise ProblemError(f"{what} must be numbers, not {cause}; got {shortened(value)}") from None
    if array.ndim == 3:
        arcs = mdp.arcs
        need = (mdp.horizon, int(arcs.state.max()) + 1, int(arcs.action.max()) + 1)
        if array.shape[0] != need[0] or array.shape[1] < need[1] or array.shape[2] < need[2]:
            raise ProblemError(f"{what} as [H, S, A] must have at least shape {need}; got {array.shape}")
        array = array[arcs.stage, arcs.state, arcs.action]
    return per_arc(what, array, mdp.n_arcs, error=ProblemError)


class ArcLaws:
    """A law laid on the arcs of one MDP: arrays, ready for kernels.

    Attributes:
        kind: int [N], one of the kinds of draw above.
        mean, sigma: float [N].
        low, high: float [N], the range of the rewards (infinite where unbounded).
        a, b: float [N], parameters of the draw.
        table_first, table: rows of equally likely values for TABLE arcs, CSR.
        draw: the user's function for CALLABLE laws.
        loading: float [N], how strongly an arc follows the common effect of its episode; None: all draws independent.
        carry: how much of a stage's own effect the next stage inherits.
    """

    def __init__(self, mean: FloatArray, sigma: FloatArray, kind: int) -> None:
        n = len(mean)
        self.kind = np.full(n, kind, dtype=np.int64)
        self.mean, self.sigma = mean, sigma
        self.low, self.high = np.full(n, -np.inf), np.full(n, np.inf)
        self.a, self.b = mean.copy(), sigma.copy()
        self.table_first, self.table = np.zeros(n + 1, dtype=np.int64), np.zeros(0)
        self.draw: Callable[[int, np.random.Generator], float] | None = None
        self.loading: FloatArray | None = None
        self.carry = 0.0


class Law(ABC):
    """A reward law, not yet laid on an MDP."""

    @abstractmethod
    def bind(self, mdp: MDP) -> ArcLaws:
        """Lay the law on the arcs of an MDP, checking every number."""


class Gaussian(Law):
    """Gaussian rewards with standard deviation sigma, which is also the sub-Gaussian factor.

    Example:
        >>> Gaussian([0.2, 0.8], sigma=0.5).sigma
        0.5
    """

    def __init__(self, means: ArrayLike, sigma: ArrayLike = 1.0) -> None:
        self.means, self.sigma = means, sigma

    def bind(self, mdp: MDP) -> ArcLaws:
        return ArcLaws(on_arcs("means", self.means, mdp), check_sigma(self.sigma, mdp.n_arcs), GAUSSIAN)


class Bernoulli(Law):
    """Rewards 0 or 1; the sub-Gaussian factor is 1/2."""

    def __init__(self, means: ArrayLike) -> None:
        self.means = means

    def bind(self, mdp: MDP) -> ArcLaws:
        means = on_arcs("means", self.means, mdp)
        _inside("Bernoulli means", means, np.zeros_like(means), np.ones_like(means), mdp)
        bound = ArcLaws(means, np.full(mdp.n_arcs, 0.5), BERNOULLI)
        bound.low[:], bound.high[:] = 0.0, 1.0
        return bound


class Bounded(Law):
    """Rewards inside [low, high]; the sub-Gaussian factor is (high - low) / 2.

    Args:
        low, high: The range, numbers or one per arc.
        means: Mean of each arc; the middle of the range by default.
        sampler: How rewards are drawn: "beta" (a beta law on the range with the given mean and `concentration`)
            or "uniform" (the widest uniform law around the mean that fits).
        concentration: a + b of the beta law.
    """

    def __init__(
        self,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        means: ArrayLike | None = None,
        *,
        sampler: str = "beta",
        concentration: float = 4.0,
    ) -> None:
        self.low, self.high, self.means = low, high, means
        self.sampler, self.concentration = sampler, concentration

    def bind(self, mdp: MDP) -> ArcLaws:
        if self.sampler not in ("beta", "uniform"):
            raise ProblemError(f'sampler must be "beta" or "uniform", not {self.sampler!r}')
        low, high = on_arcs("low", self.low, mdp), on_arcs("high", self.high, mdp)
        bad = np.flatnonzero(low > high)
        if bad.size:
            raise ProblemError(f"low must not exceed high; {mdp.describe_arc(int(bad[0]))} breaks this")
        means = (low + high) / 2 if self.means is None else on_arcs("means", self.means, mdp)
        _inside("means", means, low, high, mdp)
        bound = ArcLaws(means, (high - low) / 2, BETA if self.sampler == "beta" else UNIFORM)
        if self.sampler == "uniform":
            half = np.minimum(means - low, high - means)
            bound.a, bound.b = means - half, means + half
        else:
            concentration = positive("concentration", self.concentration, error=ProblemError)
            share = np.where(high > low, (means - low) / np.where(high > low, high - low, 1.0), 0.5)
            bound.a, bound.b = share * concentration, (1 - share) * concentration
        bound.low, bound.high = low, high
        return bound


class Empirical(Law):
    """Rewards drawn from a table of equally likely values per arc; sigma is half the range of the table."""

    def __init__(self, tables: Sequence[ArrayLike]) -> None:
        self.tables = tables

    def bind(self, mdp: MDP) -> ArcLaws:
        count = len(self.tables) if isinstance(self.tables, (Sequence, np.ndarray)) else repr(self.tables)
        if count != mdp.n_arcs:
            raise ProblemError(f"tables must have one sequence per option, {mdp.n_arcs}; got {count}")
        rows = []
        for arc, row in enumerate(self.tables):
            try:
                values = np.atleast_1d(read_numbers(row))
            except NotNumbersError:
                values = np.zeros(0)
            if values.ndim != 1 or not values.size or not (np.abs(values) <= LARGEST).all():
                raise ProblemError(
                    f"the table of {mdp.describe_arc(arc)} must be a non-empty row of finite numbers "
                    f"within {LARGEST:g} of 0; got {row!r}"
                )
            rows.append(values)
        low, high = np.array([r.min() for r in rows]), np.array([r.max() for r in rows])
        bound = ArcLaws(np.array([r.mean() for r in rows]), (high - low) / 2, TABLE)
        bound.low, bound.high = low, high
        bound.table_first = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        bound.table = np.concatenate(rows)
        return bound


class Drawn(Law):
    """A user's function draw(arc, generator) -> reward, with its means and sub-Gaussian factor declared."""

    def __init__(self, draw: Callable[[int, np.random.Generator], float], means: ArrayLike, sigma: ArrayLike) -> None:
        self.draw, self.means, self.sigma = draw, means, sigma

    def bind(self, mdp: MDP) -> ArcLaws:
        if not callable(self.draw):
            raise ProblemError(f"draw must be a function (arc, generator) -> reward, not {self.draw!r}")
        bound = ArcLaws(on_arcs("means", self.means, mdp), check_sigma(self.sigma, mdp.n_arcs), CALLABLE)
        bound.draw = self.draw
        return bound


class Shared(Law):
    """The rewards of one episode share their luck; each by itself keeps its law.

    Every reward is a quantile of its law at a normal number z = l u + sqrt(1 - l^2) w: u is common to the episode, w
    the stage's own. So Gaussian rewards of loading l have correlation l^2, loading 1 makes all rewards of an episode
    rise and fall together, and a negative one turns an arc against the others.

    Args:
        rewards: The law of the single rewards: Gaussian, Bernoulli, uniform or from tables.
        loading: l, one number or one per arc, from -1 to 1.
        carry: Correlation of w with that of the stage before, from -1 to 1: luck that feeds the next step.

    Example:
        >>> Shared(Gaussian([0.2, 0.8], sigma=0.5), loading=0.3**0.5).carry
        0.0
    """

    def __init__(self, rewards: Law, loading: ArrayLike = 1.0, carry: float = 0.0) -> None:
        self.rewards, self.loading, self.carry = rewards, loading, carry

    def bind(self, mdp: MDP) -> ArcLaws:
        bound = self.rewards.bind(mdp)
        if not np.isin(bound.kind, (GAUSSIAN, BERNOULLI, UNIFORM, TABLE)).all():
            raise ProblemError("shared luck needs rewards that are Gaussian, Bernoulli, uniform or from tables")
        loading, carry = on_arcs("loading", self.loading, mdp), real("carry", self.carry, error=ProblemError)
        if (np.abs(loading) > 1).any() or abs(carry) > 1:
            raise ProblemError("loading and carry must lie between -1 and 1")
        for arc in np.flatnonzero(bound.kind == TABLE):  # quantiles
            bound.table[bound.table_first[arc] : bound.table_first[arc + 1]].sort()
        bound.loading, bound.carry = loading, carry
        return bound


def _inside(what: str, value: FloatArray, low: FloatArray, high: FloatArray, mdp: MDP) -> None:
    bad = np.flatnonzero(((value < low) | (value > high)) & ~mdp.is_known)  # a known reward overrules the law
    if bad.size:
        arc = int(bad[0])
        raise ProblemError(
            f"{what} must lie in [{low[arc]:g}, {high[arc]:g}]; {mdp.describe_arc(arc)} has {value[arc]:g}"
        )


# Instance -------------------------------------------------------------------------------------------------------------
# Units in the last place that means read from text, or made by adding, may be off by.
_ULPS = 4


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

    @classmethod
    def from_arrays(
        cls,
        next_state: ArrayLike,
        means: ArrayLike,
        sigma: ArrayLike = 1.0,
        *,
        initial_state: int = 0,
        available: ArrayLike | None = None,
        direction: str = "maximize",
    ) -> Instance:
        """Build a world of Gaussian rewards from dense tables, as `MDP.from_arrays`; its MDP declares sigma.

        Args:
            means, sigma: Of the rewards, float [H, S, A], one per arc, or one number.

        Example:
            >>> Instance.from_arrays([[[0, 1], [1, 1]], [[0, 0], [0, 0]]], np.arange(8).reshape(2, 2, 2)).optimal_return
            8.0
        """
        mdp = MDP.from_arrays(next_state, initial_state, available, direction=direction, sigma=sigma)
        return cls(mdp, Gaussian(means, cast(FloatArray, mdp.sigma)))

    @classmethod
    def from_edges(
        cls,
        rows: Any,
        sigma: float = 1.0,
        *,
        source: str | int | None = None,
        target: str | int | None = None,
        direction: str = "maximize",
        horizon: int | None = None,
    ) -> Instance:
        """Build a world of Gaussian rewards from a table of transitions with a column `mean`, as `MDP.from_edges`.

        Args:
            sigma: Standard deviation of the rows that have no `sigma` of their own.
            horizon: With stages: how many there are, when all plans may end before the last one.
        """
        from surepath.model.edges import build, read_rows

        edges = read_rows(rows)
        mdp, means = build(edges, source=source, target=target, sigma=sigma, direction=direction, horizon=horizon)
        if means is None:
            raise ProblemError("a world to simulate needs a mean in every row; MDP.from_edges takes a table without")
        return cls(mdp, Gaussian(means, mdp.declared_sigma))

    @classmethod
    def from_gymnasium(cls, env: Any, horizon: int, sigma: float = 1.0, *, seed: int = 0) -> Instance:
        """Build a world from the table `P` of a deterministic Gymnasium environment (toy text), with Gaussian noise.

        After termination a plan waits at a known reward of 0; `seed` is of the reset that gives the first state.
        """
        from surepath.model.adapters import table_of_gymnasium

        rows, start = table_of_gymnasium(env, horizon, seed)
        return cls.from_edges(rows, sigma, source=start, horizon=horizon)

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
        for _ in range(4):  # the second search nearly always confirms the first
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
        numbers = (law.mean, law.sigma, law.low, law.high, law.a, law.b)
        for array in (law.kind, *numbers, law.table_first, law.table):
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
