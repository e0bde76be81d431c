"""Walk the path of largest weight for each of three weights: widths, upper bounds, lower bounds.

One kernel for all of them, because each copy of the passes takes a quarter of a second to compile.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import Whole, hot_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import refresh_values
from surepath.learners.per_arc.counted_sweeps import backward_counted, walk_counted
from surepath.learners.per_arc.masked_sweeps import walk_masked
from surepath.learners.per_arc.state import Rules, State

# Which path: an active policy of largest diameter, an active policy of largest upper value, or a policy of largest
# lower value among ALL policies.
WIDEST, HIGHEST, SAFEST = range(3)


@hot_kernel
def walk(graph: Layers, rules: Rules, state: State, which: Whole, out: Whole) -> None:
    """Write the path that `which` names into the row `out` of State.path.

    While some arc of infinite width is in question, infinities are counted apart from the finite part: most of them
    first for WIDEST and HIGHEST, fewest first for SAFEST. An infinite arc adds 0 to a width, and 0 less the reference
    of its stage to a bound.
    """
    path, visits, infinite = state.path[out], state.number[at.VISITS], state.number[at.INFINITE]
    row, values, fresh, rest, sign = at.WIDTH, at.SPREAD, at.FRESH_SPREAD, at.ORIGIN, 1.0
    if which == HIGHEST:
        row, values, fresh, rest = at.UPPER, at.BEST, at.FRESH_BEST, at.BASE
    elif which == SAFEST:
        row, rest, sign = at.LOWER, at.BASE, -1.0
    weight = state.arc[row]
    if which == SAFEST or state.tally[at.PASSABLE_INFINITE] > 0:
        value, count = state.node[at.SCRATCH], state.node[at.SCRATCH_TIE]
        backward_counted(graph, weight, infinite, state.arc[rest], sign, value, count)
        walk_counted(graph, weight, infinite, state.arc[rest], sign, value, count, visits, rules.least_played, path)
    else:
        refresh_values(graph, state, np.int64(fresh), np.int64(row), np.int64(values))
        walk_masked(graph, weight, state.node[values], visits, rules.least_played, path)
