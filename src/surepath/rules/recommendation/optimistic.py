"""Optimistic recommendation: line 10 of Algorithm 1, the active policy of largest upper value. Ties: lowest arc."""

from __future__ import annotations

from surepath.engine._jit import inner_kernel
from surepath.engine.arrays import Layers
from surepath.engine.state import ADVICE, Plan, State
from surepath.engine.views import walk_best


@inner_kernel
def recommend(graph: Layers, plan: Plan, state: State) -> None:
    """Write the recommended path into the row ADVICE."""
    walk_best(graph, plan, state, state.path[ADVICE])
