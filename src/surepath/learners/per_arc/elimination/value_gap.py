"""Value-based rule of the experiment appendix.

An arc (s, a) is eliminated when its optimal upper value is below the optimal lower value of its state,

    Qbar_h^{t-1,*}(s, a)  <  Vlow_h^{t-1,*}(s),

both over ALL actions and with the quantities of the previous episode: `mark` is called before the statistics of
episode t come in, `eliminate` after. A tie stays, and a difference that rounding can make counts as a tie
(learners/per_arc/rounding.py). While all widths hold, no arc of an optimal path is eliminated.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.elimination.remove import remove
from surepath.learners.per_arc.elimination.slack import measure
from surepath.learners.per_arc.rounding import safe_best, safe_floor, safe_upper
from surepath.learners.per_arc.state import Rules, State


@inner_kernel
def mark(graph: Layers, state: State) -> bool:
    """Mark the active arcs that the statistics so far rule out; return whether there are any."""
    survey(graph, state)
    stage = state.stage
    slack = least_clear(stage)
    if slack < 0.0:
        best, floor, top = state.node[at.SCRATCH], state.node[at.SCRATCH_TIE], state.arc[at.TOP]
        safe_best(graph, state, top, best)
        safe_floor(graph, state, floor)
        for i in range(len(graph.first) - 1):
            for e in range(graph.first[i], graph.first[i + 1]):
                value = safe_upper(state, e, top[e]) + best[graph.target[e]]
                state.flag[at.MARKED, e] = state.flag[at.ACTIVE, e] and value < floor[i]
    if measure(state):
        keep_clear(stage, state.real, slack)
    else:
        state.real[at.VALUE_SLACK] = -np.inf
    return bool(slack < 0.0)


@folded_kernel
def least_clear(stage: FloatArray) -> float:
    """Find the least by which an active arc clears its state."""
    slack = np.inf
    for h in range(stage.shape[1]):
        slack = min(slack, stage[at.CLEAR, h])
    return slack


@folded_kernel
def keep_clear(stage: FloatArray, real: FloatArray, slack: float) -> None:
    """Store the slack that `survey` has found, for later moves of the bounds to use up."""
    for h in range(stage.shape[1]):
        stage[at.CLEAR_SEEN, h] = stage[at.CLEAR, h]
    real[at.VALUE_SLACK] = slack


@inner_kernel
def survey(graph: Layers, state: State) -> None:
    """Compute HIGHEST and FLOOR over all policies in one pass, and the least by which an active arc clears its state.

    The arc of least upper value decides for its state, so arcs need not be judged one by one.
    """
    if state.tally[at.FRESH_CLEAR] == 1:
        return
    top, lower = state.arc[at.TOP], state.arc[at.LOWER]
    active, clear = state.flag[at.ACTIVE], state.stage[at.CLEAR]
    highest, lowest = state.node[at.HIGHEST], state.node[at.FLOOR]
    first, target = graph.first, graph.target
    i = np.uint64(len(first) - 1)
    highest[i] = 0.0
    lowest[i] = 0.0
    stop = np.uint64(first[i])
    for h in range(len(clear) - 1, -1, -1):
        slack = np.inf
        while i > np.uint64(graph.stage_node[h]):
            i -= np.uint64(1)
            start = np.uint64(first[i])
            best, floor, least = -np.inf, -np.inf, np.inf
            for e in range(start, stop):
                j = target[e]
                value = top[e] + highest[j]
                best = max(best, value)
                floor = max(floor, lower[e] + lowest[j])
                least = min(least, value if active[e] else np.inf)
            highest[i] = best
            lowest[i] = floor
            slack = min(slack, least - floor)
            stop = start
        clear[h] = slack
    state.tally[at.FRESH_CLEAR] = 1
    state.tally[at.FRESH_FLOOR] = 1


@inner_kernel
def share_passes(graph: Layers, state: State) -> None:
    """Make the passes that this rule needs before the next episode ahead of the return rule, which needs them too."""
    survey(graph, state)
    if state.tally[at.N_ACTIVE] == len(graph.target) and state.tally[at.FRESH_BEST] == 0:
        for i in range(len(graph.first)):
            state.node[at.BEST, i] = state.node[at.HIGHEST, i]  # all policies are active
        state.tally[at.FRESH_BEST] = 1


@inner_kernel
def eliminate(graph: Layers, rules: Rules, state: State) -> int:
    """Eliminate the arcs that `mark` has marked; return how many."""
    removed = 0
    for i in range(len(graph.first) - 1):
        for e in range(graph.first[i], graph.first[i + 1]):
            if state.flag[at.MARKED, e] and state.flag[at.ACTIVE, e]:
                removed += remove(rules, state, i, e)
            state.flag[at.MARKED, e] = False
    return removed
