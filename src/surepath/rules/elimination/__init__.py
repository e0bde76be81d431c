"""Elimination rules and their schedules: which arcs can no longer be on a best path, and when to look."""

from __future__ import annotations

import math

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import EPISODES, LOW, NEXT_TIME, UNSEEN_ACTIVE, Plan, State
from surepath.rules.elimination import return_gap, value_gap
from surepath.rules.elimination.remove import refresh_passable

ELIMINATION = ("return", "value", "both", "none")
SCHEDULES = ("every-episode", "every-sa", "end-of-period", "geometric")
EVERY_EPISODE, EVERY_SA, END_OF_PERIOD, GEOMETRIC = range(4)

mark, _by_value, _by_return = value_gap.mark, value_gap.eliminate, return_gap.eliminate


@bare_kernel
def is_due(plan: Plan, state: State) -> bool:
    """Whether this episode ends with a look at the active sets; visits are already counted."""
    tally = state.tally
    t = tally[EPISODES]
    if plan.schedule == EVERY_EPISODE:
        due = True
    elif plan.schedule == EVERY_SA:
        due = t % plan.every == 0
    elif plan.schedule == END_OF_PERIOD:
        due = tally[LOW] == 0
    else:
        due = t >= tally[NEXT_TIME]
        if due:
            tally[NEXT_TIME] = max(t + 1, math.ceil(t * plan.growth))
    return due


@bare_kernel
def eliminate(graph: Graph, plan: Plan, state: State) -> int:
    """Apply the rules that are on; both are judged on the active policies of the previous episode."""
    if plan.wait == 1 and state.tally[UNSEEN_ACTIVE] > 0:
        return 0
    gone = 0
    if plan.by_value == 1:
        gone += _by_value(graph, plan, state)
        if plan.sequential == 1 and gone > 0:
            refresh_passable(graph, state)
    if plan.by_return == 1:
        gone += _by_return(graph, plan, state)
    if gone > 0:
        refresh_passable(graph, state)
    return gone
