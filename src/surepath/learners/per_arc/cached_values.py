"""The values that rules read, brought up to date on demand and kept in the state, and the paths they lead to.

BEST      largest upper value over active policies; BIG or more where an infinity is in it
SPREAD    largest sum of widths over active policies; twice that of the start is the diameter
FLOOR     largest lower value over ALL policies; -inf where every path has an unvisited arc

One kernel walks the path of largest weight for each of three weights (widths, upper bounds, lower bounds), because each
copy of the passes takes a quarter of a second to compile. A quick one beside it finds the path to play.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import Whole, folded_kernel, hot_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import Rules, State
from surepath.learners.per_arc.sweeps import backward_counted, backward_masked, walk_counted, walk_masked

# Which path: an active policy of largest diameter, an active policy of largest upper value, or a policy of largest
# lower value among ALL policies.
BY_WIDTH, BY_UPPER, BY_LOWER = range(3)


@hot_kernel
def refresh_values(graph: Layers, state: State, fresh: Whole, weight: Whole, value: Whole) -> None:
    """Compute a row of State.node from a row of State.arc, unless the place `fresh` of the tally says it is current."""
    if state.tally[fresh] == 0:
        backward_masked(graph, state.arc[weight], state.node[value])
        state.tally[fresh] = 1


@folded_kernel
def best_values(graph: Layers, state: State) -> None:
    """Recompute BEST, the largest upper values to go, unless it is current."""
    refresh_values(graph, state, np.int64(at.FRESH_BEST), np.int64(at.UPPER), np.int64(at.BEST))


@folded_kernel
def floor_values(graph: Layers, state: State) -> None:
    """Recompute FLOOR, the largest lower values to go, unless it is current."""
    refresh_values(graph, state, np.int64(at.FRESH_FLOOR), np.int64(at.LOWER), np.int64(at.FLOOR))


@inner_kernel
def walk_counting(graph: Layers, rules: Rules, state: State, which: Whole, out: Whole) -> None:
    """Write the path that `which` names into the row `out` of State.path, infinities counted apart from the rest.

    Most of them first for BY_WIDTH and BY_UPPER, fewest first for BY_LOWER. An infinite arc adds 0 to a width, and 0
    less the reference of its stage to a bound. Without infinities it is the same path, more slowly.
    """
    row, rest, sign = at.WIDTH, at.ORIGIN, 1.0
    if which == BY_UPPER:
        row, rest = at.UPPER, at.BASE
    elif which == BY_LOWER:
        row, rest, sign = at.LOWER, at.BASE, -1.0
    path, visits, infinite = state.path[out], state.number[at.VISITS], state.number[at.INFINITE]
    weight, instead = state.arc[row], state.arc[rest]
    value, count = state.node[at.SCRATCH], state.node[at.SCRATCH_TIE]
    backward_counted(graph, weight, infinite, instead, sign, value, count)
    walk_counted(graph, weight, infinite, instead, sign, value, count, visits, rules.least_played, path)


@folded_kernel
def walk(graph: Layers, rules: Rules, state: State, which: Whole) -> None:
    """Write the path that `which` names, BY_WIDTH or BY_UPPER, into the row PATH; by kept values if all are finite."""
    if state.tally[at.PASSABLE_INFINITE] > 0:
        walk_counting(graph, rules, state, which, np.int64(at.PATH))
    else:
        fresh, row, values = at.FRESH_SPREAD, at.WIDTH, at.SPREAD
        if which == BY_UPPER:
            fresh, row, values = at.FRESH_BEST, at.UPPER, at.BEST
        refresh_values(graph, state, np.int64(fresh), np.int64(row), np.int64(values))
        visits, path = state.number[at.VISITS], state.path[at.PATH]
        walk_masked(graph, state.arc[row], state.node[values], visits, rules.least_played, path)
