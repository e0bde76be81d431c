"""Return-gap rule: line 7 of Algorithm 1.

An active arc stays iff the largest upper value of an active policy through it is at least the largest lower value of
any policy,

    max over Pi_{s,a,h} and Pi^{t-1} of Vbar_1^{t,pi}  >=  max over Pi of Vlow_1^{t,pi};

a tie stays, and where no active policy passes the arc goes. All arcs are judged on Pi^{t-1} at once. The paper does
one dynamic program per arc, O(N^2); here best-to-come and best-so-far come from one backward and one forward pass and
the value through arc e is reach[source] + upper[e] + best[target], O(N) for all arcs. While all widths hold, no arc of
an optimal path goes.
"""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import INFINITE, Plan, State
from surepath.engine.views import lower_values, upper_reach, upper_values
from surepath.rules.elimination.remove import remove


@bare_kernel
def eliminate(graph: Graph, plan: Plan, state: State) -> int:
    """Take out what the rule rules out; how many arcs went."""
    lower_values(graph, state)
    upper_values(graph, state)
    upper_reach(graph, state)
    floor, gone = state.low[0], 0
    counted = state.tally[INFINITE] > 0
    for e in range(len(graph.target)):
        if not state.active[e]:
            continue
        i, j = graph.source[e], graph.target[e]
        if not state.passable[e] or state.reach[i] == -np.inf:
            gone += remove(graph, plan, state, e)
        elif counted and state.reach_count[i] + state.infinite[e] + state.best_count[j] > 0:
            continue
        elif state.reach[i] + state.upper[e] + state.best[j] < floor:
            gone += remove(graph, plan, state, e)
    return gone
