"""Value-based rule of the experiment appendix.

An arc (s, a) goes when its optimal upper value is below the optimal lower value of its state,

    Qbar_h^{t-1,*}(s, a)  <  Vlow_h^{t-1,*}(s),

both over ALL actions and with the quantities of the previous episode: `mark` is called before the statistics of
episode t come in, `eliminate` after. A tie stays. While all widths hold, no arc of an optimal path goes.
"""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import inner_kernel
from surepath.engine.arrays import Layers
from surepath.engine.state import ACTIVE, FLOOR, HIGHEST, MARKED, TOP, VALUE_SLACK, Plan, State
from surepath.engine.views import floor_values
from surepath.rules.elimination.remove import remove
from surepath.rules.elimination.slack import measure


@inner_kernel
def mark(graph: Layers, state: State) -> bool:
    """Note which active arcs the statistics so far rule out; whether there are any."""
    floor_values(graph, state)
    top, highest, slack = state.arc[TOP], state.node[HIGHEST], np.inf
    sink = len(graph.first) - 1
    highest[sink] = 0.0
    for i in range(sink - 1, -1, -1):  # the backward pass over all policies
        floor, best = state.node[FLOOR, i], -np.inf
        for e in range(graph.first[i], graph.first[i + 1]):
            value = top[e] + highest[graph.target[e]]
            best = max(best, value)
            if state.flag[ACTIVE, e]:
                state.flag[MARKED, e] = value < floor
                slack = min(slack, value - floor)
        highest[i] = best
    measured = measure(state)
    state.real[VALUE_SLACK] = slack if measured else -1.0
    return bool(slack < 0.0)


@inner_kernel
def eliminate(graph: Layers, plan: Plan, state: State) -> int:
    """Take out what was marked; how many arcs went."""
    gone = 0
    for i in range(len(graph.first) - 1):
        for e in range(graph.first[i], graph.first[i + 1]):
            if state.flag[MARKED, e] and state.flag[ACTIVE, e]:
                gone += remove(plan, state, i, e)
            state.flag[MARKED, e] = False
    return gone
