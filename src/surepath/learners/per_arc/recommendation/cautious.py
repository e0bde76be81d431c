"""Cautious recommendation: greedy on the lower values over ALL policies; BPI-UCRL, and EPRL as the authors ran it.

A path with an unvisited arc has lower value -infinity: the fewest such arcs first, then the finite part. Ties: lowest
arc.
"""

from __future__ import annotations

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.counted_sweeps import backward_counted, walk_counted
from surepath.learners.per_arc.state import Rules, State


@inner_kernel
def recommend(graph: Layers, rules: Rules, state: State) -> None:
    """Write the recommended path into the row ADVICE."""
    lower, rest = state.arc[at.LOWER], state.arc[at.BASE]
    infinite, visits = state.number[at.INFINITE], state.number[at.VISITS]
    value, count = state.node[at.SCRATCH], state.node[at.SCRATCH_TIE]
    backward_counted(graph, lower, infinite, rest, -1.0, value, count)
    walk_counted(graph, lower, infinite, rest, -1.0, value, count, visits, rules.least_played, state.path[at.ADVICE])
