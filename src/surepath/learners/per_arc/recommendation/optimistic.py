"""Optimistic recommendation: line 10 of Algorithm 1, the active policy of largest upper value. Ties: lowest arc."""

from __future__ import annotations

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import walk_best
from surepath.learners.per_arc.state import Rules, State


@inner_kernel
def recommend(graph: Layers, rules: Rules, state: State) -> None:
    """Write the recommended path into the row ADVICE."""
    walk_best(graph, rules, state, state.path[at.ADVICE])
