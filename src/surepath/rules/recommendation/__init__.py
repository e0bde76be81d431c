"""Recommendation rules: which path to stand by. `recommend` dispatches on the plan's number."""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import INFINITE, Plan, State
from surepath.engine.views import upper_values
from surepath.rules.recommendation import cautious, optimistic

RECOMMENDATION = ("optimistic", "cautious")
OPTIMISTIC, CAUTIOUS = range(2)

_optimistic, _cautious = optimistic.recommend, cautious.recommend


@bare_kernel
def recommend(graph: Graph, plan: Plan, state: State) -> None:
    """Write the recommended path into state.advice."""
    if plan.recommendation == OPTIMISTIC:
        _optimistic(graph, plan, state)
    else:
        _cautious(graph, plan, state)


@bare_kernel
def certified_gap(graph: Graph, plan: Plan, state: State) -> float:
    """Largest upper value over active policies minus the lower value of the recommended path; leaves it in advice.

    While all widths hold the best path is active, so its value is at most the first and the recommended one's at
    least the second: the bound is valid at all times at once.
    """
    recommend(graph, plan, state)
    upper_values(graph, state)
    if state.tally[INFINITE] > 0 and state.best_count[0] > 0:
        return np.inf
    floor = 0.0
    for e in state.advice:
        if not state.finite[e]:
            return np.inf
        floor += state.lower[e]
    return float(max(0.0, state.best[0] - floor))
