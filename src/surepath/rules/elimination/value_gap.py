"""Value-based rule of the experiment appendix.

An arc (s, a) goes when its optimal upper value is below the optimal lower value of its state,

    Qbar_h^{t-1,*}(s, a)  <  Vlow_h^{t-1,*}(s),

both over ALL actions and with the quantities of the previous episode: `mark` is called before the statistics of
episode t come in, `eliminate` after. A tie stays. While all widths hold, no arc of an optimal path goes.
"""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import inner_kernel
from surepath.engine.arrays import Graph
from surepath.engine.masked import backward_masked
from surepath.engine.state import ACTIVE, FLOOR, HIGHEST, MARKED, TOP, VALUE_SLACK, Plan, State
from surepath.engine.views import floor_values
from surepath.rules.elimination.remove import remove
from surepath.rules.elimination.slack import start_over


@inner_kernel
def mark(graph: Graph, state: State) -> None:
    """Note which active arcs the statistics so far rule out; the slack is negative when there are any."""
    floor_values(graph, state)
    top, highest = state.arc[TOP], state.node[HIGHEST]
    backward_masked(graph, top, highest)
    slack = np.inf
    for i in range(len(graph.first) - 1):
        floor = state.node[FLOOR, i]
        for e in range(graph.first[i], graph.first[i + 1]):
            if state.flag[ACTIVE, e]:
                value = top[e] + highest[graph.target[e]]
                state.flag[MARKED, e] = value < floor
                slack = min(slack, value - floor)
    start_over(state)
    state.real[VALUE_SLACK] = slack


@inner_kernel
def eliminate(graph: Graph, plan: Plan, state: State) -> int:
    """Take out what was marked; how many arcs went."""
    gone = 0
    for i in range(len(graph.first) - 1):
        for e in range(graph.first[i], graph.first[i + 1]):
            if state.flag[MARKED, e] and state.flag[ACTIVE, e]:
                gone += remove(plan, state, i, e)
            state.flag[MARKED, e] = False
    return gone
