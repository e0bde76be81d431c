"""Stopping and recommendation rules: when the answer is good enough, and which path it is.

Stopping rules are functions here, and `is_close` dispatches on the rule's number. Recommendation rules:

optimistic   line 10 of Algorithm 1: the active policy of largest upper value.
cautious     greedy on the lower values over ALL policies; BPI-UCRL, and EPRL as the authors ran it. A path with an
             unvisited arc has lower value -infinity: the fewest such arcs first, then the finite part.

Ties of a recommendation: lowest arc (least played action under the `experiment` preset).
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import BY_LOWER, BY_UPPER, floor_values, refresh_values, walk_counting
from surepath.learners.per_arc.elimination.slack import start_over
from surepath.learners.per_arc.rounding import safe_best, safe_lower
from surepath.learners.per_arc.state import HALF_BIG, Rules, State

DIAMETER, OPTIMAL_GAP = range(2)
RECOMMENDATION = ("optimistic", "cautious")
RECOMMEND_OPTIMISTIC, RECOMMEND_CAUTIOUS = range(2)


@folded_kernel
def diameter(state: State) -> float:
    """Return the largest confidence interval of an active policy; SPREAD is up to date. Line 9 of Algorithm 1.

        max over Pi^t of 2 sum_h b_h^t(s_h, a_h)  <=  epsilon

    stops (below it, under the `experiment` preset). Infinite while an active policy passes an unvisited arc.
    """
    return float(2.0 * state.node[at.SPREAD, 0])


@folded_kernel
def optimal_gap(graph: Layers, state: State, epsilon: float) -> float:
    """Return how far apart the optimal values are, or infinity where that is above epsilon for sure: BPI-UCRL's rule.

        Vbar_1^{t,*}(s_1) - Vlow_1^{t,*}(s_1)  <=  epsilon

    stops, with the upper value over active policies (all of them when nothing is eliminated) and the lower value over
    all. BEST is up to date; the pass for the lower value is left out while it cannot have risen far enough (see
    elimination/slack.py).
    """
    real, best = state.real, state.node[at.BEST, 0]
    if best - real[at.FLOOR_SEEN] - real[at.LIFTED] > epsilon + real[at.GUARD]:
        return np.inf
    floor_values(graph, state)
    start_over(state.arc, state.stage, real)
    real[at.FLOOR_SEEN] = state.node[at.FLOOR, 0]
    return float(best - state.node[at.FLOOR, 0])


@folded_kernel
def is_within(rules: Rules, size: float, epsilon: float) -> bool:
    """Return whether a size is within epsilon; under the `experiment` preset what equals it is not."""
    return bool(size < epsilon or (size == epsilon and rules.strict == 0))


@folded_kernel
def is_close(graph: Layers, rules: Rules, state: State, epsilon: float, full: int | None) -> bool:
    """Test the stopping rule on bounds as they come out: line 9 of Algorithm 1 after an episode, first half.

    False while a passable arc has infinite width: it lies on some active policy's path.
    """
    if state.tally[at.CHECKED] == 0 or state.tally[at.PASSABLE_INFINITE] > 0:
        return False
    fresh, weight, value = at.FRESH_SPREAD, at.WIDTH, at.SPREAD
    if rules.stopping == OPTIMAL_GAP:
        fresh, weight, value = at.FRESH_BEST, at.UPPER, at.BEST
    refresh_values(graph, state, np.int64(fresh), np.int64(weight), np.int64(value))
    size = diameter(state)
    if full is not None and rules.stopping == OPTIMAL_GAP:
        size = optimal_gap(graph, state, epsilon)
    return is_within(rules, size, epsilon)


@folded_kernel
def is_exact(graph: Layers, rules: Rules, state: State) -> bool:
    """Return whether all that is left to tell apart is rounding, with epsilon 0; write over the row PATH.

    That is so when the active policy of largest upper value has no width (known rewards, sigma 0): no further episode
    can say more of it. Asked only when no passable arc has infinite width.
    """
    walk_counting(graph, rules, state, np.int64(BY_UPPER), np.int64(at.PATH))
    exact = True
    for h in range(state.path.shape[1]):
        exact &= state.arc[at.WIDTH, np.uint64(state.path[at.PATH, h])] == 0.0
    return exact


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
    walk_counting(graph, rules, state, np.int64(BY_UPPER if optimistic else BY_LOWER), np.int64(at.ADVICE))
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
