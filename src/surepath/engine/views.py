"""The values that rules read, brought up to date on demand.

Each function leaves its answer in the state; infinities are counted apart while any passable arc has one, else the
plain pass is enough.
"""

from __future__ import annotations

from surepath._checks import FloatArray, IntArray
from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.lexicographic import backward_counted, forward_counted, walk_counted, walk_plain
from surepath.engine.passes import backward, forward
from surepath.engine.state import FRESH_DIAMETER, FRESH_LOW, FRESH_VALUE, INFINITE, UNBOUNDED, Plan, State


@bare_kernel
def lower_values(graph: Graph, state: State) -> None:
    """low = largest lower value over ALL policies; -inf where every path has an unvisited arc."""
    if state.tally[FRESH_LOW] == 0:
        backward(graph, state.lower, state.finite, state.low)
        state.tally[FRESH_LOW] = 1


@bare_kernel
def upper_values(graph: Graph, state: State) -> None:
    """best = largest upper value over active policies."""
    if state.tally[FRESH_VALUE] == 1:
        return
    if state.tally[INFINITE] == 0:
        backward(graph, state.upper, state.passable, state.best)
    else:
        backward_counted(graph, state.upper, state.passable, state.infinite, 1, state.best, state.best_count)
    state.tally[FRESH_VALUE] = 1


@bare_kernel
def upper_reach(graph: Graph, state: State) -> None:
    """reach = largest upper value from the start to each node over active policies."""
    if state.tally[INFINITE] == 0:
        forward(graph, state.upper, state.passable, state.reach)
    else:
        forward_counted(graph, state.upper, state.passable, state.infinite, state.reach, state.reach_count)


@bare_kernel
def top_values(graph: Graph, state: State) -> None:
    """top = largest upper value over ALL policies."""
    if state.tally[UNBOUNDED] == 0:
        backward(graph, state.upper, state.everything, state.top)
    else:
        backward_counted(graph, state.upper, state.everything, state.infinite, 1, state.top, state.top_count)


@bare_kernel
def spreads(graph: Graph, state: State) -> None:
    """spread = largest sum of widths over active policies; twice spread[0] is the diameter."""
    if state.tally[FRESH_DIAMETER] == 1:
        return
    if state.tally[INFINITE] == 0:
        backward(graph, state.width, state.passable, state.spread)
    else:
        backward_counted(graph, state.width, state.passable, state.infinite, 1, state.spread, state.spread_count)
    state.tally[FRESH_DIAMETER] = 1


@bare_kernel
def follow(
    graph: Graph, plan: Plan, state: State, weight: FloatArray, value: FloatArray, count: IntArray, path: IntArray
) -> None:
    """Walk an active policy of largest value."""
    if state.tally[INFINITE] == 0:
        walk_plain(graph, weight, state.passable, value, state.visits, plan.least_played, path)
    else:
        walk_counted(
            graph, weight, state.passable, state.infinite, 1, value, count, state.visits, plan.least_played, path
        )
