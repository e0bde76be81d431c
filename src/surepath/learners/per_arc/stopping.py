"""Stopping rules: when the answer is good enough. `is_close` dispatches on the rule's number."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import floor_values, refresh_values
from surepath.learners.per_arc.elimination.slack import start_over
from surepath.learners.per_arc.state import Rules, State
from surepath.learners.per_arc.walks import HIGHEST, walk_counting

STOPPING = ("diameter", "optimal-gap")
DIAMETER, OPTIMAL_GAP = range(2)


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
    """Compare with epsilon; under the `experiment` preset what equals it is not small enough."""
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
    """Tell whether all that is left to tell apart is rounding, with epsilon 0; writes over the row PATH.

    That is so when the active policy of largest upper value has no width (known rewards, sigma 0): no further trial
    can say more of it. Asked only when no passable arc has infinite width.
    """
    walk_counting(graph, rules, state, np.int64(HIGHEST), np.int64(at.PATH))
    exact = True
    for h in range(state.path.shape[1]):
        exact &= state.arc[at.WIDTH, np.uint64(state.path[at.PATH, h])] == 0.0
    return exact
