"""One episode of a learner made of rules: take the rewards in, update the bounds, eliminate, begin periods."""

from __future__ import annotations

from surepath.engine._jit import hot_kernel, inner_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import (
    ACTIVE,
    BONUS,
    CHECKED,
    COVER_LEFT,
    COVER_STALE,
    EPISODES,
    FRESH_BEST,
    FRESH_FLOOR,
    FRESH_SPREAD,
    GAIN,
    INFINITE,
    KNOWN,
    LOW,
    LOWER,
    PASSABLE,
    PASSABLE_INFINITE,
    PATH,
    PERIOD,
    SIGMA,
    STARTED,
    SUMS,
    TOP,
    UNSEEN,
    UNSEEN_ACTIVE,
    UPPER,
    VISITS,
    WIDTH,
    Plan,
    State,
)
from surepath.engine.widths import base_width
from surepath.rules.elimination import eliminate, is_due, mark
from surepath.rules.elimination.slack import note
from surepath.rules.sampling import STATIC_MAX_COVERAGE, static_max_coverage

_spend = static_max_coverage.spend


@hot_kernel
def count_visits(state: State) -> None:
    """Count the row PATH as played and add its rewards to the sums."""
    tally, visits, flag = state.tally, state.number[VISITS], state.flag
    tally[EPISODES] += 1
    for h in range(state.path.shape[1]):
        e = state.path[PATH, h]
        visits[e] += 1
        if flag[KNOWN, e]:
            continue
        n = visits[e]
        state.arc[SUMS, e] += state.stage[GAIN, h]
        if n == 1:
            tally[UNSEEN] -= 1
            if flag[ACTIVE, e]:
                tally[UNSEEN_ACTIVE] -= 1
        if n == tally[PERIOD] and flag[ACTIVE, e]:
            tally[LOW] -= 1


@hot_kernel
def update_bounds(plan: Plan, state: State) -> None:
    """Mean, width and interval of the arcs just played (line 6 of Algorithm 1)."""
    tally, table, arc = state.tally, state.table, state.arc
    for h in range(state.path.shape[1]):
        e = state.path[PATH, h]
        if state.flag[KNOWN, e]:
            continue
        n = state.number[VISITS, e]
        if n < len(table):
            base = table[n]
        else:
            base = base_width(plan.widths, float(n), plan.arcs, plan.delta, plan.prior)
        width = min(arc[SIGMA, e] * base, plan.cap)
        mean = arc[SUMS, e] / n
        arc[BONUS, e] = width
        arc[TOP, e] = mean + width
        arc[LOWER, e] = mean - width
        if state.flag[PASSABLE, e]:
            arc[WIDTH, e] = width
            arc[UPPER, e] = mean + width
        if state.number[INFINITE, e] > 0:
            state.number[INFINITE, e] = 0
            if state.flag[PASSABLE, e]:
                tally[PASSABLE_INFINITE] -= 1
        note(state, h, e)
    tally[FRESH_FLOOR] = 0
    tally[FRESH_BEST] = 0
    tally[FRESH_SPREAD] = 0


@inner_kernel
def roll_period(state: State) -> None:
    """Start the next period when every active arc has reached k visits: k_t = 1 + min of n^{t-1} over active arcs."""
    tally, visits, flag = state.tally, state.number[VISITS], state.flag
    least = -1
    for e in range(len(visits)):
        if flag[ACTIVE, e] and not flag[KNOWN, e] and (least < 0 or visits[e] < least):
            least = visits[e]
    if least < 0:
        return
    tally[PERIOD] = least + 1
    tally[COVER_STALE] = 1
    low = 0
    for e in range(len(visits)):
        flag[STARTED, e] = flag[ACTIVE, e]
        if flag[ACTIVE, e] and not flag[KNOWN, e] and visits[e] <= least:
            low += 1
    tally[LOW] = low


@hot_kernel
def absorb(graph: Graph, plan: Plan, state: State) -> None:
    """Lines 6 to 8 of Algorithm 1 for the episode in the rows PATH and GAIN."""
    count_visits(state)
    due = is_due(plan, state)
    marked = due and mark(graph, plan, state)  # with the quantities of the previous episode
    update_bounds(plan, state)
    if due:
        eliminate(graph, plan, state, marked)
    if plan.sampling == STATIC_MAX_COVERAGE and state.tally[EPISODES] % 2 == 1 and state.tally[COVER_LEFT] > 0:
        _spend(graph, state)
    if state.tally[LOW] == 0:
        roll_period(state)
    state.tally[CHECKED] = 1 if due or plan.at_eliminations == 0 else 0
