"""Stopping rules: when the answer is good enough. `verdict` dispatches on the plan's number."""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import inner_kernel
from surepath.engine.arrays import Layers
from surepath.engine.state import ADVICE, CHECKED, CROWDED, WIDTH, Plan, State
from surepath.engine.views import walk_best
from surepath.rules.recommendation import certified_gap
from surepath.rules.stopping import diameter, optimal_gap

STOPPING = ("diameter", "optimal-gap")
DIAMETER, OPTIMAL_GAP = range(2)

# Verdicts, as in learners.base.STOP_REASONS; GO_ON is not one of them.
GO_ON, BUDGET, GAP, SINGLE = range(-1, 3)

_diameter, _optimal = diameter.gap, optimal_gap.gap


@inner_kernel
def is_proven(graph: Layers, plan: Plan, state: State, epsilon: float) -> bool:
    """Whether the answer is within epsilon with rounding allowed for, or all that is left to tell apart is rounding.

    The latter when the active policy of largest upper value has no width (known rewards, sigma 0): no further trial
    can say more of it.
    """
    gap = certified_gap(graph, plan, state)
    if gap < epsilon or (gap == epsilon and plan.strict == 0):
        return True
    if not gap < np.inf:
        return False
    walk_best(graph, plan, state, state.path[ADVICE])
    exact = True
    for h in range(state.path.shape[1]):
        exact &= state.arc[WIDTH, state.path[ADVICE, h]] == 0.0
    return exact


@inner_kernel
def verdict(graph: Layers, plan: Plan, state: State, epsilon: float) -> int:
    """Line 9 of Algorithm 1 after an episode: GAP, SINGLE (one action at most in every state) or GO_ON."""
    if state.tally[CHECKED] == 0:
        return GO_ON
    if plan.stopping == DIAMETER:
        size = _diameter(graph, state, epsilon)
    else:
        size = _optimal(graph, state, epsilon)
    if (size < epsilon or (size == epsilon and plan.strict == 0)) and is_proven(graph, plan, state, epsilon):
        return GAP
    if plan.single == 1 and state.tally[CROWDED] == 0:
        return SINGLE
    return GO_ON
