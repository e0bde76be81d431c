"""Rules and state of a compiled learner, bounds per arc and the sweeps over them: values and diameters of paths.

Rules are numbers that never change, the state is arrays. Arrays of one shape are rows of one table, so that a state is
a dozen arrays and not thirty: kernels take less time to compile and to call. Rows and places have names, listed here
once and read as `at.ACTIVE` after `from surepath.learners.per_arc import bounds as at`. `new_state` is the only place
that builds the arrays. Everything is turned so that larger is better.

Infinities. An unvisited arc has width +infinity; in the tables it is written BIG, a power of two so large that finite
parts vanish beside it and so exact that sums of it count arcs. An arc that no active policy can use has weight -inf in
the rows WIDTH and UPPER. So +inf never occurs, and -inf + BIG is -inf: nothing can become NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.kernels.jit import Whole, folded_kernel, hot_kernel, inner_kernel
from surepath.kernels.sweeps import Layers
from surepath.learners.widths import UNIT, base_width, origin_of

BIG = 2.0**1000
HALF_BIG = 2.0**999

# Rows of State.arc, float [N_ARC, N].
SUMS, SIGMA, WIDTH, UPPER, LOWER, TOP, TOP_SEEN, LOWER_SEEN, ORIGIN, CENTRE, BASE = range(11)
N_ARC = 11
# SUMS: of gain - ORIGIN.  CENTRE: ORIGIN once visited, the gain where known.  BASE: CENTRE (0 where unvisited) less
# the reference of the stage: bounds are made of the mean BASE + SUMS / visits (see learners/per_arc/bounds.py).
# WIDTH and UPPER: -inf where no active policy passes.  TOP: the upper bound everywhere.  LOWER: -inf where unvisited.
# TOP_SEEN, LOWER_SEEN: TOP and LOWER when the arcs were last judged (see elimination.py).

# Rows of State.number, int [3, N].
VISITS, INFINITE, FLOW_LEFT = range(3)
# INFINITE: 0 where the width is finite; H + 1 on active arcs, 1 on others.  FLOW_LEFT: flow of the cover still to play.

# Rows of State.flag, bool [6, N].
IS_KNOWN, ACTIVE, PASSABLE, STARTED, MARKED, APART = range(6)
# PASSABLE: on a path of an active policy.  STARTED: active when the period began.  MARKED: to go by the value rule.
# APART: known, or with an origin or a base that is not 0.

# Rows of State.node, float [7, n_nodes + 1]: largest value from a node to the sink (FROM_START: from the start to it).
BEST, FROM_START, HIGHEST, FLOOR, SPREAD, SCRATCH, SCRATCH_TIE = range(7)
# BEST, FROM_START: upper, active policies.  HIGHEST: upper, all.  FLOOR: lower, all.  SPREAD: widths, active.
# SCRATCH is whatever the kernel at work needs; SCRATCH_TIE counts the infinities in it.


# Rows of State.path, int [2, H], and of State.stage, float [4, H].
PATH, ADVICE = range(2)
GAIN, FALLEN, RISEN, REFERENCE = range(4)
# FALLEN, RISEN: most that an upper bound fell, a lower bound rose since arcs were judged.
# REFERENCE: what bounds of the stage are relative to; infinite while there is nothing to refer to.

# Places in State.tally, int.
EPISODES = 0  # t, episodes absorbed
PERIOD = 1  # k of the current period; 0 before `set_up`, -1 when nobody needs it
LOW = 2  # active arcs to learn with fewer than k visits
UNSEEN = 3  # arcs to learn that were never visited
UNSEEN_ACTIVE = 4  # of these, the active ones
PASSABLE_INFINITE = 5  # passable arcs of infinite width
N_ACTIVE = 6  # active arcs
CROWDED = 7  # nodes with two active arcs or more
FRESH_FLOOR = 8  # 1 when the row FLOOR belongs to the current statistics
FRESH_BEST = 9
FRESH_SPREAD = 10
CHECKED = 11  # 1 when the stopping rule is due after this episode
COVER_LEFT = 12  # paths of this period's cover still to play
COVER_STALE = 13  # 1 when the period's cover is still to be found
SETTLED = 14  # how many epsilons are settled
LEFT_AHEAD = 15  # normal numbers drawn ahead and not used yet: the last so many of State.ahead
FRESH_CLEAR = 16  # 1 when HIGHEST and the place CLEAR belong to the current statistics and active sets
RUN_NUMBER = 17  # which run of the record is played, from 0
N_TALLY = 18

# Places in State.real, float.
USED = 0  # how far bounds can have closed in since arcs were judged
RETURN_SLACK = 1  # nothing can go by the return rule while USED stays below
CLEAR = 2  # least by which an active arc clears the lower value of its state
LIFTED = 3  # how far lower values can have risen since arcs were judged
FLOOR_SEEN = 4  # largest lower value then
GUARD = 5  # rounding allowance
SPREAD_LEFT = 6  # the row SPREAD of the start is larger for sure: its last value less what widths have fallen since
N_REAL = 7


# Values of Rules.periods. With an elimination rule written in Python a period ends after its eliminations.
NO_PERIODS, PERIODS, PERIODS_AFTER_DROP = range(3)


class Rules(NamedTuple):
    """Hold a learner's choices as plain numbers: kernels dispatch on these integers."""

    sampling: int
    schedule: int
    every: int  # episodes between eliminations, for the schedule that counts
    stopping: int
    arcs: float  # N in the width
    delta: float
    cap: float  # largest width, finite for that of the authors' code
    authors: int  # 1: the habits of the authors' code, the preset `experiment`
    by_return: int = 0  # 1: the return-gap elimination rule is on
    by_value: int = 0  # 1: the value-based elimination rule is on
    least_played: int = 0  # 1: ties go to the least played action, else to the lowest arc
    periods: int = NO_PERIODS  # whether the sampling rule or the schedule needs to know the period


class State(NamedTuple):
    """Hold all arrays of one run; rows and places are named above."""

    arc: FloatArray  # [N_ARC, N]
    number: IntArray  # [3, N]
    flag: BoolArray  # [6, N]
    node: FloatArray  # [7, n_nodes + 1]
    degree: IntArray  # [n_nodes] active arcs of each node
    path: IntArray  # [2, H]
    stage: FloatArray  # [4, H]
    tally: IntArray  # [N_TALLY]
    real: FloatArray  # [N_REAL]
    ahead: FloatArray  # standard normal numbers drawn ahead
    table: FloatArray  # base width by number of visits


def new_state(
    graph: Layers, horizon: int, sigma: FloatArray, known: BoolArray, known_gain: FloatArray, table: FloatArray
) -> State:
    """Allocate the state of a learner that has seen nothing; `set_up` fills in what follows from the graph."""
    n, nodes = len(graph.target), len(graph.first) - 1
    state = State(
        arc=np.zeros((N_ARC, n)),
        number=np.zeros((3, n), dtype=np.int64),
        flag=np.zeros((6, n), dtype=np.bool_),
        node=np.zeros((7, nodes + 1)),
        degree=np.zeros(nodes, dtype=np.int64),
        path=np.zeros((2, horizon), dtype=np.int64),
        stage=np.zeros((4, horizon)),
        tally=np.zeros(N_TALLY, dtype=np.int64),
        real=np.zeros(N_REAL),
        ahead=np.zeros(max(128, 4 * horizon)),
        table=table,
    )
    state.arc[SIGMA] = sigma
    state.flag[IS_KNOWN] = known
    state.arc[CENTRE] = known_gain
    return state


def copies(state: State) -> State:
    """Copy a state; the table of widths never changes and is shared."""
    return State._make([*(array.copy() for array in state[:-1]), state.table])


def restore(state: State, before: State) -> None:
    """Write the arrays of an earlier copy back into a state, in place."""
    for array, old in zip(state[:-1], before[:-1], strict=True):
        array[...] = old


# Arc bounds -----------------------------------------------------------------------------------------------------------
# The interval of an arc: its width by the visits, and where sums and bounds start to count.
#
# Large rewards that differ little lose nothing, by two subtractions, neither of which changes a difference between
# paths:
#
# origin     of an arc: its first gain. SUMS adds up gain - origin, numbers of the size of the noise, so a million gains
#            near 1e9 are added without loss. Where the first gain lies within 64 sigma of 0 nothing can be lost, and
#            the origin is 0: ordinary rewards are added up as they are, and equal means stay equal.
# reference  of a stage: the number nearest to 0 among the centres of its arcs (origins, known gains), 0 when they lie
#            on both sides. Bounds are relative to it: each path has one arc of each stage, so all values shift alike.
#
# A reference moves only when a new arc would be further from it than from 0; then the bounds of its stage are written
# again. The widths of the authors' code are made for rewards near 0 and keep the reference 0.


@hot_kernel
def arc_width(rules: Rules, state: State, e: int | np.uint64, n: int) -> float:
    """Compute the width of arc e after n >= 1 visits."""
    if n < len(state.table):
        base = state.table[np.uint64(n)]
    else:
        base = base_width(rules.authors, float(n), rules.arcs, rules.delta)
    return float(min(state.arc[SIGMA, e] * base, rules.cap))


@folded_kernel
def width_of(rules: Rules, state: State, e: int) -> float:
    """Compute the width of arc e, BIG where it is infinite."""
    if state.flag[IS_KNOWN, e]:
        return 0.0
    n = state.number[VISITS, e]
    if n > 0:
        return arc_width(rules, state, e, n)
    return BIG if rules.cap == np.inf else rules.cap


@inner_kernel
def write_bounds(rules: Rules, state: State, e: int | np.uint64) -> None:
    """Write the interval of arc e, visited or known, from its sum and its stage's reference."""
    arc, n = state.arc, state.number[VISITS, e]
    width, mean = 0.0, arc[BASE, e]
    if not state.flag[IS_KNOWN, e]:
        width, mean = arc_width(rules, state, e, n), arc[BASE, e] + arc[SUMS, e] / n
    arc[TOP, e] = mean + width
    arc[LOWER, e] = mean - width
    if state.flag[PASSABLE, e]:
        arc[WIDTH, e] = width
        arc[UPPER, e] = mean + width


@folded_kernel
def forget_measures(state: State) -> None:
    """Discard values and measures after bounds were written anew."""
    state.tally[FRESH_FLOOR] = 0
    state.tally[FRESH_CLEAR] = 0
    state.tally[FRESH_BEST] = 0
    state.tally[FRESH_SPREAD] = 0
    state.real[RETURN_SLACK] = -1.0
    state.real[FLOOR_SEEN] = np.inf
    state.real[SPREAD_LEFT] = -np.inf


@inner_kernel
def refer(graph: Layers, rules: Rules, state: State, h: int) -> None:
    """Choose the reference of stage h anew and write the bounds of its arcs."""
    arc, known, visits = state.arc, state.flag[IS_KNOWN], state.number[VISITS]
    first, last = graph.first[graph.stage_node[h]], graph.first[graph.stage_node[h + 1]]
    low, high = np.inf, -np.inf
    for e in range(first, last):
        if known[e] or visits[e] > 0:
            low = min(low, arc[CENTRE, e])
            high = max(high, arc[CENTRE, e])
    reference = 0.0
    if rules.cap == np.inf:
        if low > high:
            reference = np.inf
        elif low > 0.0:
            reference = low
        elif high < 0.0:
            reference = high
    state.stage[REFERENCE, h] = reference
    for e in range(first, last):
        if known[e] or visits[e] > 0:
            arc[BASE, e] = arc[CENTRE, e] - reference
            write_bounds(rules, state, e)
            state.flag[APART, e] = known[e] or arc[ORIGIN, e] != 0.0 or arc[BASE, e] != 0.0
        elif reference < np.inf:
            arc[BASE, e] = 0.0 - reference
    forget_measures(state)


@folded_kernel
def find_origin(graph: Layers, rules: Rules, state: State, h: int, e: np.uint64, gain: float) -> None:
    """Set the origin of arc e of stage h, visited for the first time, by this gain."""
    arc = state.arc
    centre = origin_of(gain, arc[SIGMA, e])
    arc[ORIGIN, e] = centre
    arc[CENTRE, e] = centre
    arc[BASE, e] = centre - state.stage[REFERENCE, h]
    state.flag[APART, e] = centre != 0.0 or arc[BASE, e] != 0.0
    if abs(arc[BASE, e]) > abs(centre):
        refer(graph, rules, state, h)


# Sweeps ---------------------------------------------------------------------------------------------------------------
# Passes over the graph: values from its end to its start, then a path from its start to its end.
#
# Plain passes take weights that are -inf where an arc cannot be used: there is no mask to read. Counting passes take
# over while some width is infinite, with infinities counted apart from the finite part: a path's weight is then the
# pair (number of infinities, finite part), compared in that order. An infinite arc adds to the finite part what
# `rest` has for it: 0 for widths, 0 less the reference of its stage for bounds. `sign` = 1.0 prefers many infinities
# (upper values, diameters), -1.0 prefers few (lower values). The plain passes order paths by the count alone, which
# is enough for every question but which path to walk.

UNUSABLE = -np.inf  # in place of a count: the arc cannot be used


@hot_kernel
def backward_masked(graph: Layers, weight: FloatArray, value: FloatArray) -> None:
    """Compute value[i], the largest weight of a path from node i to the sink, -inf if there is none; [n_nodes + 1].

    The first two arcs of a node are outside the loop: nodes often have two, and setting up the unrolled loop that
    compilers make of it costs more than they do. Unsigned, so that no index needs a test for wrapping around.
    """
    first, target = graph.first, graph.target
    i, one, two = np.uint64(len(first) - 1), np.uint64(1), np.uint64(2)
    value[i] = 0.0
    stop = np.uint64(first[i])
    while i > np.uint64(0):
        i -= one
        start = np.uint64(first[i])
        best = -np.inf
        if start < stop:
            best = weight[start] + value[target[start]]
            if start + one < stop:
                best = max(best, weight[start + one] + value[target[start + one]])
                if start + two < stop:
                    for e in range(start + two, stop):
                        x = weight[e] + value[target[e]]
                        if x > best:
                            best = x
        value[i] = best
        stop = start


@folded_kernel
def walk_masked(
    graph: Layers, weight: FloatArray, value: FloatArray, visits: IntArray, least_played: int, path: IntArray
) -> None:
    """Follow the largest weight from the start; ties go to the lowest arc, or to the least played one.

    The choice is written to the path at once, inside the branch: a store keeps the compiler from turning the branch
    into a conditional move, so the processor runs ahead on the likely path instead of waiting for each sum.
    """
    first, target = graph.first, graph.target
    node = np.uint32(0)
    for h in range(len(path)):
        start = first[node]
        path[h] = start
        best = weight[start] + value[target[start]]
        for e in range(start + 1, first[node + 1]):
            x = weight[e] + value[target[e]]
            if x > best:
                best = x
                path[h] = e
            elif x == best and least_played * visits[e] < least_played * visits[path[h]]:
                path[h] = e
        node = target[np.uint64(path[h])]


@folded_kernel
def pair(weight: float, infinite: int, rest: float, sign: float, value: float, count: float) -> tuple[float, float]:
    """Return finite part and count of one arc joined to what follows; the count is UNUSABLE if it cannot be used."""
    if count == UNUSABLE:
        return -np.inf, UNUSABLE
    if infinite > 0 and sign * weight > 0.0:  # a lower bound is -inf there, an upper one -inf where none may pass
        return rest + value, count + sign * infinite
    if weight == -np.inf:
        return -np.inf, UNUSABLE
    return weight + value, count


@inner_kernel
def backward_counted(
    graph: Layers,
    weight: FloatArray,
    infinite: IntArray,
    rest: FloatArray,
    sign: float,
    value: FloatArray,
    count: FloatArray,
) -> None:
    """Compute (count[i], value[i]), the largest pair of a path from node i to the sink."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    value[sink] = 0.0
    count[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best, most = -np.inf, UNUSABLE
        for e in range(first[i], first[i + 1]):
            x, c = pair(weight[e], infinite[e], rest[e], sign, value[target[e]], count[target[e]])
            if c > most or (c == most and x > best):
                best, most = x, c
        value[i] = best
        count[i] = most


@inner_kernel
def walk_counted(
    graph: Layers,
    weight: FloatArray,
    infinite: IntArray,
    rest: FloatArray,
    sign: float,
    value: FloatArray,
    count: FloatArray,
    visits: IntArray,
    least_played: int,
    path: IntArray,
) -> None:
    """Follow the largest pair from the start; ties go to the lowest arc, or to the least played one."""
    first, target = graph.first, graph.target
    node = np.uint32(0)
    for h in range(len(path)):
        chosen = first[node]
        j = target[chosen]
        best, most = pair(weight[chosen], infinite[chosen], rest[chosen], sign, value[j], count[j])
        for e in range(chosen + 1, first[node + 1]):
            x, c = pair(weight[e], infinite[e], rest[e], sign, value[target[e]], count[target[e]])
            fewer = least_played * visits[e] < least_played * visits[chosen]  # no branch: the loop is compiled once
            if c > most or (c == most and (x > best or (x == best and fewer))):
                best, most, chosen = x, c, e
        path[h] = chosen
        node = target[chosen]


# Cached values --------------------------------------------------------------------------------------------------------
# The values that rules read, brought up to date on demand and kept in the state, and the paths they lead to.
#
# BEST      largest upper value over active policies; BIG or more where an infinity is in it
# SPREAD    largest sum of widths over active policies; twice that of the start is the diameter
# FLOOR     largest lower value over ALL policies; -inf where every path has an unvisited arc
#
# One kernel walks the path of largest weight for each of three weights (widths, upper bounds, lower bounds), because
# each copy of the passes takes a quarter of a second to compile. A quick one beside it finds the path to play.

# Which path: an active policy of largest diameter, an active policy of largest upper value, or a policy of largest
# lower value among ALL policies.
BY_WIDTH, BY_UPPER, BY_LOWER = range(3)


@hot_kernel
def refresh_values(graph: Layers, state: State, fresh: Whole, weight: Whole, value: Whole) -> None:
    """Compute a row of State.node from a row of State.arc, unless the place `fresh` of the tally says it is current."""
    if state.tally[fresh] == 0:
        backward_masked(graph, state.arc[weight], state.node[value])
        state.tally[fresh] = 1


@folded_kernel
def best_values(graph: Layers, state: State) -> None:
    """Recompute BEST, the largest upper values to go, unless it is current."""
    refresh_values(graph, state, np.int64(FRESH_BEST), np.int64(UPPER), np.int64(BEST))


@folded_kernel
def floor_values(graph: Layers, state: State) -> None:
    """Recompute FLOOR, the largest lower values to go, unless it is current."""
    refresh_values(graph, state, np.int64(FRESH_FLOOR), np.int64(LOWER), np.int64(FLOOR))


@inner_kernel
def walk_counting(graph: Layers, rules: Rules, state: State, which: Whole, out: Whole) -> None:
    """Write the path that `which` names into the row `out` of State.path, infinities counted apart from the rest.

    Most of them first for BY_WIDTH and BY_UPPER, fewest first for BY_LOWER. An infinite arc adds 0 to a width, and 0
    less the reference of its stage to a bound. Without infinities it is the same path, more slowly.
    """
    row, rest, sign = WIDTH, ORIGIN, 1.0
    if which == BY_UPPER:
        row, rest = UPPER, BASE
    elif which == BY_LOWER:
        row, rest, sign = LOWER, BASE, -1.0
    path, visits, infinite = state.path[out], state.number[VISITS], state.number[INFINITE]
    weight, instead = state.arc[row], state.arc[rest]
    value, count = state.node[SCRATCH], state.node[SCRATCH_TIE]
    backward_counted(graph, weight, infinite, instead, sign, value, count)
    walk_counted(graph, weight, infinite, instead, sign, value, count, visits, rules.least_played, path)


@folded_kernel
def walk(graph: Layers, rules: Rules, state: State, which: Whole) -> None:
    """Write the path that `which` names, BY_WIDTH or BY_UPPER, into the row PATH; by kept values if all are finite."""
    if state.tally[PASSABLE_INFINITE] > 0:
        walk_counting(graph, rules, state, which, np.int64(PATH))
    else:
        fresh, row, values = FRESH_SPREAD, WIDTH, SPREAD
        if which == BY_UPPER:
            fresh, row, values = FRESH_BEST, UPPER, BEST
        refresh_values(graph, state, np.int64(fresh), np.int64(row), np.int64(values))
        visits, path = state.number[VISITS], state.path[PATH]
        walk_masked(graph, state.arc[row], state.node[values], visits, rules.least_played, path)


# Rounding -------------------------------------------------------------------------------------------------------------
# Allow for what rounding can have done to a bound, so that it never turns into a proof.
#
# Sampling, and the first test of every rule, use bounds and values as they come out. Where such a test says that an
# arc can be eliminated or that the learner can stop, it is repeated with every upper bound raised and every lower
# bound lowered by `slop`, and only that answer counts. Rounding can then delay a decision and never make one.
#
# A computed sum of H numbers x differs from the true one by less than H u sum |x| (u = 2^-53), whatever the order, so
# H u |x| is the share of one arc. What the bound itself is made of adds a few u: origin minus reference, sum over
# visits, mean plus width; the sum of n gains is off by n u times its largest partial sum at most; and each reward
# comes rounded, by u times its size. A bound that is NaN counts as no bound.


@hot_kernel
def slop(arc: FloatArray, horizon: int, e: int | np.uint64) -> float:
    """Bound what rounding can have moved the bounds of arc e, with its share in the sum over a path."""
    size = abs(arc[TOP, e]) + abs(arc[LOWER, e]) + abs(arc[BASE, e])
    return float(UNIT * ((2.0 * horizon + 8.0) * size + abs(arc[ORIGIN, e]) + 2.0 * abs(arc[SUMS, e])))


@folded_kernel
def safe_upper(state: State, e: int | np.uint64, bound: float) -> float:
    """Raise an upper bound of arc e (UPPER or TOP) to hold in spite of rounding; -inf stays, none stays BIG."""
    if bound == -np.inf:
        return -np.inf
    return bound + slop(state.arc, state.path.shape[1], e) if bound < HALF_BIG else BIG


@folded_kernel
def safe_lower(state: State, e: int | np.uint64) -> float:
    """Lower the lower bound of arc e so that it holds in spite of rounding; -inf where there is none."""
    bound = state.arc[LOWER, e]
    return bound - slop(state.arc, state.path.shape[1], e) if bound > -HALF_BIG else -np.inf


@inner_kernel
def safe_best(graph: Layers, state: State, bound: FloatArray, value: FloatArray) -> None:
    """Compute value[i], the largest upper value from node i to the sink, allowing for rounding; bound: UPPER or TOP."""
    first, target = graph.first, graph.target
    value[len(first) - 1] = 0.0
    for i in range(len(first) - 2, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            best = max(best, safe_upper(state, e, bound[e]) + value[target[e]])
        value[i] = best


@inner_kernel
def safe_floor(graph: Layers, state: State, value: FloatArray) -> None:
    """Compute value[i], the largest lower value from node i to the sink over all policies, rounding allowed for."""
    first, target = graph.first, graph.target
    value[len(first) - 1] = 0.0
    for i in range(len(first) - 2, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            best = max(best, safe_lower(state, e) + value[target[e]])
        value[i] = best
