"""Recommendation rules: which path to stand by. `certified_gap` dispatches on the rule's number."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.recommendation import cautious, optimistic
from surepath.learners.per_arc.rounding import safe_best, safe_lower
from surepath.learners.per_arc.state import HALF_BIG, Rules, State

RECOMMENDATION = ("optimistic", "cautious")
RECOMMEND_OPTIMISTIC, RECOMMEND_CAUTIOUS = range(2)

_optimistic, _cautious = optimistic.recommend, cautious.recommend


@inner_kernel
def certified_gap(graph: Layers, rules: Rules, state: State) -> float:
    """Largest upper value over active policies minus the lower value of the recommended path, left in ADVICE.

    While all widths hold the best path is active, so its value is at most the first and the recommended one's at
    least the second: the bound is valid at all times at once, rounding included. Where every state has at most one
    active action, what they make is the best path and the gap is 0; the cautious rule, which looks at all policies,
    then gives way (but for the authors' settings, in which the last action of a state stays and proves nothing).
    """
    single = rules.single == 1 and state.tally[at.CROWDED] == 0
    if rules.recommendation == RECOMMEND_OPTIMISTIC or (single and rules.keep_last == 0):
        _optimistic(graph, rules, state)
        if single:
            return 0.0
    else:
        _cautious(graph, rules, state)
    best = state.node[at.SCRATCH]
    safe_best(graph, state, state.arc[at.UPPER], best)
    if best[0] > HALF_BIG:
        return np.inf
    floor = 0.0
    for h in range(state.path.shape[1]):
        floor += safe_lower(state, state.path[at.ADVICE, h])
    gap = best[0] - floor
    if gap <= 0.0:
        return 0.0
    return float(gap) if gap > 0.0 else np.inf  # what is no number proves nothing
