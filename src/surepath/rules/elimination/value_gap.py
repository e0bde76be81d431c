"""Value-based rule of the experiment appendix.

An arc (s, a) goes when its optimal upper value is below the optimal lower value of its state,

    Qbar_h^{t-1,*}(s, a)  <  Vlow_h^{t-1,*}(s),

both over ALL actions and with the quantities of the previous episode: `mark` is called before the statistics of
episode t come in, `eliminate` after. A tie stays. While all widths hold, no arc of an optimal path goes.
"""

from __future__ import annotations

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import UNBOUNDED, Plan, State
from surepath.engine.views import lower_values, top_values
from surepath.rules.elimination.remove import remove


@bare_kernel
def mark(graph: Graph, plan: Plan, state: State) -> None:
    """Note in state.marked which active arcs the statistics so far rule out."""
    lower_values(graph, state)
    top_values(graph, state)
    first, target = graph.first, graph.target
    counted = state.tally[UNBOUNDED] > 0
    for i in range(len(first) - 1):
        floor = state.low[i]
        for e in range(first[i], first[i + 1]):
            open_ended = counted and state.infinite[e] + state.top_count[target[e]] > 0
            below = not open_ended and state.upper[e] + state.top[target[e]] < floor
            state.marked[e] = state.active[e] and below


@bare_kernel
def eliminate(graph: Graph, plan: Plan, state: State) -> int:
    """Take out what was marked; how many arcs went."""
    gone = 0
    for e in range(len(graph.target)):
        if state.marked[e] and state.active[e]:
            gone += remove(graph, plan, state, e)
    return gone
