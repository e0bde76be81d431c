"""WholePlan: successive elimination over complete plans, one arm per plan."""

from __future__ import annotations

from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import one_of, positive, whole
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.kernels.arrays import NO_REALITY, Reality
from surepath.kernels.widths import ARC_WIDTHS
from surepath.learners import tasks
from surepath.learners.base import Learner
from surepath.learners.cancellation import raise_if_cancelled
from surepath.learners.runs import RunRecord, reordered
from surepath.learners.whole_plan import state as at
from surepath.learners.whole_plan.plan_list import list_plans, rank_of
from surepath.learners.whole_plan.rounds import play_plans
from surepath.learners.whole_plan.state import Plans, new_plans
from surepath.model.mdp import MDP
from surepath.model.paths import paths_from

_IDLE_RNG = np.random.default_rng(0)


class WholePlan(Learner):
    """Play every path in rounds and drop those that are clearly behind; on small graphs this can win.

    Nothing is shared between paths, so its cost grows with their number, and it lists them all. Its guarantee is the
    usual one: within epsilon of the best with probability at least 1 - delta (not with `empirical` widths).

    Args:
        mdp: The layered graph to search.
        epsilon: How far from the best the answer may be.
        delta: Allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor of each arc's reward, one number or one per arc.
        widths: "paper" or "mixture", with a union over paths; or "empirical" (no guarantee).
        max_plans: Graphs with more paths are refused.
        prior: The constant c of the mixture width.

    Example:
        >>> learner = WholePlan(MDP.from_arrays([[[0, 0]]]), epsilon=0.5, delta=0.1, sigma=0.1)
        >>> while not learner.stopped:
        ...     path = learner.ask()
        ...     learner.tell(path, [float(path[0])])
        >>> learner.recommend().tolist()
        [1]
    """

    name: ClassVar[str] = "WholePlan"

    def __init__(
        self,
        mdp: MDP,
        epsilon: float,
        delta: float,
        sigma: ArrayLike | None = None,
        *,
        widths: str | None = None,
        max_plans: int = 100_000,
        prior: float = 20.0,
    ) -> None:
        super().__init__(mdp, epsilon, delta, sigma)
        self.widths = one_of("widths", widths or "paper", ARC_WIDTHS)
        self.max_plans = whole("max_plans", max_plans, low=1)
        self.prior = positive("prior", prior)
        if mdp.log_paths > np.log(self.max_plans) + 1e-9:
            count = mdp.n_paths if mdp.log_paths < 40 else f"about e^{mdp.log_paths:.0f}"
            raise SettingError(
                f"the graph has {count} plans and WholePlan lists them all, at most {self.max_plans}; "
                f"EPRL and Challenger need no list"
            )
        self._arcs = list_plans(mdp)
        self._after = np.array(paths_from(mdp), dtype=np.int64)
        self._plans = self._new_plans()
        self._epsilons = np.array([self.epsilon])
        self._no_record = RunRecord.empty(1, mdp.horizon)
        self._connect()

    def _connect(self) -> None:
        self._origin = self._plans.origin

    def _new_plans(self) -> Plans:
        return new_plans(self.mdp, self._arcs, self.sigma, self.known_gain, self.widths, self.delta, self.prior)

    def _play(self, task: int, number: int = 0) -> float:
        return play_plans(self._plans, NO_REALITY, _IDLE_RNG, task, number, self._epsilons, self._no_record)

    def _active(self) -> BoolArray:
        """Find the arcs on some plan that is still in play, bool [N]."""
        used = np.zeros(self.mdp.n_arcs, dtype=bool)
        used[self._arcs[self._plans.active]] = True
        return used

    def _recommend(self) -> IntArray:
        """Return the active plan of largest lower bound, int [H]."""
        return cast(IntArray, self._arcs[int(self._play(tasks.ADVISE))].copy())

    def _gap(self) -> float:
        """Return the largest upper bound of active plans less the lower one of the recommended; 0 if one is left."""
        if self._plans.tally[at.N_ACTIVE] == 1:
            return 0.0
        return self._play(tasks.MEASURE)

    def _choose(self) -> IntArray:
        return cast(IntArray, self._arcs[int(self._play(tasks.ASK))])

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        self.episodes += 1
        self._plans.gain[:] = gains
        reason = int(self._play(tasks.TELL, rank_of(self.mdp, self._after, path)))
        learned = ~self.mdp.is_known[path]
        self._visits[path] += 1
        self._sums[path[learned]] += gains[learned] - self._origin[path[learned]]
        self._stop(reason)

    def _run(self, reality: Reality, rng: np.random.Generator, budget: int, epsilons: FloatArray) -> RunRecord:
        order = np.argsort(-epsilons, kind="stable")
        falling = np.ascontiguousarray(epsilons[order])
        record, plans = RunRecord.empty(len(falling), self.mdp.horizon), self._new_plans()
        limit = 0
        while plans.tally[at.SETTLED] < len(falling):
            raise_if_cancelled()
            limit = min(budget, limit + 1_000_000)
            play_plans(plans, reality, rng, tasks.FINISH if limit == budget else tasks.RUN, limit, falling, record)
        return reordered(record, np.argsort(order))
