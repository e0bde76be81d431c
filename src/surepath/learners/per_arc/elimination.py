"""Elimination rules and their schedules: which arcs can no longer be on a best path, and when they are judged."""

from __future__ import annotations

import numpy as np

from surepath._checks import FloatArray
from surepath.kernels.jit import folded_kernel, hot_kernel, inner_kernel
from surepath.kernels.sweeps import Layers
from surepath.learners.per_arc import bounds as at
from surepath.learners.per_arc.bounds import (
    HALF_BIG,
    Rules,
    State,
    best_values,
    floor_values,
    safe_best,
    safe_floor,
    safe_upper,
    width_of,
)

# Slack ----------------------------------------------------------------------------------------------------------------
# Prove by bookkeeping that the return rule can eliminate nothing, which saves the passes of most episodes.
#
# When all arcs have been judged and none was removed, each cleared its threshold by at least some slack. A path's
# upper value is a sum over the stages, so since then it has fallen by at most the sum over the stages of the largest
# fall of an arc's upper bound there; a lower value has risen by at most the like sum of rises. While the two sums
# together (USED) stay below the slack, judging again would remove nothing, so it need not be done. The decisions are
# those of judging in every episode, bit for bit: a guard far above the rounding of the sums keeps close calls out.


@hot_kernel
def note(state: State, h: int, e: np.uint64, top: float, lower: float) -> None:
    """Account for the new bounds of arc e at stage h."""
    stage, real = state.stage, state.real
    fall = state.arc[at.TOP_SEEN, e] - top - stage[at.FALLEN, h]
    if fall > 0.0:
        stage[at.FALLEN, h] += fall
        real[at.USED] += fall
    rise = lower - state.arc[at.LOWER_SEEN, e] - stage[at.RISEN, h]
    if rise > 0.0:
        stage[at.RISEN, h] += rise
        real[at.USED] += rise
        real[at.LIFTED] += rise


@folded_kernel
def is_idle(real: FloatArray) -> bool:
    """Return whether judging by the return rule would remove nothing."""
    return bool(real[at.USED] + real[at.GUARD] < real[at.RETURN_SLACK])


@inner_kernel
def start_over(state: State) -> None:
    """Measure from the bounds as they are now; what the return rule has left of its slack is carried over."""
    arc, stage, real = state.arc, state.stage, state.real
    real[at.RETURN_SLACK] -= real[at.USED]
    real[at.FLOOR_SEEN] += real[at.LIFTED]
    real[at.USED] = 0.0
    real[at.LIFTED] = 0.0
    largest = 0.0
    for e in range(arc.shape[1]):
        arc[at.TOP_SEEN, e] = arc[at.TOP, e]
        arc[at.LOWER_SEEN, e] = arc[at.LOWER, e]
        if abs(arc[at.TOP, e]) < HALF_BIG:
            largest = max(largest, abs(arc[at.TOP, e]), abs(arc[at.LOWER, e]))
    for h in range(stage.shape[1]):
        stage[at.FALLEN, h] = 0.0
        stage[at.RISEN, h] = 0.0
    real[at.GUARD] = (1e-12 + 2.0**-48 * stage.shape[1]) * largest * stage.shape[1]


# Remove ---------------------------------------------------------------------------------------------------------------


@inner_kernel
def remove(rules: Rules, state: State, node: int, e: int) -> int:
    """Make arc e of this node inactive and return 1; 0 where the authors' code keeps it, the last of its state."""
    degree, tally = state.degree, state.tally
    if rules.authors == 1 and degree[node] == 1:
        return 0
    state.flag[at.ACTIVE, e] = False
    degree[node] -= 1
    if degree[node] == 1:
        tally[at.CROWDED] -= 1
    tally[at.N_ACTIVE] -= 1
    tally[at.FRESH_CLEAR] = 0
    if not state.flag[at.IS_KNOWN, e]:
        if state.number[at.VISITS, e] < tally[at.PERIOD]:
            tally[at.LOW] -= 1
        if state.number[at.VISITS, e] == 0:
            tally[at.UNSEEN_ACTIVE] -= 1
    if state.number[at.INFINITE, e] > 0:
        state.number[at.INFINITE, e] = 1
    return 1


@inner_kernel
def refresh_passable(graph: Layers, rules: Rules, state: State) -> None:
    """Find the PASSABLE arcs, on a path of some active policy: active ones, or all of a state where none is active."""
    first, target, reached = graph.first, graph.target, state.node[at.SCRATCH]
    arc, nodes, infinite = state.arc, len(first) - 1, 0
    for i in range(1, nodes + 1):
        reached[i] = 0.0
    reached[0] = 1.0
    for i in range(nodes):
        for e in range(first[i], first[i + 1]):
            ok = reached[i] == 1.0 and (state.flag[at.ACTIVE, e] or state.degree[i] == 0)
            if ok:
                reached[target[e]] = 1.0
            if state.flag[at.PASSABLE, e] and not ok:
                arc[at.WIDTH, e] = -np.inf
                arc[at.UPPER, e] = -np.inf
            elif ok and not state.flag[at.PASSABLE, e]:
                arc[at.UPPER, e] = arc[at.TOP, e]
                arc[at.WIDTH, e] = width_of(rules, state, e)
            state.flag[at.PASSABLE, e] = ok
            if ok and state.number[at.INFINITE, e] > 0:
                infinite += 1
    state.tally[at.PASSABLE_INFINITE] = infinite
    state.tally[at.FRESH_BEST] = 0
    state.tally[at.FRESH_SPREAD] = 0
    state.real[at.SPREAD_LEFT] = -np.inf


# Value gap ------------------------------------------------------------------------------------------------------------
# Value-based rule of the experiment appendix.
#
# An arc (s, a) is eliminated when its optimal upper value is below the optimal lower value of its state,
#
#     Qbar_h^{t-1,*}(s, a)  <  Vlow_h^{t-1,*}(s),
#
# both over ALL actions and with the quantities of the previous episode: `mark` is called before the statistics of
# episode t come in, `eliminate` after. A tie stays, and a difference that rounding can make counts as a tie
# (learners/per_arc/bounds.py). While all widths hold, no arc of an optimal path is eliminated.


@inner_kernel
def survey(graph: Layers, state: State) -> bool:
    """Compute HIGHEST and FLOOR over all policies in one pass; return whether every active arc clears its state.

    The arc of least upper value decides for its state, so arcs need not be judged one by one.
    """
    if state.tally[at.FRESH_CLEAR] == 0:
        top, lower, active = state.arc[at.TOP], state.arc[at.LOWER], state.flag[at.ACTIVE]
        highest, lowest = state.node[at.HIGHEST], state.node[at.FLOOR]
        first, target = graph.first, graph.target
        i, one, slack = np.uint64(len(first) - 1), np.uint64(1), np.inf
        highest[i] = 0.0
        lowest[i] = 0.0
        stop = np.uint64(first[i])
        while i > np.uint64(0):
            i -= one
            start = np.uint64(first[i])
            best, floor, least = -np.inf, -np.inf, np.inf
            for e in range(start, stop):
                j = target[e]
                value = top[e] + highest[j]
                best = max(best, value)
                floor = max(floor, lower[e] + lowest[j])
                least = min(least, value if active[e] else np.inf)
            highest[i] = best
            lowest[i] = floor
            slack = min(slack, least - floor)
            stop = start
        state.real[at.CLEAR] = slack
        state.tally[at.FRESH_CLEAR] = 1
        state.tally[at.FRESH_FLOOR] = 1
    return bool(state.real[at.CLEAR] >= 0.0)


@inner_kernel
def eliminate_by_value(graph: Layers, rules: Rules, state: State) -> int:
    """Eliminate the arcs that `mark` has marked; return how many."""
    removed = 0
    for i in range(len(graph.first) - 1):
        for e in range(graph.first[i], graph.first[i + 1]):
            if state.flag[at.MARKED, e] and state.flag[at.ACTIVE, e]:
                removed += remove(rules, state, i, e)
            state.flag[at.MARKED, e] = False
    return removed


# Return gap -----------------------------------------------------------------------------------------------------------
# Return-gap rule: line 7 of Algorithm 1.
#
# An active arc stays iff the largest upper value of an active policy through it is at least the largest lower value of
# any policy,
#
#     max over Pi_{s,a,h} and Pi^{t-1} of Vbar_1^{t,pi}  >=  max over Pi of Vlow_1^{t,pi};
#
# a tie stays, a difference that rounding can make counts as a tie (`../rounding.py`), and where no active policy
# passes, the arc is eliminated. All arcs are judged on Pi^{t-1} at once. The paper does one dynamic program per arc,
# O(N^2); here the best to come and the best so far come from one backward and one forward pass, and the value through
# arc e is reach[source] + upper[e] + best[target], O(N) for all arcs. While all widths hold, no arc of an optimal
# path is eliminated.


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
def eliminate_by_return(graph: Layers, rules: Rules, state: State) -> int:
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
    start_over(state)
    state.real[at.RETURN_SLACK] = slack if removed == 0 else -1.0
    return removed


# Elimination ----------------------------------------------------------------------------------------------------------

ELIMINATION = ("return", "value", "both", "none")
SCHEDULES = ("every-episode", "every-sa", "end-of-period")
EVERY_EPISODE, EVERY_SA = range(2)  # places in SCHEDULES; kernels take any other for the end of a period


@inner_kernel
def ends_period(state: State) -> bool:
    """Return whether the path about to be taken in brings the last active arc to k visits."""
    low = state.tally[at.LOW]
    for h in range(state.path.shape[1]):
        e = state.path[at.PATH, h]
        reaches = state.number[at.VISITS, e] + 1 == state.tally[at.PERIOD]
        if reaches and state.flag[at.ACTIVE, e] and not state.flag[at.IS_KNOWN, e]:
            low -= 1
    return bool(low == 0)


@hot_kernel
def is_due(rules: Rules, state: State) -> bool:
    """Return whether eliminations follow this episode, which is counted but not taken in yet."""
    if rules.schedule == EVERY_EPISODE:
        due = True
    elif rules.schedule == EVERY_SA:
        due = state.tally[at.EPISODES] % rules.every == 0
    else:
        due = ends_period(state)
    return bool(due)


@folded_kernel
def mark(graph: Layers, rules: Rules, state: State) -> bool:
    """Mark the arcs that the value rule rules out by the statistics before this episode; return whether it may."""
    if rules.by_value == 0 or survey(graph, state):
        return False
    best, floor, top = state.node[at.SCRATCH], state.node[at.SCRATCH_TIE], state.arc[at.TOP]
    safe_best(graph, state, top, best)
    safe_floor(graph, state, floor)
    for i in range(len(graph.first) - 1):
        for e in range(graph.first[i], graph.first[i + 1]):
            value = safe_upper(state, e, top[e]) + best[graph.target[e]]
            state.flag[at.MARKED, e] = state.flag[at.ACTIVE, e] and value < floor[i]
    return True


@folded_kernel
def eliminate(graph: Layers, rules: Rules, state: State, marked: bool | np.bool_, judging: bool | np.bool_) -> None:
    """Eliminate what is marked, and what the return rule rules out; both judge the active policies of before.

    Without `judging`, for a rule written in Python, the marked arcs alone are taken out, at once.
    """
    if judging and rules.authors == 1 and state.tally[at.UNSEEN_ACTIVE] > 0:
        return
    removed = 0
    for by_return in range(2):
        if by_return == 0:
            if marked:
                removed += eliminate_by_value(graph, rules, state)
            if rules.authors == 0:
                continue  # both rules first, then what follows from them
        elif judging and rules.by_return == 1 and not is_idle(state.real):
            removed += eliminate_by_return(graph, rules, state)
        if removed > 0:
            refresh_passable(graph, rules, state)
            state.real[at.RETURN_SLACK] = -1.0  # whatever was measured held for the policies before
