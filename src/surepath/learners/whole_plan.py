"""WholePlan: rounds of whole plans, each judged by its total reward."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray, one_of, positive, whole
from surepath.kernels.draw import draw
from surepath.kernels.jit import bare_kernel, hot_kernel, inner_kernel
from surepath.kernels.sweeps import NO_REALITY, Reality
from surepath.learners.base import Learner
from surepath.learners.runs import (
    ADVISE,
    ASK,
    BUDGET,
    FINISH,
    GAP,
    GO_ON,
    MEASURE,
    RUN,
    SINGLE,
    TELL,
    RunRecord,
    list_plans,
    raise_if_cancelled,
    reordered,
)
from surepath.learners.widths import ARC_WIDTHS, UNIT, base_width, origin_of
from surepath.model.mdp import MDP
from surepath.model.paths import paths_from

# State ----------------------------------------------------------------------------------------------------------------

# Places in Plans.tally.
EPISODES, ROUND, PLAYS_LEFT, NEXT, N_ACTIVE, SETTLED, N_TALLY = range(7)
# Place in Plans.bound of the largest upper less the largest lower bound after the last round.
LAST_GAP = 3


class Plans(NamedTuple):
    """All plans and what is known of them."""

    arcs: IntArray  # [P, H] the plans
    learned: BoolArray  # [N] arcs whose reward must be learned
    noise: FloatArray  # [N] sigma of each arc
    sigma: FloatArray  # [P]
    visits: IntArray  # [P] whole returns seen
    sums: FloatArray  # [P] of returns, relative to the origins
    active: BoolArray  # [P]
    base: FloatArray  # [P] sum of the centres less the references of their stages, once visited
    size: FloatArray  # [P] what rounding can have done to it
    upper: FloatArray  # [P] upper bound when last computed
    seen: BoolArray  # [N] arcs that have an origin, or need none
    origin: FloatArray  # [N] first gain of each arc to learn
    centre: FloatArray  # [N] the same, or the known gain
    reference: FloatArray  # [H] centre of the first arc seen at the stage, NaN before
    gain: FloatArray  # [H] gains of the current episode
    used: BoolArray  # [N] scratch: arcs on an active plan
    tally: IntArray  # [N_TALLY]
    bound: FloatArray  # [4] kind of width (as a float), delta, c, the place LAST_GAP


def new_plans(
    mdp: MDP, arcs: IntArray, sigma: FloatArray, known_gain: FloatArray, widths: str, delta: float, prior: float
) -> Plans:
    """Allocate the state of a run that has seen nothing; `arcs` lists the plans, int [P, H]."""
    count, known = len(arcs), mdp.is_known
    plans = Plans(
        arcs=arcs,
        learned=~known,
        noise=sigma.copy(),
        sigma=np.sqrt((sigma[arcs] ** 2).sum(axis=1)),
        visits=np.zeros(count, dtype=np.int64),
        sums=np.zeros(count),
        active=np.ones(count, dtype=np.bool_),
        base=np.zeros(count),
        size=np.zeros(count),
        upper=np.zeros(count),
        seen=known.copy(),
        origin=np.zeros(mdp.n_arcs),
        centre=known_gain.copy(),
        reference=np.full(mdp.horizon, np.nan),
        gain=np.zeros(mdp.horizon),
        used=np.zeros(mdp.n_arcs, dtype=np.bool_),
        tally=np.zeros(N_TALLY, dtype=np.int64),
        bound=np.array([float(ARC_WIDTHS.index(widths)), delta, prior, np.inf]),
    )
    plans.tally[[ROUND, PLAYS_LEFT, N_ACTIVE]] = 1, count, count
    return plans


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
    """Compute half the confidence interval of plan p; infinite while it has not been played."""
    n = plans.visits[p]
    if n == 0:
        return np.inf
    kind, delta, prior = int(plans.bound[0]), plans.bound[1], plans.bound[2]
    return float(plans.sigma[p] * base_width(kind, float(n), float(len(plans.visits)), delta, prior))


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


@inner_kernel
def set_base(plans: Plans, p: int) -> None:
    """Compute the value of plan p, all of whose arcs were visited, less the references."""
    horizon = plans.arcs.shape[1]
    base, size, rewards = 0.0, 0.0, 0.0
    for h in range(horizon):
        e = plans.arcs[p, h]
        if np.isnan(plans.reference[h]):
            plans.reference[h] = plans.centre[e]
        difference = plans.centre[e] - plans.reference[h]
        base += difference
        size += abs(difference)
        rewards += abs(plans.origin[e])
    plans.base[p] = base
    plans.size[p] = UNIT * ((2.0 * horizon + 8.0) * size + rewards)


@inner_kernel
def bounds(plans: Plans) -> tuple[float, float, int]:
    """Find the largest upper bound of active plans, the largest lower bound and its plan; ties: lowest plan."""
    top, floor, best = -np.inf, -np.inf, -1
    for p in range(len(plans.visits)):
        if plans.active[p]:
            lower, upper = interval(plans, p)
            plans.upper[p] = upper
            top = max(top, upper)
            if best < 0 or lower > floor:
                floor, best = lower, p
    return top, floor, best


@inner_kernel
def find_origins(plans: Plans, p: int) -> None:
    """Set the origins of arcs that the episode of plan p in Plans.gain is the first to play."""
    for h in range(plans.arcs.shape[1]):
        e = plans.arcs[p, h]
        if not plans.seen[e]:
            plans.seen[e] = True
            plans.origin[e] = origin_of(plans.gain[h], plans.noise[e])
            plans.centre[e] = plans.origin[e]


# Rounds ---------------------------------------------------------------------------------------------------------------
# Play every active plan once, then drop each plan whose upper bound is below the largest lower bound of an active plan.
# Stop when one plan is left, or when the largest upper bound exceeds the largest lower bound by at most epsilon.


@inner_kernel
def judge(plans: Plans) -> None:
    """Drop what is ruled out and begin the next round; LAST_GAP, which what is dropped does not change, is kept."""
    tally = plans.tally
    top, floor, _ = bounds(plans)
    plans.bound[LAST_GAP] = top - floor
    least, active = -1, 0
    for p in range(len(plans.visits)):
        if plans.active[p] and plans.upper[p] < floor:
            plans.active[p] = False
        if plans.active[p]:
            active += 1
            if least < 0 or plans.visits[p] < least:
                least = plans.visits[p]
    tally[N_ACTIVE] = active
    tally[ROUND] = least + 1
    tally[NEXT] = 0
    left = 0
    for p in range(len(plans.visits)):
        if plans.active[p] and plans.visits[p] <= least:
            left += 1
    tally[PLAYS_LEFT] = left


@hot_kernel
def choose(plans: Plans) -> int:
    """Choose the next active plan of this round."""
    p = plans.tally[NEXT]
    while not plans.active[p] or plans.visits[p] >= plans.tally[ROUND]:
        p += 1
    plans.tally[NEXT] = p
    return int(p)


@hot_kernel
def absorb(plans: Plans, p: int) -> bool:
    """Take in an episode of plan p from Plans.gain; return whether a round has ended."""
    tally, total = plans.tally, 0.0
    tally[EPISODES] += 1
    if plans.visits[p] == 0:
        find_origins(plans, p)
    for h in range(plans.arcs.shape[1]):
        e = plans.arcs[p, h]
        if plans.learned[e]:
            total += plans.gain[h] - plans.origin[e]
    plans.visits[p] += 1
    plans.sums[p] += total
    if plans.visits[p] == 1:
        set_base(plans, p)
    if plans.active[p] and plans.visits[p] == tally[ROUND]:
        tally[PLAYS_LEFT] -= 1
    if tally[PLAYS_LEFT] > 0:
        return False
    judge(plans)
    return True


@inner_kernel
def verdict(plans: Plans, epsilon: float) -> int:
    """Decide whether to stop after a round: GO_ON or a reason; stop also when all that is left to learn is rounding."""
    if plans.bound[LAST_GAP] <= epsilon:
        return GAP
    if plans.tally[N_ACTIVE] == 1:
        return SINGLE
    for p in range(len(plans.visits)):
        if plans.active[p] and width_of(plans, p) != 0.0:
            return GO_ON
    return GAP


@inner_kernel
def unused(plans: Plans) -> int:
    """Count the arcs that lie on no active plan."""
    for e in range(len(plans.used)):
        plans.used[e] = False
    count = len(plans.used)
    for p in range(len(plans.visits)):
        if plans.active[p]:
            for h in range(plans.arcs.shape[1]):
                e = plans.arcs[p, h]
                count -= 0 if plans.used[e] else 1
                plans.used[e] = True
    return count


@inner_kernel
def settle(plans: Plans, record: RunRecord, reason: np.int64) -> None:
    """Record the answer for the next epsilon."""
    place = plans.tally[SETTLED]
    top, floor, best = bounds(plans)
    record.tau[place] = plans.tally[EPISODES]
    record.reason[place] = reason
    for h in range(plans.arcs.shape[1]):
        record.path[place, h] = plans.arcs[best, h]
    record.eliminated[place] = unused(plans)
    record.gap[place] = 0.0 if plans.tally[N_ACTIVE] == 1 else top - floor
    plans.tally[SETTLED] += 1


@bare_kernel
def play_plans(
    plans: Plans,
    reality: Reality,
    rng: np.random.Generator,
    task: int,
    number: int,
    epsilons: FloatArray,
    record: RunRecord,
) -> float:
    """Play a whole run, or one step of it; `number` is the limit of a run, or the plan whose episode TELL takes in.

    MEASURE gives the certified gap.
    """
    tally = plans.tally
    if task == ASK:
        return float(choose(plans))
    if task == ADVISE:
        return float(bounds(plans)[2])
    if task == MEASURE:
        top, floor, _ = bounds(plans)
        return top - floor
    if task == TELL:
        if absorb(plans, number):
            return float(verdict(plans, epsilons[0]))
        return float(GO_ON)
    while tally[EPISODES] < number and tally[SETTLED] < len(epsilons):
        p = choose(plans)
        for h in range(plans.arcs.shape[1]):
            plans.gain[h] = draw(reality, np.uint64(plans.arcs[p, h]), rng)
        if not absorb(plans, p):
            continue
        while tally[SETTLED] < len(epsilons):
            reason = verdict(plans, epsilons[tally[SETTLED]])
            if reason == GO_ON:
                break
            settle(plans, record, np.int64(reason))
    while task == FINISH and tally[SETTLED] < len(epsilons):
        settle(plans, record, np.int64(BUDGET))
    return 0.0


# Learner --------------------------------------------------------------------------------------------------------------

_IDLE_RNG = np.random.default_rng(0)


def rank_of(mdp: MDP, after: IntArray, path: IntArray) -> int:
    """Return the number of a plan in the list; `after` counts the paths from each node to the sink."""
    rank = 0
    for arc in path.tolist():
        low = int(mdp.first[mdp.source[arc]])
        rank += int(after[mdp.target[low:arc]].sum())
    return rank


class WholePlan(Learner):
    """Play every path in rounds and drop those that are clearly behind; on small graphs this can win.

    Nothing is shared between paths, so its cost grows with their number, and it lists them all. Its guarantee is the
    usual one: within epsilon of the best with probability at least 1 - delta (not with `empirical` widths).

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`.
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
        self._arcs = list_plans(mdp, self.max_plans, self.name)
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
        return cast(IntArray, self._arcs[int(self._play(ADVISE))].copy())

    def _gap(self) -> float:
        """Return the largest upper bound of active plans less the lower one of the recommended; 0 if one is left."""
        if self._plans.tally[N_ACTIVE] == 1:
            return 0.0
        return self._play(MEASURE)

    def _choose(self) -> IntArray:
        return cast(IntArray, self._arcs[int(self._play(ASK))])

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        self.episodes += 1
        self._plans.gain[:] = gains
        reason = int(self._play(TELL, rank_of(self.mdp, self._after, path)))
        learned = ~self.mdp.is_known[path]
        self._visits[path] += 1
        self._sums[path[learned]] += gains[learned] - self._origin[path[learned]]
        self._stop(reason)

    def _run(self, reality: Reality, rng: np.random.Generator, budget: int, epsilons: FloatArray) -> RunRecord:
        order = np.argsort(-epsilons, kind="stable")
        falling = np.ascontiguousarray(epsilons[order])
        record, plans = RunRecord.empty(len(falling), self.mdp.horizon), self._new_plans()
        limit = 0
        while plans.tally[SETTLED] < len(falling):
            raise_if_cancelled()
            limit = min(budget, limit + 1_000_000)
            play_plans(plans, reality, rng, FINISH if limit == budget else RUN, limit, falling, record)
        return reordered(record, np.argsort(order))
