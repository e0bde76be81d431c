"""Diameter rule: line 9 of Algorithm 1, first half.

Stop when every active policy's confidence interval is at most epsilon long,

    max over Pi^t of 2 sum_h b_h^t(s_h, a_h)  <=  epsilon

(below it, under the `experiment` preset). Infinite while an active policy passes an unvisited arc.
"""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import INFINITE, Plan, State
from surepath.engine.views import spreads


@bare_kernel
def gap(graph: Graph, plan: Plan, state: State) -> float:
    """What is compared with epsilon."""
    spreads(graph, state)
    if state.tally[INFINITE] > 0 and state.spread_count[0] > 0:
        return np.inf
    return float(2.0 * state.spread[0])
