"""Optimal-value rule: the stopping rule of BPI-UCRL.

    Vbar_1^{t,*}(s_1) - Vlow_1^{t,*}(s_1)  <=  epsilon

with the upper value over active policies (all of them when nothing is eliminated) and the lower value over all. The
pass for the lower value is left out while it cannot have risen far enough (see elimination/slack.py).
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import hot_kernel
from surepath.learners.per_arc.cached_values import best_values, floor_values
from surepath.learners.per_arc.elimination.slack import start_over
from surepath.learners.per_arc.state import BEST, FLOOR, FLOOR_SEEN, GUARD, LIFTED, PASSABLE_INFINITE, State


@hot_kernel
def gap(graph: Layers, state: State, epsilon: float) -> float:
    """What is compared with epsilon, or infinity when it is above epsilon for sure."""
    if state.tally[PASSABLE_INFINITE] > 0:
        return np.inf
    best_values(graph, state)
    real, best = state.real, state.node[BEST, 0]
    if best - real[FLOOR_SEEN] - real[LIFTED] > epsilon + real[GUARD]:
        return np.inf
    floor_values(graph, state)
    start_over(state)
    real[FLOOR_SEEN] = state.node[FLOOR, 0]
    return float(best - state.node[FLOOR, 0])
