"""Optimal-value rule: the stopping rule of BPI-UCRL.

    Vbar_1^{t,*}(s_1) - Vlow_1^{t,*}(s_1)  <=  epsilon

with the upper value over active policies (all of them when nothing is eliminated) and the lower value over all. The
pass for the lower value is left out while it cannot have risen far enough (see elimination/slack.py).
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import floor_values
from surepath.learners.per_arc.elimination.slack import start_over
from surepath.learners.per_arc.state import State


@folded_kernel
def gap(graph: Layers, state: State, epsilon: float) -> float:
    """Return what is compared with epsilon, or infinity when it is above epsilon for sure; BEST is up to date."""
    real, best = state.real, state.node[at.BEST, 0]
    if best - real[at.FLOOR_SEEN] - real[at.LIFTED] > epsilon + real[at.GUARD]:
        return np.inf
    floor_values(graph, state)
    start_over(state.arc, state.stage, real)
    real[at.FLOOR_SEEN] = state.node[at.FLOOR, 0]
    return float(best - state.node[at.FLOOR, 0])
