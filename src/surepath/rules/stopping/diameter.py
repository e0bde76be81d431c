"""Diameter rule: line 9 of Algorithm 1, first half.

Stop when every active policy's confidence interval is at most epsilon long,

    max over Pi^t of 2 sum_h b_h^t(s_h, a_h)  <=  epsilon

(below it, under the `experiment` preset). Infinite while an active policy passes an unvisited arc.
"""

from __future__ import annotations

from surepath.engine._jit import hot_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import SPREAD, State
from surepath.engine.views import spread_values


@hot_kernel
def gap(graph: Graph, state: State, epsilon: float) -> float:
    """What is compared with epsilon; BIG or more stands for infinity."""
    spread_values(graph, state)
    return float(2.0 * state.node[SPREAD, 0])
