"""WholePlan, which judges plans by their total reward in rounds, and Design, which plays a list fixed in advance."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray, one_of
from surepath.errors import SettingError
from surepath.kernels.flow import Schedule, schedule
from surepath.kernels.jit import bare_kernel, helper_kernel, hot_kernel
from surepath.kernels.sweeps import Reality, draw
from surepath.learners.base import Learner
from surepath.learners.runs import GAP, GO_ON, SINGLE, list_plans, raise_if_cancelled
from surepath.learners.widths import ARC_WIDTHS, UNIT, base_width, origin_of
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, paths_from


class Plans(NamedTuple):
    """All plans and what is known of them."""

    arcs: IntArray  # [P, H] the plans
    known: BoolArray  # [N] arcs whose reward is known
    noise: FloatArray  # [N] sigma of each arc
    sigma: FloatArray  # [P]
    kind: int  # of width
    delta: float
    visits: IntArray  # [P] whole returns seen
    sums: FloatArray  # [P] of returns, relative to the origins
    active: BoolArray  # [P]
    base: FloatArray  # [P] sum of the centres less the references of their stages, once visited
    size: FloatArray  # [P] what rounding can have done to it
    seen: BoolArray  # [N] arcs that have an origin, or need none
    origin: FloatArray  # [N] first gain of each arc to learn
    centre: FloatArray  # [N] the same, or the known gain
    reference: FloatArray  # [H] centre of the first arc seen at the stage, NaN before
    gain: FloatArray  # [H] gains of the current episode


# Plan bounds ----------------------------------------------------------------------------------------------------------
# A plan's return is the sum of rewards that are conditionally sub-Gaussian in turn, so its own factor is the root of
# the sum of their squares, and the width is that of `learners/widths.py` with a union over the P plans. It shares
# nothing between plans, yet on a handful of plans one width beats a sum of H of them.
#
# A return is added up relative to the origins of its arcs (their first gains, see `learners/widths.py`), and a plan's
# value is relative to a reference of each stage, the centre of the first arc seen there: large rewards that differ
# little lose nothing. What rounding can still do is added to the width (see
# `per_arc/bounds.py`).


@hot_kernel
def width_of(plans: Plans, p: int) -> float:
    """Compute half the confidence interval of plan p, which has been played."""
    n, count = float(plans.visits[p]), float(len(plans.visits))
    return float(plans.sigma[p] * base_width(plans.kind, n, count, plans.delta))


@hot_kernel
def interval(plans: Plans, p: int) -> tuple[float, float]:
    """Compute lower and upper bound of plan p less the references, allowing for rounding; NaN counts as no bound."""
    n = plans.visits[p]
    if n == 0:
        return -np.inf, np.inf
    mean, width = plans.base[p] + plans.sums[p] / n, width_of(plans, p)
    share = (2.0 * plans.arcs.shape[1] + 8.0) * (abs(mean) + width) + 2.0 * abs(plans.sums[p])
    reach = width + plans.size[p] + UNIT * share
    if not abs(mean) + reach < np.inf:
        return -np.inf, np.inf
    return mean - reach, mean + reach


@helper_kernel
def bounds(plans: Plans) -> tuple[float, float, int]:
    """Find the largest upper bound of active plans, the largest lower bound and its plan; ties: lowest plan."""
    top, floor, best = -np.inf, -np.inf, -1
    for p in range(len(plans.visits)):
        if plans.active[p]:
            lower, upper = interval(plans, p)
            top = max(top, upper)
            if best < 0 or lower > floor:
                floor, best = lower, p
    return top, floor, best


@helper_kernel
def take_in(plans: Plans, p: int) -> None:
    """Take in an episode of plan p from Plans.gain; at a plan's first, set origins, references and its base."""
    horizon = plans.arcs.shape[1]
    total, base, size, rewards = 0.0, 0.0, 0.0, 0.0
    for h in range(horizon):
        e = plans.arcs[p, h]
        if not plans.seen[e]:
            plans.seen[e] = True
            plans.origin[e] = plans.centre[e] = origin_of(plans.gain[h], plans.noise[e])
        if not plans.known[e]:
            total += plans.gain[h] - plans.origin[e]
        if np.isnan(plans.reference[h]):
            plans.reference[h] = plans.centre[e]
        difference = plans.centre[e] - plans.reference[h]
        base += difference
        size += abs(difference)
        rewards += abs(plans.origin[e])
    plans.visits[p] += 1
    plans.sums[p] += total
    plans.base[p] = base
    plans.size[p] = UNIT * ((2.0 * horizon + 8.0) * size + rewards)


# Rounds ---------------------------------------------------------------------------------------------------------------
# Play every active plan once, then drop each plan whose upper bound is below the largest lower bound of an active plan.
# Stop when one plan is left, when the largest upper bound exceeds the largest lower bound by at most epsilon, or when
# all that is left to learn is rounding.


@helper_kernel
def judge(plans: Plans, epsilon: float) -> int:
    """Drop what a round has ruled out; return a reason to stop, or GO_ON."""
    top, floor, _ = bounds(plans)
    active, open_ = 0, 0
    for p in range(len(plans.visits)):
        if plans.active[p] and interval(plans, p)[1] < floor:
            plans.active[p] = False
        if plans.active[p]:
            active += 1
            open_ += 1 if width_of(plans, p) != 0.0 else 0
    if top - floor <= epsilon:
        return GAP
    if active == 1:
        return SINGLE
    return GO_ON if open_ > 0 else GAP


@bare_kernel
def play_rounds(
    plans: Plans, reality: Reality, rng: np.random.Generator, epsilon: float, played: int, enough: int, budget: int
) -> tuple[int, int]:
    """Play rounds until there is a reason to stop, `enough` episodes are played, or the budget ends within a round.

    Returns the number of episodes, and the reason or GO_ON.
    """
    reason = GO_ON
    while reason == GO_ON and played < enough:
        for p in range(len(plans.visits)):
            if plans.active[p]:
                if played == budget:
                    return played, GO_ON
                for h in range(plans.arcs.shape[1]):
                    plans.gain[h] = draw(reality, np.uint64(plans.arcs[p, h]), rng)
                take_in(plans, p)
                played += 1
        reason = judge(plans, epsilon)
    return played, reason


class WholePlan(Learner):
    """Play every path in rounds and drop those that are clearly behind; on small graphs this can win.

    Nothing is shared between paths, so its cost grows with their number, and it lists them all. Its guarantee is the
    usual one: within epsilon of the best with probability at least 1 - delta (not with `empirical` widths).

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`.
        widths: "paper" or "mixture", with a union over paths; or "empirical" (no guarantee).
    """

    name: ClassVar[str] = "WholePlan"

    def __init__(
        self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None = None, *, widths: str | None = None
    ) -> None:
        super().__init__(mdp, epsilon, delta, sigma)
        self.widths = one_of("widths", widths or "paper", ARC_WIDTHS)
        arcs = list_plans(mdp, self.name)
        count, n, known = len(arcs), mdp.n_arcs, mdp.is_known
        self._plans = Plans(
            arcs=arcs,
            known=known.copy(),
            noise=self.sigma.copy(),
            sigma=np.sqrt((self.sigma[arcs] ** 2).sum(axis=1)),
            kind=ARC_WIDTHS.index(self.widths),
            delta=self.delta,
            visits=np.zeros(count, dtype=np.int64),
            sums=np.zeros(count),
            active=np.ones(count, dtype=np.bool_),
            base=np.zeros(count),
            size=np.zeros(count),
            seen=known.copy(),
            origin=np.zeros(n),
            centre=self.known_gain.copy(),
            reference=np.full(mdp.horizon, np.nan),
            gain=np.zeros(mdp.horizon),
        )
        self._after = np.array(paths_from(mdp), dtype=np.int64)  # paths from each node to the sink
        self._round = 0  # how often every active plan has been played and judged
        self._connect()

    def _connect(self) -> None:
        self._origin = self._plans.origin

    def _active(self) -> BoolArray:
        """Find the arcs on some plan that is still in play, bool [N]."""
        used = np.zeros(self.mdp.n_arcs, dtype=bool)
        used[self._plans.arcs[self._plans.active]] = True
        return used

    def _recommend(self) -> IntArray:
        """Return the active plan of largest lower bound, int [H]."""
        return cast(IntArray, self._plans.arcs[bounds(self._plans)[2]].copy())

    def _gap(self) -> float:
        """Return the largest upper bound of active plans less the lower one of the recommended; 0 if one is left."""
        top, floor, _ = bounds(self._plans)
        return 0.0 if self._plans.active.sum() == 1 else top - floor

    def _choose(self) -> IntArray:
        """Return the first of the active plans that were played least."""
        return cast(
            IntArray, self._plans.arcs[int(np.argmax(self._plans.active & (self._plans.visits == self._round)))]
        )

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        self.episodes += 1
        plans, rank = self._plans, 0
        for arc in path.tolist():  # the number of the plan in their list
            rank += int(self._after[self.mdp.target[int(self.mdp.first[self.mdp.source[arc]]) : arc]].sum())
        plans.gain[:] = gains
        take_in(plans, rank)
        learned = ~self.mdp.is_known[path]
        self._visits[path] += 1
        self._sums[path[learned]] += gains[learned] - self._origin[path[learned]]
        if plans.visits[plans.active].min() > self._round:
            self._stop(judge(plans, self.epsilon))
            self._round = int(plans.visits[plans.active].min())

    def _play(self, reality: Reality, rng: np.random.Generator, budget: int) -> None:
        reason = GO_ON
        while reason == GO_ON and self.episodes < budget:
            raise_if_cancelled()
            enough = min(budget, self.episodes + 1_000_000)
            self.episodes, reason = play_rounds(self._plans, reality, rng, self.epsilon, self.episodes, enough, budget)
        self._stop(reason)


# A design fixed in advance --------------------------------------------------------------------------------------------
# Every play is fixed before the first one, and the data are analysed once.


@bare_kernel
def play_list(
    paths: IntArray,
    due: IntArray,
    reality: Reality,
    rng: np.random.Generator,
    budget: int,
    used: IntArray,
    origin: FloatArray,
    sums: FloatArray,
) -> None:
    """Play the list round by round until nothing is due or `budget` plays are made; sums are relative to the origin."""
    left = min(due.sum(), budget)
    while left > 0:
        for i in range(len(due)):
            if due[i] > 0 and left > 0:
                due[i] -= 1
                left -= 1
                for h in range(paths.shape[1]):
                    e = paths[i, h]
                    gain = draw(reality, np.uint64(e), rng)
                    if used[e] == 0:
                        origin[e] = gain
                    used[e] += 1
                    sums[e] += gain - origin[e]


class Design(Learner):
    """Play a fixed list of paths, then recommend the one of largest empirical sum.

    Nothing adapts to what is seen, so it needs no anytime bound and no union over times: where all paths are about
    equal it is hard to beat, and where gaps are clear it wastes most of its episodes. The answer is within epsilon of
    the best with probability at least 1 - delta. Only plays of the list count, each as often as planned; other episodes
    are kept in `visits` and not used.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`: epsilon above 0.

    Attributes:
        schedule: The paths, how often each is played, and what that proves.

    Example:
        >>> learner = Design(MDP.from_arrays([[[0, 0]]]), epsilon=0.5, delta=0.1, sigma=0.1)
        >>> while not learner.stopped:
        ...     path = learner.ask()
        ...     learner.tell(path, [float(path[0])])
        >>> learner.recommend().tolist(), learner.episodes
        ([1], 2)
    """

    name: ClassVar[str] = "Design"

    def __init__(self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None = None) -> None:
        super().__init__(mdp, epsilon, delta, sigma)
        if self.epsilon == 0:
            number = "no fixed number of trials"
            raise SettingError(f"a design needs an epsilon above 0: with epsilon 0 {number} is enough")
        self.schedule: Schedule = schedule(mdp, self.sigma, self.epsilon, self.delta)
        self._due: IntArray = self.schedule.plays.copy()
        self._used: IntArray = np.zeros(mdp.n_arcs, dtype=np.int64)
        self._used_sums: FloatArray = np.zeros(mdp.n_arcs)
        self._cursor = 0  # the list is played round by round, so that drift would hit all paths alike
        self._place = {path.tobytes(): at for at, path in enumerate(self.schedule.paths)}

    def _choose(self) -> IntArray:
        left = np.flatnonzero(self._due)
        return cast(IntArray, self.schedule.paths[left[np.searchsorted(left, self._cursor) % len(left)]])

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        self.episodes += 1
        learned = ~self.mdp.is_known[path]
        arcs, news = path[learned], gains[learned]
        new = self._visits[arcs] == 0
        self._origin[arcs[new]] = news[new]
        self._visits[path] += 1
        self._sums[arcs] += news - self._origin[arcs]
        at = self._place.get(path.tobytes())
        if at is None or self._due[at] == 0:
            return
        self._used[path] += 1
        self._used_sums[arcs] += news - self._origin[arcs]
        self._due[at] -= 1
        self._cursor = at + 1
        self._stop(GO_ON if self._due.any() else GAP)

    def _recommend(self) -> IntArray:
        mean = self._origin + self._used_sums / np.maximum(self._used, 1)
        return best_path(self.mdp, np.where(self.mdp.is_known, self.known_gain, mean))

    def _gap(self) -> float:
        """Return the gap that the whole list proves, infinite before its end."""
        return self.schedule.gap if not self._due.any() else float("inf")

    def _play(self, reality: Reality, rng: np.random.Generator, budget: int) -> None:
        plan = self.schedule
        play_list(plan.paths, self._due, reality, rng, budget, self._used, self._origin, self._used_sums)
        self.episodes = min(budget, plan.episodes)
        self._stop(GO_ON if self._due.any() else GAP)
