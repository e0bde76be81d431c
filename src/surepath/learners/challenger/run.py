"""Challenger's episode loop: whole runs compiled, and its single steps, through one entry point.

A full check costs a few dozen passes, so it is made when the number of episodes has grown by one per cent since the
last one; in between, a quick check looks at the three rows around the best one of the last full check, and chooses
from the same passes. A check that comes late only delays the stop; it never breaks the guarantee.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Graph, Reality
from surepath.kernels.draw import draw
from surepath.kernels.jit import bare_kernel, folded_kernel
from surepath.learners import tasks
from surepath.learners.challenger import state as at
from surepath.learners.challenger.bound import challenge, refresh, set_incumbent, take_in
from surepath.learners.challenger.check import NO_ROW, PASSED, certify, check
from surepath.learners.challenger.sampling import (
    BY_COVERAGE,
    BY_DIAMETER,
    BY_GUARD,
    BY_SEPARATION,
    FLOW,
    FREE,
    cover,
    follow_flow,
    is_open,
    marked,
    separate,
    turn,
    weigh,
)
from surepath.learners.challenger.state import Evidence, Pairs, Scratch
from surepath.learners.challenger.thrift import choose

# What RUN answers: the limit was reached, the check passed, or it is time for a pause.
CUT, DONE, PAUSED = 0.0, 1.0, 2.0


@folded_kernel
def plan(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, epsilon: float) -> bool:
    """Check, and choose the next path into work.path; True when the check has passed."""
    if cover(graph, pairs, seen, work):
        return False
    set_incumbent(graph, pairs, seen, work)
    memo, row = seen.memo, 0
    t = memo[at.EPISODES]
    if t >= memo[at.NEXT_FULL] or memo[at.READY] == 0.0:
        row = check(graph, pairs, seen, work, epsilon, np.int64(1))
        if row == PASSED:
            return True
        memo[at.NEXT_FULL] = t + max(1.0, np.floor(pairs.patience * t))
        memo[at.READY] = 0.0
        if row != NO_ROW:
            memo[at.ENTRY], memo[at.SLOPE] = work.grid[row, 0], work.grid[row, 1]
            memo[at.READY] = 1.0
    else:
        work.grid[0, 0], work.grid[0, 1] = memo[at.ENTRY], memo[at.SLOPE]
        for e in range(len(seen.alive)):
            work.live[e] = seen.alive[e]
            work.cleared[e] = False
    whose = turn(graph, pairs, seen, work)
    if whose != FREE:
        weigh(graph, pairs, seen, work, np.int64(BY_GUARD))
        if whose == FLOW:
            follow_flow(graph, pairs, seen, work)
            if is_open(seen, work):
                return False
    elif (pairs.sampling == BY_SEPARATION or pairs.sampling == BY_GUARD) and row != NO_ROW:
        if separate(graph, pairs, seen, work, row, epsilon):
            return True
        if not marked(work):  # every strong challenger differs in quiet arcs only: let all bounds shrink
            weigh(graph, pairs, seen, work, np.int64(BY_DIAMETER))
    else:
        rule = pairs.sampling if pairs.sampling == BY_COVERAGE else BY_DIAMETER
        weigh(graph, pairs, seen, work, np.int64(rule))
    choose(graph, pairs, seen, work, np.int64(1 if whose == FREE else 0))
    return False


@folded_kernel
def again(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> None:
    """Choose one more path for another worker from the same marks; the last one, in work.path, is now pending."""
    for h in range(len(work.path)):
        e = work.path[h]
        n = seen.visits[e] + seen.pending[e]
        work.mark[e] *= (n - 1.0) / n if n > 1 else 1.0
    choose(graph, pairs, seen, work, np.int64(1))


@folded_kernel
def plays(pairs: Pairs, seen: Evidence, work: Scratch, repeat: float) -> int:
    """Count the plays of work.path before planning again: `repeat` of the least visits among its weighted arcs."""
    least = np.iinfo(np.int64).max
    for h in range(len(work.path)):
        e = work.path[h]
        if work.mark[e] > 0.0:
            least = min(least, seen.visits[e])
    if least == np.iinfo(np.int64).max:
        return 1
    return max(1, int(repeat * least))


@bare_kernel
def act(
    graph: Graph,
    pairs: Pairs,
    seen: Evidence,
    work: Scratch,
    reality: Reality,
    rng: np.random.Generator,
    task: int,
    limit: int,
    pause: float,
    epsilon: float,
) -> float:
    """Perform one task: the one entry point, because each takes seconds to compile.

    PLAN checks and leaves the next path in work.path; 1 when the check has passed. AGAIN gives one more path from the
    same plan. TELL takes in the gains in work.gain of the first `limit` arcs in work.path, and refreshes all of them;
    WAKE refreshes all arcs. RUN plays
    until the check passes, `limit` episodes are played, or `pause` episodes are: then it may be called again to go on.
    INCUMBENT leaves the path to recommend in work.incumbent, and so do CERTIFY, CHECK and ROW, which are about that
    path. CERTIFY returns its certified gap. CHECK runs the full check without eliminating; 1 when it passes.
    ROW makes the passes of the row that work.grid[0] holds over all arcs that are left, by single excursions if
    `limit` is 1, and returns the constant of `challenge`.
    """
    if task == tasks.AGAIN:
        again(graph, pairs, seen, work)
        return 0.0
    if task == tasks.TELL:
        guarding = turn(graph, pairs, seen, work) == FLOW
        for h in range(limit):
            e = work.path[h]
            if pairs.is_known[e]:
                seen.visits[e] += 1
            else:
                take_in(pairs, seen, e, work.gain[h])
        for h in range(len(work.path)):
            refresh(pairs, seen, work, work.path[h])
            seen.guarded[work.path[h]] += 1 if guarding else 0
        return 0.0
    if task == tasks.WAKE:
        for e in range(len(seen.visits)):
            refresh(pairs, seen, work, e)
        return 0.0
    if task not in (tasks.PLAN, tasks.RUN):
        set_incumbent(graph, pairs, seen, work)
    if task == tasks.INCUMBENT:
        return 0.0
    if task == tasks.CERTIFY:
        return float(certify(graph, pairs, seen, work))
    if task == tasks.CHECK:
        return 1.0 if check(graph, pairs, seen, work, epsilon, np.int64(0)) == PASSED else 0.0
    if task == tasks.ROW:
        for e in range(len(seen.alive)):
            work.live[e] = seen.alive[e]
        return float(challenge(graph, pairs, seen, work, np.int64(0), np.int64(limit)))
    memo = seen.memo
    while task == tasks.PLAN or memo[at.EPISODES] < pause:
        if plan(graph, pairs, seen, work, epsilon):  # the one place that plans: the compiler copies it into each
            return DONE
        if task == tasks.PLAN or memo[at.EPISODES] >= limit:
            return CUT
        guarding = turn(graph, pairs, seen, work) == FLOW
        many = 1 if guarding else plays(pairs, seen, work, pairs.repeat)
        count = min(many, limit - int(memo[at.EPISODES]))
        for _ in range(count):
            for h in range(len(work.path)):
                e = work.path[h]
                take_in(pairs, seen, e, draw(reality, e, rng))
        for h in range(len(work.path)):
            refresh(pairs, seen, work, work.path[h])
            seen.guarded[work.path[h]] += 1 if guarding else 0
        memo[at.EPISODES] += count
    return PAUSED
