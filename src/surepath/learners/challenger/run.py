"""Sampling of Challenger, and its compiled loop: take an episode in, check the stop, choose the next path."""

from __future__ import annotations

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.kernels.jit import Whole, bare_kernel, folded_kernel, inner_kernel, optional_kernel
from surepath.kernels.sweeps import Graph, Reality, backward, draw_path, heaviest, walk
from surepath.learners import runs as tasks
from surepath.learners.challenger import check as checking
from surepath.learners.challenger import noise as learning
from surepath.learners.challenger import state as at
from surepath.learners.challenger.check import set_incumbent, singly, trace
from surepath.learners.challenger.noise import BERNSTEIN, Learned, LearnedScratch, is_learned
from surepath.learners.challenger.stages import fill_quick_row
from surepath.learners.challenger.state import OWN, RIVAL, Evidence, Pairs, Scratch, Stages

# Sampling -------------------------------------------------------------------------------------------------------------
# What to play next. The guarantee holds whatever is played; these rules only decide how soon the check passes.
#
# separating    Weigh the arcs that separate the incumbent from its strongest challengers, at the row of the grid with
#               the least largest z and its two neighbours, by sigma^2 / n for each challenger they separate, and play
#               the heaviest path. Challengers of earlier plans count too, half as much with each plan, so that plays do
#               not swing between many that tie.
# max-diameter  EPRL's: the path of largest total width over the arcs that are left.
# guarded       Separating; from half of the trials planned for ties on, every second trial plays the path of largest
#               sum of sigma^2 / n, from twice those trials on it follows the flow of the optimal design, and so do all
#               once the logarithms of a path cost too much (docs, "Challenger: the theorem", bounds the trials).
# thrifty       Guarded, and in the trials that are not the guard's a path from which much is learned for its price
#               (`choose_by_price`); the default where plans have different prices.
#
# Every rule first covers each arc once. Pending plays count as visits. Ties go to the lowest arc.

FREE, EVEN, FLOW = range(3)  # whose turn it is
BEGIN, END = 0.5, 2.0  # of the planned trials: where the guard begins, and where it begins to follow the flow
MEMORY = 0.5  # what a challenger counts for in the next plan
FORGOTTEN = 1e-3  # below this it no longer counts
OTHER_ARCS = 0.25  # what any other arc counts for beside plays under way
SEARCH_ROUNDS = 30  # of the search, which needs about five


@folded_kernel
def cover(pairs: Pairs, seen: Evidence, work: Scratch) -> bool:
    """Mark the unvisited arcs, for a path through as many as possible; False when every arc has been visited.

    An arc that a worker is already playing counts by its plays, those under way included: beside it other arcs
    are worth a visit too.
    """
    alive, visits, pending = seen.alive, seen.visits, seen.pending
    known, mark = pairs.is_known, work.mark
    horizon, missing, busy = len(work.path), False, False
    for e in range(len(alive)):
        missing = missing or (alive[e] and visits[e] == 0 and not known[e])
        busy = busy or pending[e] > 0
    for e in range(len(alive)):
        plays = visits[e] + pending[e]
        mark[e] = 0.0
        if missing and alive[e] and not known[e]:
            if plays == 0:
                mark[e] = 1.0
            elif busy:
                mark[e] = 0.5 / (horizon * plays)
    return missing


@folded_kernel
def separate(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, row: int, epsilon: float) -> bool:
    """Mark what separates the strongest challengers at three slopes around a noisy row; True when nothing is left.

    This is a quick check as well: what the three rows clear is cleared.
    """
    alive, visits, pending = seen.alive, seen.visits, seen.pending
    recent, known = seen.recent, pairs.is_known
    grid, mark, path = work.grid, work.mark, work.path
    incumbent, variance = work.incumbent, work.variance
    live, on = work.live, work.on
    cleared, ratio = work.cleared, pairs.ratio
    j, k = grid[row, 0], grid[row, 1]
    fill_quick_row(pairs.stages, work.stage_work, graph, pairs, seen, work, k)
    single = np.int64(1 if singly(pairs, int(j), epsilon) else 0)
    for e in range(len(mark)):
        mark[e] = 0.0
        recent[e] = MEMORY * recent[e] if recent[e] > FORGOTTEN else 0.0
    for step in range(3):
        grid[0, 0], grid[0, 1] = j, k * ratio ** (1.0 - step)
        checking.judge(graph, pairs, seen, work, np.int64(0), epsilon, np.int64(checking.TAKE_OUT))
        through = path[0]
        if through < 0:
            break
        if not live[through]:
            continue  # the strongest challenger of this row was cleared by it, and so were all others
        trace(graph, work, through, single)
        for h in range(len(path)):
            if path[h] != incumbent[h]:
                recent[path[h]] += 1.0
                recent[incumbent[h]] += 1.0
    grid[0, 0], grid[0, 1] = j, k
    for e in range(len(mark)):
        if recent[e] > 0.0 and alive[e] and not known[e]:
            mark[e] = recent[e] * variance[e] / (visits[e] + pending[e])
    return checking.left(live, on, cleared) == 0


@folded_kernel
def turn(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> int:
    """Return whose turn the next trial is.

    All are the guard's once a path has so many more visits than planned that the logarithms of its widths cost too
    much.
    """
    episodes, alive = seen.memo[at.EPISODES], seen.alive
    ahead, cost = work.ahead, work.extra[OWN, pairs.ties]
    sampling, planned = pairs.sampling, pairs.planned
    limit, limit_from = pairs.log_limit, pairs.log_limit_from
    covered = episodes >= len(alive)
    if sampling != at.BY_GUARD:
        return FREE
    if covered and episodes >= limit_from:
        backward(graph, cost, alive, ahead)
        if ahead[0] > limit:
            return FLOW
    if episodes < BEGIN * planned or int(episodes) % 2 == 0:
        return FREE
    return FLOW if covered and episodes >= END * planned else EVEN


@folded_kernel
def follow_flow(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> bool:
    """Take at each node the arc that lags most behind its part of the flow by the guard's own plays, into work.path.

    False when that path has an excluded arc.
    """
    first, target, guarded = graph.first, graph.target, seen.guarded
    part, path = pairs.flow, work.path
    allowed, is_open, node = seen.open, True, 0
    for h in range(len(path)):
        plays, flow = 1.0, 0.0
        for e in range(first[node], first[node + 1]):
            plays += guarded[e]
            flow += part[e]
        most, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            behind = plays * part[e] / flow - guarded[e]
            if behind > most:
                most, chosen = behind, e
        path[h] = chosen
        node = target[chosen]
        is_open = is_open and allowed[chosen]
    return is_open


@folded_kernel
def marked(mark: FloatArray) -> bool:
    """Return whether any arc has a sampling weight."""
    heaviest_mark = 0.0
    for e in range(len(mark)):
        heaviest_mark = max(heaviest_mark, mark[e])
    return heaviest_mark > 0.0


@folded_kernel
def weigh(pairs: Pairs, seen: Evidence, work: Scratch, sampling: Whole) -> None:
    """Mark arcs by the rules that need no challengers."""
    alive, visits = seen.alive, seen.visits
    pending, mark = seen.pending, work.mark
    known, sigma, variance = pairs.is_known, pairs.sigma, work.variance
    for e in range(len(alive)):
        mark[e] = 0.0
        if alive[e] and not known[e]:
            n = visits[e] + pending[e]
            if sampling == at.BY_GUARD:
                mark[e] = sigma[e] * sigma[e] / n
            else:
                mark[e] = np.sqrt(variance[e] * np.log(4.0 * n * n * len(alive)) / n)


@folded_kernel
def choose_by_price(prices: FloatArray, graph: Graph, allowed: BoolArray, work: Scratch, thrifty: Whole) -> None:
    """Improve work.path, the heaviest path, to one that has much of the marks for its price, where paths have prices.

    Where the rule is thrifty, search the path that maximises (sum of marks) / sqrt(price): two plans of prices p and q
    that share nothing are then played in the ratio sqrt(q) : sqrt(p). Arcs that were ruled out may fill a path in. With
    W the sum of marks and P the price of the current path, a path with marks - W / (2 P) * price > W / 2 has a larger
    ratio. The path of largest such sum is found by one pass; when it is no better, the search is over.
    """
    mark, weight = work.mark, work.weight
    path, ahead = work.path, work.ahead
    best = 0.0  # the largest ratio so far, squared
    for _ in range(SEARCH_ROUNDS if thrifty == 1 and len(prices) > 0 else 0):
        worth, price = 0.0, 0.0
        for h in range(len(path)):
            worth += mark[path[h]]
            price += prices[path[h]]
        if not worth * worth > best * price * (1.0 + 1e-12):
            break
        best = worth * worth / price
        for e in range(len(mark)):
            weight[e] = mark[e] - 0.5 * worth / price * prices[e]
        backward(graph, weight, allowed, ahead)
        walk(graph, weight, allowed, ahead, path)


def share_out(pairs: Pairs, seen: Evidence, work: Scratch, paths: IntArray) -> None:
    """Count plays of these paths, int [k, H], as pending, and lower their marks: another worker gets another path.

    Marks hold sigma^2 / n, so they fall as the visits, those under way included, rise. What many plays under way will
    show by themselves leaves the rest to be learned: any other arc counts for something.
    """
    mark, rest = work.mark, seen.alive & ~pairs.is_known
    before = np.maximum(seen.visits + seen.pending, 1)
    np.add.at(seen.pending, paths, 1)
    n = np.maximum(seen.visits + seen.pending, 1)
    mark *= before / n
    mark[rest] = np.maximum(mark[rest], OTHER_ARCS * work.variance[rest] / n[rest])


# Arc evidence ---------------------------------------------------------------------------------------------------------
# Take rewards in, arc by arc, and recompute what the bounds of an arc depend on: mean, a and 1/2 log(1 + n/c).


@inner_kernel
def refresh(pairs: Pairs, seen: Evidence, work: Scratch, e: int) -> None:
    """Recompute what depends on the visits of arc e."""
    n, s = seen.visits[e] + seen.missing[e], pairs.sigma[e]
    origin, total = seen.origin[e], seen.sums[e]
    kind, precision, learned = pairs.kind, pairs.c, pairs.learned
    means, top, low, a = work.mean, work.top, work.low, work.a
    log_a, extra = work.log_a, work.extra
    if pairs.is_known[e] or seen.visits[e] == 0:
        return
    high, least = role_mean(pairs.stages, seen, e, np.int64(RIVAL)), role_mean(pairs.stages, seen, e, np.int64(OWN))
    means[e] = 0.5 * (high + least)
    top[e], low[e] = high, least
    if s > 0.0:
        top[e] = high + 0.5 * at.ROUNDING * (max(abs(high), abs(least)) + abs(origin) + 0.5 * abs(total))
        low[e] = least - (top[e] - high)
        refresh_learned(learned, work.learned_work, pairs, seen, work, e)
        for side in range(2):
            for j in range(len(kind)):
                if kind[j] >= BERNSTEIN and is_learned(learned, e):
                    continue
                c = precision[side, j, e]
                a[side, j, e] = s / n if kind[j] == at.SHIFTED else s * np.sqrt(n + c) / n
                log_a[side, j, e] = np.log(a[side, j, e])
                extra[side, j, e] = 0.5 * np.log1p(n / c)


@optional_kernel
def role_mean(stages: Stages | None, seen: Evidence, e: int, side: Whole) -> float:
    """Compute the mean of arc e in a role: missing rewards are the top of their range for a rival, else the bottom.

    That makes M no larger than the rewards themselves would, whatever their episodes broke off for.
    """
    n, m, origin, total = seen.visits[e], seen.missing[e], seen.origin[e], seen.sums[e]
    if stages is None:
        return float(origin + total / n)
    if m == 0:
        return float(origin + total / n)
    end = stages.most[e] if side == RIVAL else stages.least[e]
    return float(origin + (total + m * (end - origin)) / (n + m))


@optional_kernel
def refresh_learned(
    learned: Learned | None, learned_work: LearnedScratch, pairs: Pairs, seen: Evidence, work: Scratch, e: int
) -> None:
    """Recompute what the widths of arc e depend on in the entries that learn its noise, if it is learned.

    a and extra only decide which slopes to try: the best one is about (sqrt(V / 2B) + 1) span / n.
    """
    if learned is None:
        return
    if not learned.learns[e]:
        return
    n = seen.visits[e] + seen.missing[e]
    span, bets, table = learned.span[e], learned_work.bets, learned.bernstein
    learned_work.per[e] = span / n
    learned_work.log_per[e] = learned.log_span[e] - np.log(n)
    learned_work.ceiling[e] = span * (1.0 + 1.01 * (np.log(2.0 * n + learning.MOST_PRECISION) + 1.0) / n)
    work.variance[e] = span**2 * (seen.squares[e] + 0.25) / (n + 1.0)
    for side in range(2):
        if len(seen.product) > 0:
            learning.halve(seen.product, bets, e, np.int64(side))
        for j in range(pairs.c.shape[1]):
            if pairs.kind[j] < BERNSTEIN:
                continue
            c = pairs.c[side, j, e]
            w = (seen.squares[e] + c) * (1.0 + 1e-15 * n)
            if pairs.kind[j] == BERNSTEIN:
                row = learning.bernstein_row(table, w)
                learned_work.row[side, j, e], learned_work.beyond[side, j, e] = row, w - table.w[row]
            else:
                x = (role_mean(pairs.stages, seen, e, np.int64(side)) - learned.low[e]) / span
                x = x if side == RIVAL else 1.0 - x
                which = learned.which[side, j, e]
                learning.tabulate(learned.betting, seen.product, bets, e, np.int64(side), np.int64(j), which, x)
            work.a[side, j, e] = span * (np.sqrt(w) + np.sqrt(2.0 * pairs.cost[j])) / n
            work.log_a[side, j, e] = np.log(work.a[side, j, e])
            work.extra[side, j, e] = 0.5 * np.log(w / c)


@folded_kernel
def take_in(pairs: Pairs, seen: Evidence, e: int, gain: float) -> None:
    """Count one gain of arc e; sums are relative to the first gain, so that large numbers lose nothing."""
    visits, origin, sums = seen.visits, seen.origin, seen.sums
    squares, product = seen.squares, seen.product
    memo, learned = seen.memo, pairs.learned
    size, n = pairs.size, visits[e]
    mean = origin[e] + sums[e] / n if n > 0 else 0.0
    if n > 0 and pairs.sigma[e] > 0.0 and len(size.tilt) > 0:  # sigma is unknown
        memo[at.RSS] += (gain - mean) * (gain - mean)
        memo[at.N_SQUARES] += 1.0
    if is_learned(learned, e):
        learning.learn(learned, squares, product, n, mean, e, gain)
    if n == 0:
        origin[e] = gain
    visits[e] = n + 1
    sums[e] += gain - origin[e]


@optional_kernel
def count_missing(stages: Stages | None, pairs: Pairs, seen: Evidence, path: IntArray, told: Whole) -> None:
    """Count the rewards of an episode that broke off after so many stages."""
    if stages is None:
        return
    if not stages.fills:
        return
    for h in range(told, len(path)):
        e = path[h]
        if pairs.sigma[e] > 0.0:
            seen.missing[e] += 1
            learning.learn_missing(pairs.learned, seen.product, e)


# Run ------------------------------------------------------------------------------------------------------------------
# Single steps, and whole runs, which take the same steps. A full check costs a few dozen passes; in between, a quick
# check evaluates the three rows around the best one of the last full check, and chooses from the same passes. A check
# that comes late only delays the stop.

CHECK_GROWTH = 0.01  # share by which the episodes grow between two full checks
KEEP = -1  # in place of a sampling rule: what is marked stays
# What `play` answers: the limit was reached, the check passed, or it is time for a pause.
CUT, DONE, PAUSED = 0.0, 1.0, 2.0


@bare_kernel
def act(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, task: Whole, told: Whole, epsilon: float) -> float:
    """Perform one task: the one entry point, because each takes seconds to compile.

    PLAN checks and leaves the next path in work.path; 1 when the check has passed. AGAIN gives one more path by the
    marks as they are. TELL takes in the gains in work.gain of the first `told` arcs in work.path; the other rewards
    are missing. REFRESH refreshes every arc. INCUMBENT leaves the path to recommend in work.incumbent, and so do
    CERTIFY and CHECK, which are about that path. CHECK runs the full check without eliminating; 1 when it passes.
    CERTIFY returns its certified gap, where there is one (`least_gap`), by bisection to one part in a thousand, from
    above.

    Every larger kernel is called from one place here: the compiler copies it into each.
    """
    memo, visits, guarded = seen.memo, seen.visits, seen.guarded
    known, slack = pairs.is_known, work.slack
    path, mark, gains = work.path, work.mark, work.gain
    sampling = pairs.sampling
    planning, telling = task == tasks.PLAN, task == tasks.TELL
    covering = planning and cover(pairs, seen, work)
    row = 0
    if not (covering or telling or task == tasks.AGAIN or task == tasks.REFRESH):
        set_incumbent(graph, pairs, seen, work)
        if task == tasks.INCUMBENT:
            return 0.0
        if planning and memo[at.EPISODES] < memo[at.NEXT_FULL] and memo[at.READY] == 1.0:
            work.grid[0, 0], work.grid[0, 1] = memo[at.ENTRY], memo[at.SLOPE]
            for e in range(len(seen.alive)):
                work.live[e] = seen.alive[e]
                work.cleared[e] = False
        else:
            aim, how = epsilon, checking.ROUTINE if planning else checking.THOROUGH
            low, high = 0.0, np.inf
            if task == tasks.CERTIFY:
                aim, how = -np.inf, checking.FIND_LEAST
            while True:
                row, least = checking.check(graph, pairs, seen, work, aim, np.int64(how))
                if task != tasks.CERTIFY:
                    break
                if how == checking.FIND_LEAST:
                    how, aim = checking.THOROUGH, 0.0
                    high = (max(least, 0.0) + slack[0]) * (1.0 + 2.0 * checking.SHARE)
                    continue
                if row == checking.PASSED:
                    high = aim
                else:
                    low = aim
                if not high - low > 1e-3 * high:
                    return high
                aim = 0.5 * (low + high)
            if row == checking.PASSED or task == tasks.CHECK:
                return DONE if row == checking.PASSED else CUT
            memo[at.NEXT_FULL] = memo[at.EPISODES] + max(1.0, np.floor(CHECK_GROWTH * memo[at.EPISODES]))
            memo[at.READY] = 0.0
            if row != checking.NO_ROW:  # for quick checks
                memo[at.ENTRY], memo[at.SLOPE], memo[at.READY] = work.grid[row, 0], work.grid[row, 1], 1.0
    whose = turn(graph, pairs, seen, work) if planning or telling else FREE
    if planning and not covering:
        rule = at.BY_DIAMETER
        if whose != FREE:
            rule = at.BY_GUARD
        elif sampling in (at.BY_SEPARATION, at.BY_GUARD) and row != checking.NO_ROW:
            if separate(graph, pairs, seen, work, row, epsilon):
                return DONE
            if marked(mark):
                rule = KEEP  # else every strong challenger differs in quiet arcs only: let all bounds shrink
        if rule != KEEP:
            weigh(pairs, seen, work, np.int64(rule))
    if planning or task == tasks.AGAIN:
        along = False
        if whose == FLOW and not covering:
            along = follow_flow(graph, pairs, seen, work)
        thrifty = np.int64(1 if whose == FREE or covering else 0)
        if not along:
            heaviest(graph, mark, seen.alive, work.ahead, path)
            choose_by_price(pairs.price, graph, seen.open, work, thrifty)
        return CUT
    if telling:
        count_missing(pairs.stages, pairs, seen, path, told)
        for h in range(told):
            if known[path[h]]:
                visits[path[h]] += 1
            else:
                take_in(pairs, seen, path[h], gains[h])
    for i in range(len(path) if telling else len(visits)):
        e = path[i] if telling else i
        refresh(pairs, seen, work, e)
        guarded[e] += 1 if whose == FLOW else 0
    return CUT


@bare_kernel
def play(
    graph: Graph,
    pairs: Pairs,
    seen: Evidence,
    work: Scratch,
    reality: Reality,
    rng: np.random.Generator,
    limit: int,
    pause: float,
    epsilon: float,
) -> float:
    """Play a simulated run until the check passes, `limit` episodes are played, or `pause` episodes are."""
    memo = seen.memo
    while memo[at.EPISODES] < pause:
        if act(graph, pairs, seen, work, np.int64(tasks.PLAN), np.int64(0), epsilon) == DONE:
            return DONE
        if memo[at.EPISODES] >= limit:
            return CUT
        draw_path(reality, work.path, rng, work.gain)
        act(graph, pairs, seen, work, np.int64(tasks.TELL), len(work.path), epsilon)
        memo[at.EPISODES] += 1
    return PAUSED


def least_gap(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> float:
    """Return the certified gap of the incumbent; infinite while an arc that is left is unvisited or sigma unbounded."""
    missing = bool((seen.alive & (seen.visits == 0) & ~pairs.is_known).any())
    if missing or len(pairs.size.tilt) > 0:
        act(graph, pairs, seen, work, tasks.INCUMBENT, 0, 0.0)
        if missing or not work.unit[0] < learning.HIDDEN:
            return np.inf
    return float(act(graph, pairs, seen, work, tasks.CERTIFY, 0, 0.0))
