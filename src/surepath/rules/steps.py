"""One episode of a learner made of rules: take the rewards in, eliminate, see whether to stop.

`absorb` and `settled` are the kernels that both drivers use: the fused run of `loop.py` and the ask/tell objects.
"""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import (
    CHECKED,
    CROWDED,
    EPISODES,
    FRESH_DIAMETER,
    FRESH_LOW,
    FRESH_VALUE,
    INFINITE,
    LOW,
    PERIOD,
    UNBOUNDED,
    UNSEEN,
    UNSEEN_ACTIVE,
    Plan,
    State,
)
from surepath.engine.widths import base_width
from surepath.rules.elimination import eliminate, is_due, mark


@bare_kernel
def count_visits(state: State) -> None:
    """Count state.path as played and add state.gains to the sums."""
    tally = state.tally
    tally[EPISODES] += 1
    for h in range(len(state.path)):
        e = state.path[h]
        state.visits[e] += 1
        if state.known[e]:
            continue
        n = state.visits[e]
        state.sums[e] += state.gains[h]
        if n == 1:
            tally[UNSEEN] -= 1
            if state.active[e]:
                tally[UNSEEN_ACTIVE] -= 1
        if n == tally[PERIOD] and state.active[e]:
            tally[LOW] -= 1


@bare_kernel
def update_bounds(plan: Plan, state: State) -> None:
    """Mean, width and interval of the arcs just played (line 6 of Algorithm 1)."""
    tally, table = state.tally, state.table
    for e in state.path:
        if state.known[e]:
            continue
        n = state.visits[e]
        if n < len(table):
            base = table[n]
        else:
            base = base_width(plan.widths, float(n), plan.arcs, plan.delta, plan.prior)
        width = min(state.sigma[e] * base, plan.cap)
        mean = state.sums[e] / n
        state.width[e] = width
        state.upper[e] = mean + width
        state.lower[e] = mean - width
        if not state.finite[e]:
            state.finite[e] = True
            state.infinite[e] = 0
            tally[UNBOUNDED] -= 1
            if state.passable[e]:
                tally[INFINITE] -= 1
    tally[FRESH_LOW] = 0
    tally[FRESH_VALUE] = 0
    tally[FRESH_DIAMETER] = 0


@bare_kernel
def roll_period(state: State) -> None:
    """Start the next period when every active arc has reached k visits: k_t = 1 + min of n^{t-1} over active arcs."""
    tally = state.tally
    least = np.int64(-1)
    for e in range(len(state.visits)):
        if state.active[e] and not state.known[e] and (least < 0 or state.visits[e] < least):
            least = state.visits[e]
    if least < 0:
        return
    tally[PERIOD] = least + 1
    low = 0
    for e in range(len(state.visits)):
        state.started[e] = state.active[e]
        if state.active[e] and not state.known[e] and state.visits[e] <= least:
            low += 1
    tally[LOW] = low


@bare_kernel
def absorb(graph: Graph, plan: Plan, state: State) -> None:
    """Lines 6 to 8 of Algorithm 1 for the episode in state.path and state.gains."""
    count_visits(state)
    eliminates = plan.by_value == 1 or plan.by_return == 1
    due = is_due(plan, state)
    if due and plan.by_value == 1:
        mark(graph, plan, state)  # with the quantities of the previous episode
    update_bounds(plan, state)
    if due and eliminates:
        eliminate(graph, plan, state)
    if state.tally[LOW] == 0:
        roll_period(state)
    state.tally[CHECKED] = 1 if due or plan.at_eliminations == 0 else 0


@bare_kernel
def is_single(plan: Plan, state: State) -> bool:
    """Line 9 of Algorithm 1, second half: every state has at most one active action."""
    return bool(plan.single == 1 and state.tally[CROWDED] == 0)


@bare_kernel
def is_close(plan: Plan, gap: float, epsilon: float) -> bool:
    """Line 9 of Algorithm 1, first half."""
    return gap < epsilon if plan.strict == 1 else gap <= epsilon
