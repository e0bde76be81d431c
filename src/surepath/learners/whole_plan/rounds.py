"""Successive elimination over complete plans: each plan is one arm, and only its own returns count for it.

In rounds: play every active plan once, then drop each plan whose upper bound is below the largest lower bound of an
active plan. Stop when one plan is left, or when the largest upper bound exceeds the largest lower bound by at most
epsilon. The bounds of a plan are in `plan_bounds.py`.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Reality
from surepath.kernels.draw import draw
from surepath.kernels.jit import bare_kernel, hot_kernel, inner_kernel
from surepath.learners import tasks
from surepath.learners.runs import BUDGET, GAP, GO_ON, SINGLE, RunRecord
from surepath.learners.whole_plan import state as at
from surepath.learners.whole_plan.plan_bounds import bounds, find_origins, find_pivot, set_base, width_of
from surepath.learners.whole_plan.state import Plans


@inner_kernel
def judge(plans: Plans) -> None:
    """Drop what is ruled out and begin the next round; LAST_GAP, which what is dropped does not change, is kept."""
    tally = plans.tally
    top, floor, _ = bounds(plans)
    plans.bound[at.LAST_GAP] = top - floor
    least, active = -1, 0
    for p in range(len(plans.visits)):
        if plans.active[p] and plans.upper[p] < floor:
            plans.active[p] = False
        if plans.active[p]:
            active += 1
            if least < 0 or plans.visits[p] < least:
                least = plans.visits[p]
    tally[at.N_ACTIVE] = active
    tally[at.ROUND] = least + 1
    tally[at.NEXT] = 0
    left = 0
    for p in range(len(plans.visits)):
        if plans.active[p] and plans.visits[p] <= least:
            left += 1
    tally[at.PLAYS_LEFT] = left


@hot_kernel
def choose(plans: Plans) -> int:
    """Choose the next active plan of this round."""
    p = plans.tally[at.NEXT]
    while not plans.active[p] or plans.visits[p] >= plans.tally[at.ROUND]:
        p += 1
    plans.tally[at.NEXT] = p
    return int(p)


@hot_kernel
def absorb(plans: Plans, p: int) -> bool:
    """Take in an episode of plan p from Plans.gain; return whether a round has ended."""
    tally, total = plans.tally, 0.0
    tally[at.EPISODES] += 1
    if plans.visits[p] == 0:
        find_origins(plans, p)
    for h in range(plans.arcs.shape[1]):
        e = plans.arcs[p, h]
        if plans.learned[e]:
            total += plans.gain[h] - plans.origin[e]
    plans.visits[p] += 1
    plans.sums[p] += total
    if plans.visits[p] == 1:
        if tally[at.PIVOT] < 0:
            tally[at.PIVOT] = p
        set_base(plans, p)
    if plans.active[p] and plans.visits[p] == tally[at.ROUND]:
        tally[at.PLAYS_LEFT] -= 1
    if tally[at.PLAYS_LEFT] > 0:
        return False
    if tally[at.ROUND] == 1:
        find_pivot(plans)
    judge(plans)
    return True


@inner_kernel
def verdict(plans: Plans, epsilon: float) -> int:
    """Decide whether to stop after a round: GO_ON or a reason; stop also when all that is left to learn is rounding."""
    if plans.bound[at.LAST_GAP] <= epsilon:
        return GAP
    if plans.tally[at.N_ACTIVE] == 1:
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
    place = plans.tally[at.SETTLED]
    top, floor, best = bounds(plans)
    record.tau[place] = plans.tally[at.EPISODES]
    record.reason[place] = reason
    for h in range(plans.arcs.shape[1]):
        record.path[place, h] = plans.arcs[best, h]
    record.eliminated[place] = unused(plans)
    record.gap[place] = 0.0 if plans.tally[at.N_ACTIVE] == 1 else top - floor
    plans.tally[at.SETTLED] += 1


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
    if task == tasks.ASK:
        return float(choose(plans))
    if task == tasks.ADVISE:
        return float(bounds(plans)[2])
    if task == tasks.MEASURE:
        top, floor, _ = bounds(plans)
        return top - floor
    if task == tasks.TELL:
        if absorb(plans, number):
            return float(verdict(plans, epsilons[0]))
        return float(GO_ON)
    while tally[at.EPISODES] < number and tally[at.SETTLED] < len(epsilons):
        p = choose(plans)
        for h in range(plans.arcs.shape[1]):
            plans.gain[h] = draw(reality, plans.arcs[p, h], rng)
        if not absorb(plans, p):
            continue
        while tally[at.SETTLED] < len(epsilons):
            reason = verdict(plans, epsilons[tally[at.SETTLED]])
            if reason == GO_ON:
                break
            settle(plans, record, np.int64(reason))
    while task == tasks.FINISH and tally[at.SETTLED] < len(epsilons):
        settle(plans, record, np.int64(BUDGET))
    return 0.0
