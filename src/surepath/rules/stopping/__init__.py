"""Stopping rules: when the answer is good enough. `gap` dispatches on the plan's number."""

from __future__ import annotations

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import Plan, State
from surepath.rules.stopping import diameter, optimal_gap

STOPPING = ("diameter", "optimal-gap")
DIAMETER, OPTIMAL_GAP = range(2)

_diameter, _optimal = diameter.gap, optimal_gap.gap


@bare_kernel
def gap(graph: Graph, plan: Plan, state: State) -> float:
    """What the rule compares with epsilon."""
    if plan.stopping == DIAMETER:
        return _diameter(graph, plan, state)
    return _optimal(graph, plan, state)
