"""Elimination rules and their schedules: which arcs can no longer be on a best path, and when they are judged."""

from __future__ import annotations

import math

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, hot_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.elimination import return_gap, value_gap
from surepath.learners.per_arc.elimination.remove import refresh_passable
from surepath.learners.per_arc.elimination.slack import is_clear, is_idle
from surepath.learners.per_arc.state import Rules, State

ELIMINATION = ("return", "value", "both", "none")
SCHEDULES = ("every-episode", "every-sa", "end-of-period", "geometric")
EVERY_EPISODE, EVERY_SA, END_OF_PERIOD = range(3)  # places in SCHEDULES; kernels take any other for geometric

_mark, _by_value, _by_return = value_gap.mark, value_gap.eliminate, return_gap.eliminate
_value_passes = value_gap.share_passes


@inner_kernel
def ends_period(state: State) -> bool:
    """Return whether the path about to be taken in brings the last active arc to k visits."""
    low = state.tally[at.LOW]
    for h in range(state.path.shape[1]):
        e = state.path[at.PATH, h]
        reaches = state.number[at.VISITS, e] + 1 == state.tally[at.PERIOD]
        if reaches and state.flag[at.ACTIVE, e] and not state.flag[at.IS_KNOWN, e]:
            low -= 1
    return bool(low == 0)


@hot_kernel
def is_due(rules: Rules, state: State) -> bool:
    """Return whether eliminations follow this episode, which is counted but not taken in yet."""
    tally = state.tally
    t = tally[at.EPISODES]
    if rules.schedule == EVERY_EPISODE:
        due = True
    elif rules.schedule == EVERY_SA:
        due = t % rules.every == 0
    elif rules.schedule == END_OF_PERIOD:
        due = ends_period(state)
    else:  # geometric
        due = t >= tally[at.NEXT_TIME]
        if due:
            tally[at.NEXT_TIME] = max(t + 1, math.ceil(t * rules.growth))
    return bool(due)


@folded_kernel
def mark(graph: Layers, rules: Rules, state: State, full: int | None) -> bool:
    """Apply the value rule to the statistics before this episode; return whether it marks anything."""
    marked = False
    if full is not None and rules.by_value == 1 and not is_clear(state.stage, state.real):
        marked = _mark(graph, state)
    return marked


@folded_kernel
def eliminate(
    graph: Layers, rules: Rules, state: State, marked: bool | np.bool_, judging: bool | np.bool_, full: int | None
) -> None:
    """Eliminate what is marked, and what the return rule rules out; both judge the active policies of before.

    Without `judging`, for a rule written in Python, the marked arcs alone are taken out, at once.
    """
    if judging and rules.wait == 1 and state.tally[at.UNSEEN_ACTIVE] > 0:
        return
    removed = 0
    for by_return in range(2):
        if by_return == 0:
            if full is not None and marked:
                removed += _by_value(graph, rules, state)
            if rules.sequential == 0:
                continue  # both rules first, then what follows from them
        elif judging and rules.by_return == 1 and not is_idle(state.real, state.real[at.RETURN_SLACK]):
            if full is not None and rules.by_value == 1:
                _value_passes(graph, state)
            removed += _by_return(graph, rules, state)
        if removed > 0:
            refresh_passable(graph, rules, state)
            state.real[at.RETURN_SLACK] = -1.0  # whatever was measured held for the policies before
