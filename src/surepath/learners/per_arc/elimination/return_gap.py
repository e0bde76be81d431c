"""Return-gap rule: line 7 of Algorithm 1.

An active arc stays iff the largest upper value of an active policy through it is at least the largest lower value of
any policy,

    max over Pi_{s,a,h} and Pi^{t-1} of Vbar_1^{t,pi}  >=  max over Pi of Vlow_1^{t,pi};

a tie stays, a difference that rounding can make counts as a tie (`../rounding.py`), and where no active policy passes,
the arc is eliminated. All arcs are judged on Pi^{t-1} at once. The paper does one dynamic program per arc, O(N^2); here
the best to come and the best so far come from one backward and one forward pass, and the value through arc e is
reach[source] + upper[e] + best[target], O(N) for all arcs. While all widths hold, no arc of an optimal path is
eliminated.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import best_values, floor_values
from surepath.learners.per_arc.elimination.remove import remove
from surepath.learners.per_arc.elimination.slack import measure
from surepath.learners.per_arc.rounding import safe_best, safe_floor, safe_upper
from surepath.learners.per_arc.state import Rules, State


@folded_kernel
def judge(graph: Layers, rules: Rules, state: State) -> tuple[int, float]:
    """Eliminate what the return rule rules out in spite of rounding; return how many, and the least slack of the rest.

    The same passes again, with safe bounds.
    """
    upper, active = state.arc[at.UPPER], state.flag[at.ACTIVE]
    reach, best = state.node[at.FROM_START], state.node[at.SCRATCH]
    first, target = graph.first, graph.target
    safe_floor(graph, state, best)
    floor = best[0]
    safe_best(graph, state, upper, best)
    for i in range(1, len(first)):
        reach[i] = -np.inf
    reach[0] = 0.0
    removed, slack = 0, np.inf
    for i in range(len(first) - 1):
        for e in range(first[i], first[i + 1]):
            j = target[e]
            so_far = reach[i] + safe_upper(state, e, upper[e])
            reach[j] = max(reach[j], so_far)
            if active[e]:
                through = so_far + best[j]
                if through < floor or through == -np.inf:
                    removed += remove(rules, state, i, e)
                else:
                    slack = min(slack, through - floor)
    return removed, slack


@inner_kernel
def eliminate(graph: Layers, rules: Rules, state: State) -> int:
    """Eliminate what the return rule rules out; return how many arcs."""
    floor_values(graph, state)
    best_values(graph, state)
    upper, active = state.arc[at.UPPER], state.flag[at.ACTIVE]
    reach, best = state.node[at.FROM_START], state.node[at.BEST]
    first, target = graph.first, graph.target
    for i in range(1, len(first)):
        reach[i] = -np.inf
    reach[0] = 0.0
    least, start = np.inf, np.uint64(0)
    for i in range(len(first) - 1):  # the forward pass; what reaches node i is final when its turn comes
        here, stop = reach[i], np.uint64(first[i + 1])
        for e in range(start, stop):
            j = target[e]
            so_far = here + upper[e]
            reach[j] = max(reach[j], so_far)
            least = min(least, so_far + best[j] if active[e] else np.inf)
        start = stop
    floor, removed = state.node[at.FLOOR, 0], 0
    slack = least - floor
    if least < floor or least == -np.inf:
        removed, slack = judge(graph, rules, state)
    measured = measure(state)
    state.real[at.RETURN_SLACK] = slack if measured and removed == 0 else -1.0
    return removed
