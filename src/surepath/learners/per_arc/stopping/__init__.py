"""Stopping rules: when the answer is good enough. `verdict` dispatches on the rule's number."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import hot_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import walk_best
from surepath.learners.per_arc.recommendation import certified_gap
from surepath.learners.per_arc.state import Rules, State
from surepath.learners.per_arc.stopping import diameter, optimal_gap
from surepath.learners.record import GAP, GO_ON, SINGLE

STOPPING = ("diameter", "optimal-gap")
DIAMETER, OPTIMAL_GAP = range(2)

_diameter, _optimal = diameter.gap, optimal_gap.gap


@inner_kernel
def is_proven(graph: Layers, rules: Rules, state: State, epsilon: float) -> bool:
    """Whether the answer is within epsilon with rounding allowed for, or all that is left to tell apart is rounding.

    The latter with epsilon 0, when the active policy of largest upper value has no width (known rewards, sigma 0): no
    further trial can say more of it.
    """
    gap = certified_gap(graph, rules, state)
    if gap < epsilon or (gap == epsilon and rules.strict == 0):
        return True
    if not gap < np.inf or epsilon > 0.0:
        return False
    walk_best(graph, rules, state, state.path[at.ADVICE])
    exact = True
    for h in range(state.path.shape[1]):
        exact &= state.arc[at.WIDTH, state.path[at.ADVICE, h]] == 0.0
    return exact


@hot_kernel
def verdict(graph: Layers, rules: Rules, state: State, epsilon: float) -> int:
    """Line 9 of Algorithm 1 after an episode: GAP, SINGLE (one action at most in every state) or GO_ON."""
    if state.tally[at.CHECKED] == 0:
        return GO_ON
    if rules.stopping == DIAMETER:
        size = _diameter(graph, state, epsilon)
    else:
        size = _optimal(graph, state, epsilon)
    if (size < epsilon or (size == epsilon and rules.strict == 0)) and is_proven(graph, rules, state, epsilon):
        return GAP
    if rules.single == 1 and state.tally[at.CROWDED] == 0:
        return SINGLE
    return GO_ON
