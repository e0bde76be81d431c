"""Challenger's compiled loop: take an episode in, check the stop, choose the next path."""

from __future__ import annotations

import numpy as np

from surepath._checks import IntArray
from surepath.kernels.draw import draw_luck, draw_step
from surepath.kernels.jit import Whole, bare_kernel, folded_kernel, inner_kernel, optional_kernel
from surepath.kernels.sweeps import Graph, Reality, heaviest
from surepath.learners.challenger import state as at
from surepath.learners.challenger.bound import set_incumbent
from surepath.learners.challenger.check import FIND_LEAST, NO_ROW, PASSED, ROUTINE, SHARE, THOROUGH, check
from surepath.learners.challenger.noise import (
    BERNSTEIN,
    HIDDEN,
    MOST_PRECISION,
    Learned,
    LearnedScratch,
    bernstein_row,
    halve,
    is_learned,
    learn,
    learn_missing,
    tabulate,
)
from surepath.learners.challenger.sampling import (
    BY_COVERAGE,
    BY_DIAMETER,
    BY_GUARD,
    BY_SEPARATION,
    FLOW,
    FREE,
    choose_by_price,
    cover,
    follow_flow,
    marked,
    separate,
    turn,
    weigh,
)
from surepath.learners.challenger.state import OWN, RIVAL, ROUNDING, SHIFTED, Evidence, Pairs, Scratch, Stages
from surepath.learners.runs import AGAIN, CERTIFY, CHECK, INCUMBENT, PLAN, REFRESH, RUN, TELL

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
        top[e] = high + 0.5 * ROUNDING * (max(abs(high), abs(least)) + abs(origin) + 0.5 * abs(total))
        low[e] = least - (top[e] - high)
        refresh_learned(learned, work.learned_work, pairs, seen, work, e)
        for side in range(2):
            for j in range(len(kind)):
                if kind[j] >= BERNSTEIN and is_learned(learned, e):
                    continue
                c = precision[side, j, e]
                a[side, j, e] = s / n if kind[j] == SHIFTED else s * np.sqrt(n + c) / n
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
    learned: Learned | None, learned_work: LearnedScratch | None, pairs: Pairs, seen: Evidence, work: Scratch, e: int
) -> None:
    """Recompute what the widths of arc e depend on in the entries that learn its noise, if it is learned.

    a and extra only decide which slopes to try: the best one is about (sqrt(V / 2B) + 1) span / n.
    """
    if learned is None:
        return
    if learned_work is None:
        return
    if not learned.learns[e]:
        return
    n = seen.visits[e] + seen.missing[e]
    span, bets, table = learned.span[e], learned_work.bets, learned.bernstein
    learned_work.per[e] = span / n
    learned_work.log_per[e] = learned.log_span[e] - np.log(n)
    learned_work.ceiling[e] = span * (1.0 + 1.01 * (np.log(2.0 * n + MOST_PRECISION) + 1.0) / n)
    work.variance[e] = span**2 * (seen.squares[e] + 0.25) / (n + 1.0)
    for side in range(2):
        if len(seen.product) > 0:
            halve(seen.product, bets, e, np.int64(side))
        for j in range(pairs.c.shape[1]):
            if pairs.kind[j] < BERNSTEIN:
                continue
            c = pairs.c[side, j, e]
            w = (seen.squares[e] + c) * (1.0 + 1e-15 * n)
            if pairs.kind[j] == BERNSTEIN:
                row = bernstein_row(table, w)
                learned_work.row[side, j, e], learned_work.beyond[side, j, e] = row, w - table.w[row]
            else:
                x = (role_mean(pairs.stages, seen, e, np.int64(side)) - learned.low[e]) / span
                x = x if side == RIVAL else 1.0 - x
                which = learned.which[side, j, e]
                tabulate(learned.betting, seen.product, bets, e, np.int64(side), np.int64(j), which, x)
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
        learn(learned, squares, product, n, mean, e, gain)
    if n == 0:
        origin[e] = gain
    visits[e] = n + 1
    sums[e] += gain - origin[e]


@optional_kernel
def count_missing(stages: Stages | None, pairs: Pairs, seen: Evidence, path: IntArray, told: int) -> None:
    """Count the rewards of an episode that broke off after so many stages."""
    if stages is None:
        return
    if not stages.fills:
        return
    for h in range(told, len(path)):
        e = path[h]
        if pairs.sigma[e] > 0.0:
            seen.missing[e] += 1
            learn_missing(pairs.learned, seen.product, e)


# Run ------------------------------------------------------------------------------------------------------------------
# Whole runs compiled, and single steps, through one entry point. A full check costs a few dozen passes; in between, a
# quick check evaluates the three rows around the best one of the last full check, and chooses from the same passes. A
# check that comes late only delays the stop.

CHECK_GROWTH = 0.01  # share by which the episodes grow between two full checks
KEEP = -1  # in place of a sampling rule: what is marked stays
# What RUN answers: the limit was reached, the check passed, or it is time for a pause.
CUT, DONE, PAUSED = 0.0, 1.0, 2.0


@bare_kernel
def act(
    graph: Graph,
    pairs: Pairs,
    seen: Evidence,
    work: Scratch,
    reality: Reality,
    rng: np.random.Generator,
    task: int,
    limit: int,
    pause: float,
    epsilon: float,
) -> float:
    """Perform one task: the one entry point, because each takes seconds to compile.

    PLAN checks and leaves the next path in work.path; 1 when the check has passed. AGAIN gives one more path by the
    marks as they are. TELL takes in the gains in work.gain of the first `limit` arcs in work.path, and refreshes all
    arcs of the path; the other rewards are missing. REFRESH refreshes every arc. RUN plays until the check passes,
    `limit` episodes are played, or `pause` episodes are: then it may be called again to go on. INCUMBENT leaves the
    path to recommend in work.incumbent, and so do CERTIFY and CHECK, which are about that path. CHECK runs the full
    check without eliminating; 1 when it passes. CERTIFY returns its certified gap, where there is one (`least_gap`):
    the least epsilon for which the full check passes, by bisection to one part in a thousand, from above.

    Every larger kernel is called from one place here: the compiler copies it into each.
    """
    memo, visits, guarded = seen.memo, seen.visits, seen.guarded
    known, slack = pairs.is_known, work.slack
    path, mark, gains = work.path, work.mark, work.gain
    sampling = pairs.sampling
    playing, telling = task == PLAN or task == RUN, task == TELL  # noqa: SIM109
    aim, how = epsilon, ROUTINE if playing else THOROUGH
    low, high = 0.0, np.inf
    if task == CERTIFY:
        aim, how = -np.inf, FIND_LEAST
    while True:
        if task == RUN and memo[at.EPISODES] >= pause:
            return PAUSED
        covering = playing and cover(pairs, seen, work)
        row, rule = 0, KEEP
        if not (covering or telling or task == AGAIN or task == REFRESH):  # noqa: SIM109
            set_incumbent(graph, pairs, seen, work)
            if task == INCUMBENT:
                return 0.0
            if playing and memo[at.EPISODES] < memo[at.NEXT_FULL] and memo[at.READY] == 1.0:
                work.grid[0, 0], work.grid[0, 1] = memo[at.ENTRY], memo[at.SLOPE]
                for e in range(len(seen.alive)):
                    work.live[e] = seen.alive[e]
                    work.cleared[e] = False
            else:
                row, least = check(graph, pairs, seen, work, aim, np.int64(how))
                if task == CHECK:
                    return 1.0 if row == PASSED else 0.0
                if task == CERTIFY:
                    if how == FIND_LEAST:
                        how, aim, high = THOROUGH, 0.0, (max(least, 0.0) + slack[0]) * (1.0 + 2.0 * SHARE)
                        continue
                    if row == PASSED:
                        high = aim
                    else:
                        low = aim
                    if not high - low > 1e-3 * high:
                        return high
                    aim = 0.5 * (low + high)
                    continue
                if row == PASSED:
                    return DONE
                memo[at.NEXT_FULL] = memo[at.EPISODES] + max(1.0, np.floor(CHECK_GROWTH * memo[at.EPISODES]))
                memo[at.READY] = 0.0
                if row != NO_ROW:  # for quick checks
                    memo[at.ENTRY], memo[at.SLOPE], memo[at.READY] = work.grid[row, 0], work.grid[row, 1], 1.0
        whose = turn(graph, pairs, seen, work) if playing or telling else FREE
        if playing and not covering:
            if whose != FREE:
                rule = BY_GUARD
            elif sampling in (BY_SEPARATION, BY_GUARD) and row != NO_ROW:
                if separate(graph, pairs, seen, work, row, epsilon):
                    return DONE
                if not marked(mark):  # every strong challenger differs in quiet arcs only: let all bounds shrink
                    rule = BY_DIAMETER
            else:
                rule = BY_COVERAGE if sampling == BY_COVERAGE else BY_DIAMETER
            if rule != KEEP:
                weigh(pairs, seen, work, np.int64(rule))
        if playing or task == AGAIN:
            along = False
            if whose == FLOW and not covering:
                along = follow_flow(graph, pairs, seen, work)
            thrifty = np.int64(1 if whose == FREE or covering else 0)
            if not along:
                heaviest(graph, mark, seen.alive, work.ahead, path)
                choose_by_price(pairs.price, graph, seen.open, work, thrifty)
            if task != RUN or memo[at.EPISODES] >= limit:
                return CUT
        if telling:
            count_missing(pairs.stages, pairs, seen, path, limit)
        if task != REFRESH:
            common = own = 0.0
            for h in range(limit if telling else len(path)):
                e = path[h]
                if telling:
                    gain = gains[h]
                else:
                    common, own = draw_luck(reality, rng, common, own, h)
                    gain = draw_step(reality, np.uint64(e), rng, common, own)
                if known[e]:
                    visits[e] += 1
                else:
                    take_in(pairs, seen, e, gain)
        for i in range(len(visits) if task == REFRESH else len(path)):
            e = i if task == REFRESH else path[i]
            refresh(pairs, seen, work, e)
            guarded[e] += 1 if whose == FLOW else 0
        if task != RUN:
            return 0.0
        memo[at.EPISODES] += 1


def least_gap(
    graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, reality: Reality, rng: np.random.Generator
) -> float:
    """Return the certified gap of the incumbent; infinite while an arc that is left is unvisited or sigma unbounded."""
    missing = bool((seen.alive & (seen.visits == 0) & ~pairs.is_known).any())
    if missing or len(pairs.size.tilt) > 0:
        act(graph, pairs, seen, work, reality, rng, INCUMBENT, 0, 0.0, 0.0)
        if missing or not work.unit[0] < HIDDEN:
            return np.inf
    return float(act(graph, pairs, seen, work, reality, rng, CERTIFY, 0, 0.0, 0.0))
