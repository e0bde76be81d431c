"""Successive elimination over complete plans: each plan is one arm, and only its own returns count for it.

In rounds: play every active plan once, then drop each plan whose upper bound is below the largest lower bound of an
active plan. Stop when one plan is left, or when the largest upper bound exceeds the largest lower bound by at most
epsilon. A plan's return is the sum of rewards that are conditionally sub-Gaussian in turn, so its own factor is the
root of the sum of their squares, and the width is that of `engine/widths.py` with a union over the P plans. It shares
nothing between plans, yet on a handful of plans one width beats a sum of H of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.engine._jit import bare_kernel, hot_kernel, inner_kernel
from surepath.engine.arrays import Reality
from surepath.engine.draw import draw
from surepath.engine.widths import base_width
from surepath.rules.loop import Record
from surepath.rules.stopping import BUDGET, GAP, GO_ON, SINGLE

# Places in Plans.tally.
EPISODES, ROUND, LEFT, NEXT, N_ACTIVE, SETTLED = range(6)
# What `play_plans` can be asked for.
ASK, TELL, ADVISE, RUN, FINISH = range(5)


class Plans(NamedTuple):
    """All plans and what is known of them."""

    arcs: IntArray  # [P, H] the plans
    learned: BoolArray  # [N] arcs whose reward must be learned
    offset: FloatArray  # [P] sum of known gains
    sigma: FloatArray  # [P]
    visits: IntArray  # [P]
    sums: FloatArray  # [P] of learned gains
    active: BoolArray  # [P]
    used: BoolArray  # [N] room for marks
    tally: IntArray  # [6]
    bound: FloatArray  # [3] kind of width (as a float), delta, c


@hot_kernel
def width_of(plans: Plans, p: int) -> float:
    """Half the confidence interval of plan p; infinite while it has not been played."""
    n = plans.visits[p]
    if n == 0:
        return np.inf
    kind, delta, prior = int(plans.bound[0]), plans.bound[1], plans.bound[2]
    return float(plans.sigma[p] * base_width(kind, float(n), float(len(plans.visits)), delta, prior))


@inner_kernel
def bounds(plans: Plans) -> tuple[float, float, int]:
    """Largest upper bound, largest lower bound and the plan that has it, over active plans; ties: lowest plan."""
    top, floor, best = -np.inf, -np.inf, -1
    for p in range(len(plans.visits)):
        if plans.active[p]:
            mean = plans.offset[p] + plans.sums[p] / max(plans.visits[p], 1)
            width = width_of(plans, p)
            top = max(top, mean + width)
            if best < 0 or mean - width > floor:
                floor, best = mean - width, p
    return top, floor, best


@inner_kernel
def end_round(plans: Plans) -> None:
    """Drop what is ruled out and begin the next round."""
    tally = plans.tally
    _, floor, _ = bounds(plans)
    least = -1
    for p in range(len(plans.visits)):
        if not plans.active[p]:
            continue
        mean = plans.offset[p] + plans.sums[p] / max(plans.visits[p], 1)
        if mean + width_of(plans, p) < floor:
            plans.active[p] = False
            tally[N_ACTIVE] -= 1
        elif least < 0 or plans.visits[p] < least:
            least = plans.visits[p]
    tally[ROUND] = least + 1
    tally[NEXT] = 0
    left = 0
    for p in range(len(plans.visits)):
        if plans.active[p] and plans.visits[p] <= least:
            left += 1
    tally[LEFT] = left


@hot_kernel
def choose(plans: Plans) -> int:
    """The next active plan of this round."""
    p = plans.tally[NEXT]
    while not plans.active[p] or plans.visits[p] >= plans.tally[ROUND]:
        p += 1
    plans.tally[NEXT] = p
    return int(p)


@hot_kernel
def absorb(plans: Plans, p: int, gain: float) -> bool:
    """Take in one return of plan p; whether a round has ended."""
    tally = plans.tally
    tally[EPISODES] += 1
    plans.visits[p] += 1
    plans.sums[p] += gain
    if plans.active[p] and plans.visits[p] == tally[ROUND]:
        tally[LEFT] -= 1
    if tally[LEFT] > 0:
        return False
    end_round(plans)
    return True


@inner_kernel
def verdict(plans: Plans, epsilon: float) -> int:
    """Whether to stop after a round."""
    top, floor, _ = bounds(plans)
    if top - floor <= epsilon:
        return GAP
    if plans.tally[N_ACTIVE] == 1:
        return SINGLE
    return GO_ON


@inner_kernel
def unused(plans: Plans) -> int:
    """How many arcs lie on no active plan."""
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
def settle(plans: Plans, record: Record, reason: np.int64) -> None:
    """Note the answer for the next epsilon."""
    at = plans.tally[SETTLED]
    top, floor, best = bounds(plans)
    record.tau[at] = plans.tally[EPISODES]
    record.reason[at] = reason
    for h in range(plans.arcs.shape[1]):
        record.path[at, h] = plans.arcs[best, h]
    record.eliminated[at] = unused(plans)
    record.gap[at] = 0.0 if reason == SINGLE else top - floor
    plans.tally[SETTLED] += 1


@bare_kernel
def play_plans(
    plans: Plans,
    reality: Reality,
    rng: np.random.Generator,
    task: int,
    number: int,
    gain: float,
    epsilons: FloatArray,
    record: Record,
) -> float:
    """The one way in, as `rules.loop.play`: `number` is the limit of a run, or the plan that TELL was played."""
    tally = plans.tally
    if task == ASK:
        return float(choose(plans))
    if task == ADVISE:
        return float(bounds(plans)[2])
    if task == TELL:
        if absorb(plans, number, gain):
            return float(verdict(plans, epsilons[0]))
        return float(GO_ON)
    while tally[EPISODES] < number and tally[SETTLED] < len(epsilons):
        p = choose(plans)
        total = 0.0
        for h in range(plans.arcs.shape[1]):
            e = plans.arcs[p, h]
            x = draw(reality, e, rng)
            if plans.learned[e]:
                total += x
        if not absorb(plans, p, total):
            continue
        while tally[SETTLED] < len(epsilons):
            reason = verdict(plans, epsilons[tally[SETTLED]])
            if reason == GO_ON:
                break
            settle(plans, record, np.int64(reason))
    while task == FINISH and tally[SETTLED] < len(epsilons):
        settle(plans, record, np.int64(BUDGET))
    return 0.0
