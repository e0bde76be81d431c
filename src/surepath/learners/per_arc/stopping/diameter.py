"""Diameter rule: line 9 of Algorithm 1, first half.

Stop when every active policy's confidence interval is at most epsilon long,

    max over Pi^t of 2 sum_h b_h^t(s_h, a_h)  <=  epsilon

(below it, under the `experiment` preset). Infinite while an active policy passes an unvisited arc.
"""

from __future__ import annotations

from surepath.kernels.jit import folded_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import State


@folded_kernel
def gap(state: State) -> float:
    """Return what is compared with epsilon; SPREAD is up to date."""
    return float(2.0 * state.node[at.SPREAD, 0])
