"""Optimal-value rule: the stopping rule of BPI-UCRL.

    Vbar_1^{t,*}(s_1) - Vlow_1^{t,*}(s_1)  <=  epsilon

with the upper value over active policies (all of them when nothing is eliminated) and the lower value over all.
"""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import INFINITE, Plan, State
from surepath.engine.views import lower_values, upper_values


@bare_kernel
def gap(graph: Graph, plan: Plan, state: State) -> float:
    """What is compared with epsilon."""
    lower_values(graph, state)
    upper_values(graph, state)
    if state.tally[INFINITE] > 0 and state.best_count[0] > 0:
        return np.inf
    if state.low[0] == -np.inf:
        return np.inf
    return float(state.best[0] - state.low[0])
