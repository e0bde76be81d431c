"""Walk the path of largest weight for each of three weights: widths, upper bounds, lower bounds.

One kernel for all of them, because each copy of the passes takes a quarter of a second to compile. A quick one
beside it finds the path to play.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import Whole, folded_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import refresh_values
from surepath.learners.per_arc.state import Rules, State
from surepath.learners.per_arc.sweeps import backward_counted, walk_counted, walk_masked

# Which path: an active policy of largest diameter, an active policy of largest upper value, or a policy of largest
# lower value among ALL policies.
WIDEST, HIGHEST, SAFEST = range(3)


@inner_kernel
def walk_counting(graph: Layers, rules: Rules, state: State, which: Whole, out: Whole) -> None:
    """Write the path that `which` names into the row `out` of State.path, infinities counted apart from the rest.

    Most of them first for WIDEST and HIGHEST, fewest first for SAFEST. An infinite arc adds 0 to a width, and 0 less
    the reference of its stage to a bound. Without infinities it is the same path, more slowly.
    """
    row, rest, sign = at.WIDTH, at.ORIGIN, 1.0
    if which == HIGHEST:
        row, rest = at.UPPER, at.BASE
    elif which == SAFEST:
        row, rest, sign = at.LOWER, at.BASE, -1.0
    path, visits, infinite = state.path[out], state.number[at.VISITS], state.number[at.INFINITE]
    weight, instead, value, count = state.arc[row], state.arc[rest], state.node[at.SCRATCH], state.node[at.SCRATCH_TIE]
    backward_counted(graph, weight, infinite, instead, sign, value, count)
    walk_counted(graph, weight, infinite, instead, sign, value, count, visits, rules.least_played, path)


@folded_kernel
def walk(graph: Layers, rules: Rules, state: State, which: Whole) -> None:
    """Write the path that `which` names, WIDEST or HIGHEST, into the row PATH; by kept values where all are finite."""
    if state.tally[at.PASSABLE_INFINITE] > 0:
        walk_counting(graph, rules, state, which, np.int64(at.PATH))
    else:
        fresh, row, values = at.FRESH_SPREAD, at.WIDTH, at.SPREAD
        if which == HIGHEST:
            fresh, row, values = at.FRESH_BEST, at.UPPER, at.BEST
        refresh_values(graph, state, np.int64(fresh), np.int64(row), np.int64(values))
        visits, path = state.number[at.VISITS], state.path[at.PATH]
        walk_masked(graph, state.arc[row], state.node[values], visits, rules.least_played, path)
