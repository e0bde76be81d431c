"""The values that rules read, brought up to date on demand and left in the state."""

from __future__ import annotations

from surepath._checks import FloatArray, IntArray
from surepath.engine._jit import hot_kernel, inner_kernel
from surepath.engine.arrays import Graph
from surepath.engine.lexicographic import backward_counted, walk_counted
from surepath.engine.masked import backward_masked, walk_masked
from surepath.engine.state import (
    BEST,
    FLOOR,
    FRESH_BEST,
    FRESH_FLOOR,
    FRESH_SPREAD,
    INFINITE,
    LOWER,
    PASSABLE_INFINITE,
    SCRATCH,
    SCRATCH_TIE,
    SPREAD,
    UPPER,
    VISITS,
    WIDTH,
    Plan,
    State,
)


@hot_kernel
def floor_values(graph: Graph, state: State) -> None:
    """FLOOR = largest lower value over ALL policies; -inf where every path has an unvisited arc."""
    if state.tally[FRESH_FLOOR] == 0:
        backward_masked(graph, state.arc[LOWER], state.node[FLOOR])
        state.tally[FRESH_FLOOR] = 1


@hot_kernel
def best_values(graph: Graph, state: State) -> None:
    """BEST = largest upper value over active policies; BIG or more where an infinity is in it."""
    if state.tally[FRESH_BEST] == 0:
        backward_masked(graph, state.arc[UPPER], state.node[BEST])
        state.tally[FRESH_BEST] = 1


@hot_kernel
def spread_values(graph: Graph, state: State) -> None:
    """SPREAD = largest sum of widths over active policies; twice that of the start is the diameter."""
    if state.tally[FRESH_SPREAD] == 0:
        backward_masked(graph, state.arc[WIDTH], state.node[SPREAD])
        state.tally[FRESH_SPREAD] = 1


@inner_kernel
def walk_infinite(graph: Graph, plan: Plan, state: State, weight: FloatArray, out: IntArray) -> None:
    """Walk an active policy of largest weight (UPPER or WIDTH) while some passable arc is infinite."""
    infinite, value, count = state.number[INFINITE], state.node[SCRATCH], state.node[SCRATCH_TIE]
    backward_counted(graph, weight, infinite, 1.0, value, count)
    walk_counted(graph, weight, infinite, 1.0, value, count, state.number[VISITS], plan.least_played, out)


@hot_kernel
def walk_best(graph: Graph, plan: Plan, state: State, out: IntArray) -> None:
    """Write an active policy of largest upper value into `out`."""
    if state.tally[PASSABLE_INFINITE] > 0:
        walk_infinite(graph, plan, state, state.arc[UPPER], out)
    else:
        best_values(graph, state)
        walk_masked(graph, state.arc[UPPER], state.node[BEST], state.number[VISITS], plan.least_played, out)


@hot_kernel
def walk_spread(graph: Graph, plan: Plan, state: State, out: IntArray) -> None:
    """Write an active policy of largest diameter into `out`."""
    if state.tally[PASSABLE_INFINITE] > 0:
        walk_infinite(graph, plan, state, state.arc[WIDTH], out)
    else:
        spread_values(graph, state)
        walk_masked(graph, state.arc[WIDTH], state.node[SPREAD], state.number[VISITS], plan.least_played, out)
