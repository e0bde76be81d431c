"""Challenger: bounds the difference between two plans directly and plays what separates them.

The theorem and its proof are in the docs ("Challenger: the theorem"). In one sentence: with probability at least
1 - delta, at all times at once, V(best) - V(p) <= max over q of min over the grid of G(q | p) for every path p, so the
learner may stop whenever the check of its incumbent passes, whatever was played. Assumptions: trials are independent
repeats, each reward is conditionally sigma-sub-Gaussian, and trials do not fail in a way that depends on their reward.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray, one_of, real, whole
from surepath.engine.arrays import Reality, no_reality
from surepath.errors import SettingError, StoppedError
from surepath.learners.base import BUDGET, CLEARED, STOP_REASONS, Learner, RunRecord
from surepath.learners.challenger.explain import Explanation, explain
from surepath.learners.challenger.prior import PRIORS, WIDTHS, pairs_of
from surepath.learners.challenger.run import (
    AGAIN,
    CERTIFY,
    EPISODES,
    N_MEMO,
    PASSED,
    PATIENCE,
    PAUSE,
    PAUSED,
    PLAN,
    REPEAT,
    RUN,
    SAMPLING,
    TELL,
    act,
)
from surepath.learners.challenger.sampling import SAMPLING as SAMPLING_NAMES
from surepath.learners.challenger.state import Evidence, Work, new_evidence, new_work
from surepath.learners.workers import look_up
from surepath.model.mdp import MDP

_STRETCH = 200_000  # arcs times episodes between two looks at whether a run is still wanted
_IDLE_RNG = np.random.default_rng(0)


class Challenger(Learner):
    """The learner to use: the fewest trials for the guarantee.

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be; 0 asks for the best itself, which must then be unique.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor of the rewards, one number or one per arc; by default what the MDP declares, else 1.
        widths: "one-sided" (the default), "two-sided" (simpler, more trials), or "per-arc" (a confidence interval
            for each arc and the difference of paths, as CLUCB stops; for comparison).
        prior: Over the wrong answers, given the right one: "detour" (pays for the stages in which two plans differ),
            "uniform" (pays log of the number of plans), or "both" at a cost of log 2.
        sampling: "separating" (the default), "max-diameter" (EPRL's) or "coverage"; any keeps the guarantee.
        repeat: In simulations, play a path again up to this share of its least visits before planning again.
        patience: Share by which the episodes may grow between two full checks. Above 0.1 the plays between them
            follow a plan gone stale, and on long horizons that can cost many times the trials.

    Example:
        >>> import numpy as np
        >>> from surepath import families
        >>> instance = families.chain(steps=3, options=2, seed=1, sigma=0.1)
        >>> learner = Challenger(instance.mdp, epsilon=0.2, delta=0.1, sigma=0.1)
        >>> rng = np.random.default_rng(0)
        >>> while not learner.stopped:
        ...     path = learner.ask()
        ...     learner.tell(path, instance.means[path] + 0.1 * rng.normal(size=3))
        >>> instance.regret_of(learner.recommend()) <= 0.2
        True
    """

    name = "Challenger"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | None = None,
        *,
        widths: str = "one-sided",
        prior: str = "detour",
        sampling: str = "separating",
        repeat: float = 0.0,
        patience: float = 0.01,
    ) -> None:
        super().__init__(mdp, epsilon, delta, sigma)
        self.widths = one_of("widths", widths, WIDTHS)
        self.prior = one_of("prior", prior, PRIORS)
        self.sampling = one_of("sampling", sampling, SAMPLING_NAMES)
        self.repeat = real("repeat", repeat)
        self.patience = real("patience", patience)
        for what, value in (("repeat", self.repeat), ("patience", self.patience)):
            if not 0 <= value <= 1:
                raise SettingError(f"{what} must lie between 0 and 1, not {value:g}")
        self.pairs = pairs_of(mdp, self.sigma, self.epsilon, self.delta, self.widths, self.prior)
        self._seen, self._work, self._memo = self._room()
        self._connect()
        self._planned = False
        self._proven: dict[bytes, float] = {}
        self._settle()

    def _connect(self) -> None:
        self._visits, self._sums = self._seen.visits, self._seen.sums

    def _room(self) -> tuple[Evidence, Work, FloatArray]:
        seen = new_evidence(self.known_gain, len(self.pairs.cost))
        work = new_work(self.mdp.n_arcs, self.mdp.n_nodes, self.mdp.horizon)
        memo = np.zeros(N_MEMO)
        memo[PAUSE] = np.inf
        memo[SAMPLING], memo[REPEAT], memo[PATIENCE] = SAMPLING_NAMES.index(self.sampling), self.repeat, self.patience
        return seen, work, memo

    def _act(self, task: int) -> float:
        return act(
            self.graph, self.pairs, self._seen, self._work, self._memo, _NOWHERE, _IDLE_RNG, task, 0, self.epsilon
        )

    # The contract ----------------------------------------------------------------------------------------------

    def ask(self, n: int | None = None) -> IntArray:
        """The path to play next, int [H]; with n, that many paths for parallel workers, int [n, H].

        Paths given with n count as pending until they are told or cancelled, so that workers spread. A plain ask()
        is not counted, and gives the same path until something is told or more is asked for with n.
        """
        if n is None:
            return super().ask()
        count = whole("n", n, low=1)
        if self.stopped:
            raise StoppedError(f"{self.name} stopped after {self.episodes} episodes; recommend() has its answer")
        paths = np.zeros((count, self.mdp.horizon), dtype=np.int64)
        self._settle()
        for i in range(count):
            paths[i] = self._work.path
            np.add.at(self._seen.pending, paths[i], 1)
            covering = bool((self._work.mark[(self._seen.visits == 0) & ~self.pairs.is_known] > 0).any())
            self._act(PLAN if covering else AGAIN)
        return paths

    def cancel(self, path: ArrayLike) -> None:
        """A path from ask(n) that will never be told: it no longer counts as pending."""
        arcs = self.mdp.check_path(path)
        self._seen.pending[arcs] = np.maximum(self._seen.pending[arcs] - 1, 0)

    @property
    def active(self) -> BoolArray:
        """Which arcs may still be on a best path, bool [N]."""
        return self._seen.alive.copy()

    def recommend(self) -> IntArray:
        """The incumbent: the empirically best path over the arcs that are left, int [H]."""
        self._settle()
        mean = np.where(self._seen.alive, self._seen.mean, -np.inf)
        return _best_path(self.mdp, mean)

    def certified_gap(self) -> float:
        """Proven bound on how far `recommend()` is from the best, valid at all times at once.

        A bound once proven for a path stays proven, so the least one found for this incumbent is given.
        """
        self._settle()
        planned = self._work.path.copy()
        gap = max(0.0, self._act(CERTIFY))
        self._work.path[:] = planned
        key = self._work.incumbent.tobytes()
        if self.stopped:
            gap = min(gap, self.epsilon)
        self._proven[key] = min(gap, self._proven.get(key, np.inf))
        return self._proven[key]

    def explain(self, challengers: int = 3) -> Explanation:
        """The incumbent, its strongest challengers with their bounds and what separates them, what is ruled out."""
        self._settle()
        return explain(self, challengers)

    def settings(self) -> dict[str, Any]:
        """Everything that rebuilds this learner on the same MDP."""
        return {
            "name": self.name,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "sigma": self.sigma.tolist(),
            "widths": self.widths,
            "prior": self.prior,
            "sampling": self.sampling,
            "repeat": self.repeat,
            "patience": self.patience,
        }

    # Steps -----------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Check and plan, once per state of the evidence."""
        if self._planned or self.stopped:
            return
        if self._act(PLAN) == 1.0:
            self.stopped = True
            self.stop_reason = STOP_REASONS[CLEARED]
        self._planned = True

    def _choose(self) -> IntArray:
        self._settle()
        return self._work.path

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        seen = self._seen
        learned = ~self.pairs.is_known[path]
        seen.visits[path] += 1
        seen.sums[path[learned]] += gains[learned]
        seen.pending[path] = np.maximum(seen.pending[path] - 1, 0)
        self._work.path[:] = path
        self._act(TELL)
        self.episodes += 1
        self._memo[EPISODES] = self.episodes
        self._planned = False
        self._settle()

    def _run(self, reality: Reality, rng: np.random.Generator, budget: int, epsilons: FloatArray) -> RunRecord:
        """Sampling depends on epsilon here, so every epsilon has a run of its own from the same seed."""
        size, horizon = len(epsilons), self.mdp.horizon
        record = RunRecord.empty(size, horizon)
        start = rng.bit_generator.state
        for at, epsilon in enumerate(epsilons.tolist()):
            rng.bit_generator.state = start
            own = self if epsilon == self.epsilon else self.fresh(epsilon)
            assert isinstance(own, Challenger)
            seen, work, memo = own._room()
            graph, pairs = self.graph, own.pairs
            answer = PAUSED
            while answer == PAUSED:
                look_up()
                memo[PAUSE] = memo[EPISODES] + 1 + _STRETCH // self.mdp.n_arcs
                answer = act(graph, pairs, seen, work, memo, reality, rng, RUN, budget, epsilon)
            done = answer == PASSED
            eliminated = int((~seen.alive).sum())
            gap = act(graph, pairs, seen, work, memo, reality, rng, CERTIFY, 0, epsilon)
            record.tau[at] = int(memo[EPISODES])
            record.reason[at] = CLEARED if done else BUDGET
            record.path[at] = work.incumbent
            record.eliminated[at] = eliminated
            record.gap[at] = max(0.0, min(gap, epsilon) if done else gap)
        return record


def _best_path(mdp: MDP, weight: FloatArray) -> IntArray:
    """The path of largest weight, the lowest arc where two tie, -inf for arcs that are gone."""
    value = np.zeros(mdp.n_nodes + 1)
    for h in range(mdp.horizon - 1, -1, -1):
        low, high = mdp.stage_node[h], mdp.stage_node[h + 1]
        arcs = slice(mdp.first[low], mdp.first[high])
        value[low:high] = np.maximum.reduceat(weight[arcs] + value[mdp.target[arcs]], mdp.first[low:high] - arcs.start)
    path, node = [], 0
    for _ in range(mdp.horizon):
        arcs_here = np.arange(mdp.first[node], mdp.first[node + 1])
        path.append(int(arcs_here[np.argmax(weight[arcs_here] + value[mdp.target[arcs_here]])]))
        node = int(mdp.target[path[-1]])
    return np.array(path, dtype=np.int64)


_NOWHERE = no_reality()
