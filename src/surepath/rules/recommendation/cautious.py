"""Cautious recommendation: greedy on the lower values over ALL policies; BPI-UCRL, and EPRL as the authors ran it.

A path with an unvisited arc has lower value -infinity: the fewest such arcs first, then the finite part. Ties: lowest
arc.
"""

from __future__ import annotations

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.lexicographic import backward_counted, walk_counted
from surepath.engine.state import Plan, State


@bare_kernel
def recommend(graph: Graph, plan: Plan, state: State) -> None:
    """Write the recommended path into state.advice."""
    value, count = state.scratch, state.scratch_count
    backward_counted(graph, state.lower, state.everything, state.infinite, -1, value, count)
    walk_counted(graph, state.lower, state.everything, state.infinite, -1, value, count, state.visits, 0, state.advice)
