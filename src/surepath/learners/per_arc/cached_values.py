"""The values that rules read, brought up to date on demand and left in the state."""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import hot_kernel, inner_kernel
from surepath.kernels.widths import base_width
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.counted_sweeps import backward_counted, walk_counted
from surepath.learners.per_arc.masked_sweeps import backward_masked, walk_masked
from surepath.learners.per_arc.state import BIG, Rules, State


@hot_kernel
def visited_width(rules: Rules, state: State, e: int | np.uint64, n: int) -> float:
    """Width of arc e after n >= 1 visits."""
    if n < len(state.table):
        base = state.table[np.uint64(n)]
    else:
        base = base_width(rules.widths, float(n), rules.arcs, rules.delta, rules.prior)
    return float(min(state.arc[at.SIGMA, e] * base, rules.cap))


@inner_kernel
def width_of(rules: Rules, state: State, e: int) -> float:
    """Width of arc e, BIG where it is infinite."""
    if state.flag[at.KNOWN, e]:
        return 0.0
    n = state.number[at.VISITS, e]
    if n > 0:
        return visited_width(rules, state, e, n)
    return BIG if rules.cap == np.inf else rules.cap


@hot_kernel
def floor_values(graph: Layers, state: State) -> None:
    """FLOOR = largest lower value over ALL policies; -inf where every path has an unvisited arc."""
    if state.tally[at.FRESH_FLOOR] == 0:
        backward_masked(graph, state.arc[at.LOWER], state.node[at.FLOOR])
        state.tally[at.FRESH_FLOOR] = 1


@hot_kernel
def best_values(graph: Layers, state: State) -> None:
    """BEST = largest upper value over active policies; BIG or more where an infinity is in it."""
    if state.tally[at.FRESH_BEST] == 0:
        backward_masked(graph, state.arc[at.UPPER], state.node[at.BEST])
        state.tally[at.FRESH_BEST] = 1


@hot_kernel
def spread_values(graph: Layers, state: State) -> None:
    """SPREAD = largest sum of widths over active policies; twice that of the start is the diameter."""
    if state.tally[at.FRESH_SPREAD] == 0:
        backward_masked(graph, state.arc[at.WIDTH], state.node[at.SPREAD])
        state.tally[at.FRESH_SPREAD] = 1


@inner_kernel
def walk_infinite(
    graph: Layers, rules: Rules, state: State, weight: FloatArray, rest: FloatArray, out: IntArray
) -> None:
    """Walk an active policy of largest weight (UPPER or WIDTH) while some passable arc is infinite."""
    infinite, value, count = state.number[at.INFINITE], state.node[at.SCRATCH], state.node[at.SCRATCH_TIE]
    backward_counted(graph, weight, infinite, rest, 1.0, value, count)
    walk_counted(graph, weight, infinite, rest, 1.0, value, count, state.number[at.VISITS], rules.least_played, out)


@hot_kernel
def walk_best(graph: Layers, rules: Rules, state: State, out: IntArray) -> None:
    """Write an active policy of largest upper value into `out`."""
    if state.tally[at.PASSABLE_INFINITE] > 0:
        walk_infinite(graph, rules, state, state.arc[at.UPPER], state.arc[at.BASE], out)
    else:
        best_values(graph, state)
        walk_masked(graph, state.arc[at.UPPER], state.node[at.BEST], state.number[at.VISITS], rules.least_played, out)


@hot_kernel
def walk_spread(graph: Layers, rules: Rules, state: State, out: IntArray) -> None:
    """Write an active policy of largest diameter into `out`."""
    if state.tally[at.PASSABLE_INFINITE] > 0:
        walk_infinite(graph, rules, state, state.arc[at.WIDTH], state.arc[at.ORIGIN], out)  # 0 where unvisited
    else:
        spread_values(graph, state)
        walk_masked(graph, state.arc[at.WIDTH], state.node[at.SPREAD], state.number[at.VISITS], rules.least_played, out)
