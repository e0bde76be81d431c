"""Diameter rule: line 9 of Algorithm 1, first half.

Stop when every active policy's confidence interval is at most epsilon long,

    max over Pi^t of 2 sum_h b_h^t(s_h, a_h)  <=  epsilon

(below it, under the `experiment` preset). Infinite while an active policy passes an unvisited arc.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import hot_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import spread_values
from surepath.learners.per_arc.state import State


@hot_kernel
def gap(graph: Layers, state: State, epsilon: float) -> float:
    """What is compared with epsilon."""
    if state.tally[at.PASSABLE_INFINITE] > 0:  # a passable arc lies on some active policy's path
        return np.inf
    spread_values(graph, state)
    return float(2.0 * state.node[at.SPREAD, 0])
