"""WholePlan: successive elimination over complete plans, one arm per plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import positive, whole
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.kernels.arrays import NO_REALITY, Reality
from surepath.learners import tasks
from surepath.learners.base import Learner
from surepath.learners.cancellation import raise_if_cancelled
from surepath.learners.range_noise.declared_noise import choose_widths
from surepath.learners.runs import RunRecord, reordered
from surepath.learners.whole_plan import state as at
from surepath.learners.whole_plan.plan_list import list_plans, rank_of
from surepath.learners.whole_plan.rounds import play_plans
from surepath.learners.whole_plan.state import Plans, new_plans
from surepath.model.mdp import MDP
from surepath.model.paths import paths_from

# Fields of Plans that a snapshot keeps, under the names it gives them.
_SAVED = {
    "plan_visits": "visits",
    "plan_sums": "sums",
    "active": "active",
    "base": "base",
    "size": "size",
    "seen": "seen",
    "origin": "origin",
    "tally": "tally",
    "bound": "bound",
}

_LEARNED = {"plan_squares": "squares", "plan_scores": "scores"}

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
        widths: "paper", "mixture" or "bernstein" (the default where a range and no sigma is declared), with a union
            over paths; or "empirical" (no guarantee).
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
        self.widths = choose_widths(mdp, widths, "paper", sigma is not None)
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
        self._waiting: dict[int, list[list[float]]] = {}  # by plan and stage: told, and not yet part of a return
        self._epsilons = np.array([self.epsilon])
        self._no_record = RunRecord.empty(1, mdp.horizon)
        self._connect()

    def _connect(self) -> None:
        self._origin = self._plans.origin

    def _new_plans(self) -> Plans:
        return new_plans(self.mdp, self._arcs, self.sigma, self.known_gain, self.widths, self.delta, self.prior)

    @property
    def _saved(self) -> dict[str, str]:
        return {**_SAVED, **_LEARNED} if self.widths == "bernstein" else _SAVED

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

    def _choose_beside(self, index: int) -> IntArray:
        """Return the active plan with the fewest plays, those under way included; ties: lowest plan."""
        plays = self._plans.visits.copy()
        for path in self._under_way:
            plays[rank_of(self.mdp, self._after, path)] += 1
        active = np.flatnonzero(self._plans.active)
        return cast(IntArray, self._arcs[active[np.argmin(plays[active])]])

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        """Take in a play; a return is made of the i-th reward told for each stage of the plan.

        An episode may break off because of what its first rewards were. Returns of the episodes that went well would
        then be a biased choice; the i-th reward of each stage is not chosen by anything, so what a failed episode has
        shown waits for the stages that it lacks.
        """
        rank, played = rank_of(self.mdp, self._after, path), path[: len(gains)]
        self.episodes += 1
        waiting = self._waiting.setdefault(rank, [[] for _ in range(self.mdp.horizon)])
        for queue, gain in zip(waiting, gains.tolist()):
            queue.append(gain)
        whole = all(waiting)
        self._plans.tally[at.PLAYED] = self.mdp.horizon if whole else len(gains)
        if whole:
            self._plans.gain[:] = [queue.pop(0) for queue in waiting]
        else:
            self._plans.gain[: len(gains)] = gains
        if not any(waiting):
            del self._waiting[rank]
        reason = int(self._play(tasks.TELL, rank))
        learned = ~self.mdp.is_known[played]
        self._visits[played] += 1
        self._sums[played[learned]] += gains[learned] - self._origin[played[learned]]
        self._stop(reason)

    def _epsilon_changed(self) -> None:
        self._epsilons[0] = self.epsilon
        self._play(tasks.JUDGE)
        self._stop(int(self._play(tasks.TEST)))

    def _excluded_changed(self) -> None:
        self._plans.active[:] = ~self._excluded[self._arcs].any(axis=1)
        self._play(tasks.JUDGE)
        self._stop(int(self._play(tasks.TEST)))

    def _evidence(self) -> dict[str, Any]:
        """Return what was seen of arcs and of plans, which plans are left, and the state of the round."""
        plans = {name: getattr(self._plans, field).copy() for name, field in self._saved.items()}
        waiting = [
            (rank, h, gain)
            for rank, queues in self._waiting.items()
            for h, queue in enumerate(queues)
            for gain in queue
        ]
        rows = np.array(waiting, dtype=np.float64).reshape(-1, 3)
        return {"visits": self._visits.copy(), "sums": self._sums.copy(), "waiting": rows, **plans}

    def _load(self, evidence: Mapping[str, Any]) -> None:
        self._plans = self._new_plans()
        for name, field in self._saved.items():
            getattr(self._plans, field)[:] = evidence[name]
        self._plans.centre[:] = np.where(self.mdp.is_known, self.known_gain, self._plans.origin)
        self._visits[:], self._sums[:] = evidence["visits"], evidence["sums"]
        self._waiting = {}
        for rank, h, gain in np.asarray(evidence["waiting"]).reshape(-1, 3).tolist():
            self._waiting.setdefault(int(rank), [[] for _ in range(self.mdp.horizon)])[int(h)].append(gain)
        self._epsilons[0] = self.epsilon
        self._connect()

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
