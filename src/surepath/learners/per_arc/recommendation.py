"""Recommendation rules: which path to recommend, and how far from the best it can be.

optimistic   line 10 of Algorithm 1: the active policy of largest upper value.
cautious     greedy on the lower values over ALL policies; BPI-UCRL, and EPRL as the authors ran it. A path with an
             unvisited arc has lower value -infinity: the fewest such arcs first, then the finite part.

Ties: lowest arc (least played action under the `experiment` preset).
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.rounding import safe_best, safe_lower
from surepath.learners.per_arc.state import HALF_BIG, Rules, State
from surepath.learners.per_arc.walks import HIGHEST, SAFEST, walk_counting

RECOMMENDATION = ("optimistic", "cautious")
RECOMMEND_OPTIMISTIC, RECOMMEND_CAUTIOUS = range(2)


@inner_kernel
def certified_gap(graph: Layers, rules: Rules, state: State) -> float:
    """Write the recommended path into ADVICE; return the largest upper value over active policies less its lower one.

    While all widths hold the best path is active, so its value is at most the first and the recommended one's at
    least the second: the bound is valid at all times at once, rounding included. Where every state has at most one
    active action, what they make is the best path and the gap is 0; the cautious rule, which considers all policies,
    then gives way (but for the authors' settings, in which the last action of a state stays and proves nothing).
    """
    single = rules.single == 1 and state.tally[at.CROWDED] == 0
    optimistic = rules.recommendation == RECOMMEND_OPTIMISTIC or (single and rules.keep_last == 0)
    walk_counting(graph, rules, state, np.int64(HIGHEST if optimistic else SAFEST), np.int64(at.ADVICE))
    if optimistic and single:
        return 0.0
    best = state.node[at.SCRATCH]
    safe_best(graph, state, state.arc[at.UPPER], best)
    if best[0] > HALF_BIG:
        return np.inf
    floor = 0.0
    for h in range(state.path.shape[1]):
        floor += safe_lower(state, np.uint64(state.path[at.ADVICE, h]))
    gap = best[0] - floor
    if gap <= 0.0:
        return 0.0
    return float(gap) if gap > 0.0 else np.inf  # what is no number proves nothing
