"""Optimistic recommendation: line 10 of Algorithm 1, the active policy of largest upper value. Ties: lowest arc."""

from __future__ import annotations

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.lexicographic import walk_counted, walk_plain
from surepath.engine.state import INFINITE, Plan, State
from surepath.engine.views import upper_values


@bare_kernel
def recommend(graph: Graph, plan: Plan, state: State) -> None:
    """Write the recommended path into state.advice."""
    upper_values(graph, state)
    if state.tally[INFINITE] == 0:
        walk_plain(graph, state.upper, state.passable, state.best, state.visits, 0, state.advice)
    else:
        walk_counted(
            graph,
            state.upper,
            state.passable,
            state.infinite,
            1,
            state.best,
            state.best_count,
            state.visits,
            0,
            state.advice,
        )
