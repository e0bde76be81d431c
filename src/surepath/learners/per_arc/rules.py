"""Sampling and stopping rules of the paper's learners: which path to play, and when to end."""

from __future__ import annotations

import numpy as np

from surepath.kernels.flow import minimum_flow
from surepath.kernels.jit import Whole, folded_kernel, inner_kernel, kernel
from surepath.kernels.sweeps import Graph, Layers
from surepath.learners.per_arc import bounds as at
from surepath.learners.per_arc.bounds import (
    BY_LOWER,
    BY_UPPER,
    BY_WIDTH,
    HALF_BIG,
    Rules,
    State,
    floor_values,
    refresh_values,
    safe_best,
    safe_lower,
    walk,
    walk_counting,
)
from surepath.learners.per_arc.elimination import start_over

# Covers ---------------------------------------------------------------------------------------------------------------
# Paths that cover undersampled arcs: arcs of an unknown reward with fewer visits than the period asks for.
#
# `cover` finds one path through as many of them as possible. `renew_cover` finds the fewest paths through all of
# them, a minimum flow, and `follow_cover` takes these paths one by one. Ties: lowest arc.


@folded_kernel
def lacks(state: State, judged: Whole, e: int) -> float:
    """Return 1 where arc e is undersampled, judged on this row of flags."""
    low = state.number[at.VISITS, e] < state.tally[at.PERIOD]
    return 1.0 if low and state.flag[judged, e] and not state.flag[at.IS_KNOWN, e] else 0.0


@folded_kernel
def cover(graph: Layers, state: State, judged: Whole) -> None:
    """Write a path with most undersampled arcs into the row PATH; `judged` is ACTIVE or STARTED."""
    first, target, value = graph.first, graph.target, state.node[at.SCRATCH]
    sink = len(first) - 1
    value[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            best = max(best, lacks(state, judged, e) + value[target[e]])
        value[i] = best
    node = np.uint32(0)
    for h in range(state.path.shape[1]):
        best, chosen = -np.inf, first[node]
        for e in range(first[node], first[node + 1]):
            x = lacks(state, judged, e) + value[target[e]]
            if x > best:
                best, chosen = x, e
        state.path[at.PATH, h] = chosen
        node = target[chosen]


@kernel
def renew_cover(graph: Graph, state: State) -> None:
    """Find the cover of the period that has just begun; called outside the loop of episodes, which asks for it."""
    state.tally[at.COVER_STALE] = 0
    n = len(graph.target)
    demand, cut = np.zeros(n, dtype=np.int64), np.zeros(len(graph.first) - 1, dtype=np.bool_)
    for e in range(n):
        low = state.number[at.VISITS, e] < state.tally[at.PERIOD]
        if low and state.flag[at.STARTED, e] and not state.flag[at.IS_KNOWN, e]:
            demand[e] = 1
    state.tally[at.COVER_LEFT] = minimum_flow(graph, demand, state.number[at.FLOW_LEFT], cut)


@inner_kernel
def follow_cover(graph: Layers, state: State, spend: bool | np.bool_) -> None:
    """Write the path along most flow into the row PATH; with `spend`, take it off the flow if PATH is that path."""
    left, node = state.number[at.FLOW_LEFT], np.uint32(0)
    for h in range(state.path.shape[1]):
        chosen = int(graph.first[node])
        for e in range(chosen + 1, int(graph.first[node + 1])):
            if left[e] > left[chosen]:
                chosen = e
        if spend and state.path[at.PATH, h] != chosen:
            return
        state.path[at.PATH, h] = chosen
        node = graph.target[chosen]
    if spend:
        for h in range(state.path.shape[1]):
            left[state.path[at.PATH, h]] -= 1
        state.tally[at.COVER_LEFT] -= 1


# Sampling -------------------------------------------------------------------------------------------------------------
# Sampling rules: which path to play next, with k_t = 1 + min of n^{t-1} over active arcs, the period of episode t; it
# never falls and may jump. Arcs with a known reward are never undersampled. Ties: lowest arc (least played action under
# the `experiment` preset, but for the coverage rules).
#
# max-coverage         the rule of Algorithm 1. Odd episodes: among ALL policies, the one that visits most undersampled
#                      arcs, argmax sum_h 1{ (s_h, a_h) active when period k_t began, n^{t-1}(s_h, a_h) < k_t }; even
#                      ones: max-diameter. Eliminated arcs may be played to cover faster.
# static-max-coverage  (appendix on algorithms) Odd episodes: when the period changes, every arc active then with fewer
#                      than k visits demands one visit; an integer minimum flow over the FULL graph meets the demands,
#                      and its paths, a smallest set of policies that visits them all, are played one by one. If the
#                      cover runs out while the period lasts, as above. Even ones: max-diameter.
# max-diameter         argmax over Pi^{t-1} of sum_h b_h^{t-1}(s_h, a_h). Unvisited arcs have infinite width: the path
#                      with most of them wins, then the finite part. Its value is half the diameter that the stop tests,
#                      so one backward pass serves both.
# coverage             in every episode, argmax over ALL policies of sum_h 1{ (s_h, a_h) active now, n^{t-1} < k_t }:
#                      how the authors ran max-coverage.
# optimistic           BPI-UCRL: pi_h(s) = argmax_a Qbar_h^{t-1}(s, a) over active policies, infinities as above. Under
#                      the `experiment` preset it plays on widths alone while some arc is unvisited.

SAMPLING_RULES = ("max-coverage", "static-max-coverage", "max-diameter", "coverage", "optimistic")
MAX_COVERAGE, STATIC_MAX_COVERAGE, MAX_DIAMETER, COVERAGE, OPTIMISTIC = range(5)


# What a rule can ask for: the active policy of largest diameter, or of largest upper value; a path with most
# undersampled arcs, judged on the arcs that were active when the period began or are active now; the next path of the
# period's cover.
WIDEST_PATH, HIGHEST_PATH, COVER_STARTED, COVER_ACTIVE, NEXT_OF_COVER = range(5)


@folded_kernel
def choose(graph: Layers, rules: Rules, state: State) -> None:
    """Write the path to play into the row PATH: the rule says which one is due, shared kernels find it.

    The episode about to be played is number EPISODES + 1.
    """
    turn, odd = WIDEST_PATH, state.tally[at.EPISODES] % 2 == 0
    if rules.sampling == MAX_COVERAGE:
        turn = COVER_STARTED if odd else WIDEST_PATH
    elif rules.sampling == COVERAGE:
        turn = COVER_ACTIVE
    elif rules.sampling == OPTIMISTIC:
        turn = WIDEST_PATH if rules.authors == 1 and state.tally[at.UNSEEN] > 0 else HIGHEST_PATH
    elif rules.sampling == STATIC_MAX_COVERAGE and odd:
        turn = NEXT_OF_COVER if state.tally[at.COVER_LEFT] > 0 else COVER_STARTED
    if turn in (COVER_STARTED, COVER_ACTIVE):
        cover(graph, state, np.int64(at.ACTIVE if turn == COVER_ACTIVE else at.STARTED))
    elif turn == NEXT_OF_COVER:
        follow_cover(graph, state, np.bool_(False))
    else:
        walk(graph, rules, state, np.int64(BY_UPPER if turn == HIGHEST_PATH else BY_WIDTH))


# Stopping -------------------------------------------------------------------------------------------------------------
# Stopping and recommendation rules: when the answer is good enough, and which path it is.
#
# Line 9 of Algorithm 1, first half: the largest confidence interval of an active policy,
# max over Pi^t of 2 sum_h b_h^t(s_h, a_h), is at most epsilon (below it, under the `experiment` preset). BPI-UCRL has
# `optimal_gap`. EPRL recommends the active policy of largest upper value (line 10). BPI-UCRL, and EPRL as the authors
# ran it, are greedy on the lower values over ALL policies; a path with an unvisited arc has lower value -infinity: the
# fewest such arcs first, then the finite part. Ties: lowest arc (least played action under the `experiment` preset).

DIAMETER, OPTIMAL_GAP = range(2)


@folded_kernel
def optimal_gap(graph: Layers, state: State, epsilon: float) -> float:
    """Return how far apart the optimal values are, or infinity where that is above epsilon for sure: BPI-UCRL's rule.

        Vbar_1^{t,*}(s_1) - Vlow_1^{t,*}(s_1)  <=  epsilon

    stops, with the upper value over active policies (all of them when nothing is eliminated) and the lower value over
    all. BEST is up to date; the pass for the lower value is left out while it cannot have risen far enough (see
    elimination.py).
    """
    real, best = state.real, state.node[at.BEST, 0]
    if best - real[at.FLOOR_SEEN] - real[at.LIFTED] > epsilon + real[at.GUARD]:
        return np.inf
    floor_values(graph, state)
    start_over(state)
    real[at.FLOOR_SEEN] = state.node[at.FLOOR, 0]
    return float(best - state.node[at.FLOOR, 0])


@folded_kernel
def is_within(rules: Rules, size: float, epsilon: float) -> bool:
    """Return whether a size is within epsilon; for EPRL under the `experiment` preset what equals it is not."""
    strict = rules.authors == 1 and rules.stopping == DIAMETER
    return bool(size < epsilon or (size == epsilon and not strict))


@folded_kernel
def is_close(graph: Layers, rules: Rules, state: State, epsilon: float) -> bool:
    """Test the stopping rule on bounds as they come out: line 9 of Algorithm 1 after an episode, first half.

    False while a passable arc has infinite width: it lies on some active policy's path.
    """
    if state.tally[at.CHECKED] == 0 or state.tally[at.PASSABLE_INFINITE] > 0:
        return False
    fresh, weight, value = at.FRESH_SPREAD, at.WIDTH, at.SPREAD
    if rules.stopping == OPTIMAL_GAP:
        fresh, weight, value = at.FRESH_BEST, at.UPPER, at.BEST
    elif 2.0 * state.real[at.SPREAD_LEFT] > epsilon:
        return False
    refresh_values(graph, state, np.int64(fresh), np.int64(weight), np.int64(value))
    size = 2.0 * state.node[at.SPREAD, 0]
    state.real[at.SPREAD_LEFT] = (1.0 - 1e-6) * state.node[at.SPREAD, 0]  # rounding of the differences included
    if rules.stopping == OPTIMAL_GAP:
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
    active action, what they make is the best path and the gap is 0 (but for the authors' settings, in which the last
    action of a state stays and proves nothing).
    """
    optimistic = rules.stopping == DIAMETER and rules.authors == 0
    walk_counting(graph, rules, state, np.int64(BY_UPPER if optimistic else BY_LOWER), np.int64(at.ADVICE))
    if optimistic and state.tally[at.CROWDED] == 0:
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
    return float(gap) if gap > 0.0 else np.inf  # NaN proves nothing
