"""What every learner is: ask for a path, tell its rewards, until it has stopped.

The guarantee of a learner never depends on which paths were played, so `tell` takes any path, asked for or not.
Inside, everything maximises: rewards are multiplied by the MDP's sign when they come in and results are turned
back when they go out. Ground truth never enters here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import LARGEST, BoolArray, FloatArray, IntArray, check_delta, check_epsilon, check_sigma
from surepath.engine.arrays import Graph, Reality, graph_of
from surepath.errors import RewardError, SettingError, StoppedError
from surepath.model.mdp import MDP

# Why a run ended; the names are what people see, the numbers what kernels return.
STOP_REASONS = ("budget", "gap", "single", "cleared")
BUDGET, GAP, SINGLE, CLEARED = range(4)


class RunRecord(NamedTuple):
    """One simulated run, one entry per epsilon (largest epsilon need not come first)."""

    tau: IntArray  # [E] episodes played when this epsilon's rule was met, or the budget
    reason: IntArray  # [E] index into STOP_REASONS; BUDGET marks a censored run
    path: IntArray  # [E, H] recommended path
    eliminated: IntArray  # [E] number of arcs ruled out
    gap: FloatArray  # [E] certified gap at that time

    @classmethod
    def empty(cls, epsilons: int, horizon: int) -> RunRecord:
        """Room for a run."""
        wholes = [np.zeros(epsilons, dtype=np.int64) for _ in range(3)]
        return cls(wholes[0], wholes[1], np.zeros((epsilons, horizon), dtype=np.int64), wholes[2], np.zeros(epsilons))


def _declared_sigma(mdp: MDP) -> FloatArray:
    """Half the declared range where there is one (Hoeffding's lemma), else 1."""
    if mdp.reward_range is None:
        return np.ones(mdp.n_arcs)
    half = (mdp.reward_range[1] - mdp.reward_range[0]) / 2
    return np.where(np.isfinite(half), half, 1.0)


class Learner(ABC):
    """Sampling, elimination, stopping and recommendation behind ask and tell.

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be; 0 asks for the best itself.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor of the rewards, one number or one per arc; by default what the MDP declares
            (half of a declared range), else 1. Arcs with a known reward count as sigma 0 whatever is given.

    Attributes:
        episodes: How many episodes have been told.
    """

    name: ClassVar[str]
    compiled: bool = True  # whether `_run` plays whole runs in compiled code
    stop_reason: str | None = None  # one of STOP_REASONS once stopped

    def __init__(self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None = None) -> None:
        if not isinstance(mdp, MDP):
            raise SettingError(f"a learner needs an MDP, not {type(mdp).__name__}; take instance.mdp of an Instance")
        self.mdp = mdp
        self.epsilon = check_epsilon(epsilon)
        self.delta = check_delta(delta)
        if sigma is None:
            sigma = _declared_sigma(mdp) if mdp.sigma is None else mdp.sigma
        self.sigma = check_sigma(sigma, mdp.n_arcs)
        self.sigma[mdp.is_known] = 0.0
        self.graph: Graph = graph_of(mdp)
        self._visits: IntArray = np.zeros(mdp.n_arcs, dtype=np.int64)
        self._sums: FloatArray = np.zeros(mdp.n_arcs)  # of rewards turned so that larger is better
        self.known_gain: FloatArray = np.zeros(mdp.n_arcs)
        if mdp.known is not None:
            self.known_gain[mdp.is_known] = mdp.sign * mdp.known[mdp.is_known]
        self.episodes = 0
        self.stopped = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """After a copy or an unpickling."""
        self.__dict__.update(state)
        self._connect()

    def _connect(self) -> None:  # noqa: B027 (most need nothing)
        """Point _visits and _sums at the arrays that kernels write, where they are not those."""

    # The contract ----------------------------------------------------------------------------------------------

    @property
    def visits(self) -> IntArray:
        """How often each arc has been played, int [N]."""
        return self._visits.copy()

    @property
    def sums(self) -> FloatArray:
        """Sum of the rewards seen on each arc, turned so that larger is better, float [N]."""
        return self._sums.copy()

    def ask(self) -> IntArray:
        """The path to play next, int [H] of arcs; asking again before telling gives the same path."""
        if self.stopped:
            raise StoppedError(f"{self.name} stopped after {self.episodes} episodes; recommend() has its answer")
        return self._choose().copy()

    def tell(self, path: ArrayLike, rewards: ArrayLike) -> None:
        """Take in one episode; nothing changes when the input is refused.

        Args:
            path: The H arcs that were played.
            rewards: The H rewards seen, in the user's direction; values at known arcs are ignored.
        """
        if self.stopped:
            raise StoppedError(f"{self.name} has stopped after {self.episodes} episodes and takes no more rewards")
        arcs = self.mdp.check_path(path)
        gains = self.mdp.sign * self.check_rewards(arcs, rewards)
        self._absorb(arcs, gains)

    @property
    @abstractmethod
    def active(self) -> BoolArray:
        """Which arcs may still be on a best path, bool [N]."""

    @abstractmethod
    def recommend(self) -> IntArray:
        """The path this learner stands by now, int [H]."""

    @abstractmethod
    def certified_gap(self) -> float:
        """Proven bound, valid at all times at once, on how far `recommend()` is from the best."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Everything that rebuilds this learner on the same MDP: name, epsilon, delta, sigma, rules."""

    def fresh(self, epsilon: float) -> Learner:
        """A learner like this one that has seen nothing, with another epsilon."""
        from surepath.learners.registry import build

        return build({**self.settings(), "epsilon": epsilon}, self.mdp)

    # For the learners ------------------------------------------------------------------------------------------

    @abstractmethod
    def _choose(self) -> IntArray:
        """The next path."""

    @abstractmethod
    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        """Update statistics, eliminate, decide whether to stop; input is already checked."""

    def _begin(self, rng: np.random.Generator) -> None:  # noqa: B027 (most draw nothing)
        """Before a simulated run played step by step: draw what this learner draws for itself."""

    @abstractmethod
    def _run(self, reality: Reality, rng: np.random.Generator, budget: int, epsilons: FloatArray) -> RunRecord:
        """A whole run from scratch in compiled code (the state of this object is not touched)."""

    @property
    def means(self) -> FloatArray:
        """Empirical mean of each arc in the user's direction; 0 where unvisited, the known reward where known."""
        mean = self._sums / np.maximum(self._visits, 1)
        mean[self.mdp.is_known] = self.known_gain[self.mdp.is_known]
        return self.mdp.sign * mean

    def sigma_setting(self) -> float | list[float]:
        """sigma as one number where all arcs to learn agree."""
        values = np.unique(self.sigma[~self.mdp.is_known])
        if len(values) <= 1:
            return float(values[0]) if len(values) else 1.0
        return [float(x) for x in self.sigma]

    def check_rewards(self, path: IntArray, rewards: ArrayLike) -> FloatArray:
        """The rewards of an episode as float [H], or an error that names the stage."""
        try:
            given = np.asarray(rewards)
            array = given.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as cause:
            raise RewardError(f"rewards must be {self.mdp.horizon} numbers; got {rewards!r}") from cause
        if given.dtype.kind in "SUc":
            raise RewardError(f"rewards must be {self.mdp.horizon} numbers, not text; got {rewards!r}")
        if array.shape != (self.mdp.horizon,):
            raise RewardError(f"rewards must be {self.mdp.horizon} numbers, one per stage; got shape {array.shape}")
        for h in np.flatnonzero(~np.isfinite(array)).tolist():
            if not self.mdp.is_known[path[h]]:
                raise RewardError(
                    f"the reward at stage {h} is {array[h]}; rewards must be finite. "
                    f"A failed trial is not a reward: leave it out"
                )
        for h in np.flatnonzero(np.abs(array) > LARGEST).tolist():
            if not self.mdp.is_known[path[h]]:
                raise RewardError(f"the reward at stage {h} is {array[h]:g}; rewards must lie within {LARGEST:g} of 0")
        if self.mdp.reward_range is not None:
            low, high = self.mdp.reward_range
            for h, arc in enumerate(path):
                if not self.mdp.is_known[arc] and not low[arc] <= array[h] <= high[arc]:
                    raise RewardError(
                        f"the reward {float(array[h])!r} at stage {h} lies outside the declared range "
                        f"[{low[arc]:g}, {high[arc]:g}] of {self.mdp.describe_arc(int(arc))}"
                    )
        return array

    def __repr__(self) -> str:
        state = "stopped" if self.stopped else "running"
        return f"{self.name}(epsilon={self.epsilon:g}, delta={self.delta:g}; {self.episodes} episodes, {state})"
