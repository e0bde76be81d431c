"""Bounds that hold under any dependence inside an episode: stage pairs whose evidence is averaged, never multiplied.

Legend: p the incumbent, q any other path, x = q_h and y = p_h their arcs of one stage, k > 0 a slope, j an entry with
weight w_j, pi(y | x) the prior over wrong arcs, W(k) the width of an arc. By the theorem (docs, shared luck), for q the
best path, all p and times,

    S0      mu_x - mu_y <= rhat_x - rhat_y + W_x(k) + W_y(k) + k log(1 / (delta pi w_j))        for every k and j,
    S       V(q) - V(p) <= sum over stages of [ rhat_x - rhat_y + w(x, y) ] + kappa / delta     for every kappa > 0,
            w(x, y) = W_x(k) + W_y(k) + k [ log(1 / (pi w_j)) + log(k / kappa) - 1 ].

S0 of a pair stays proven, so its least value is kept; w of different times must never be added. Each stage takes the
least of the kept S0 bound, w now, and what the declared ranges allow; kappa / delta is added once. A check computes w
for a grid of kappa; between full checks the entry and slope that were best for an arc are taken: any slope is valid.
"""

from __future__ import annotations

import numpy as np

from surepath._checks import FloatArray
from surepath.kernels.jit import Whole, hot_kernel, inner_kernel, optional_kernel
from surepath.kernels.sweeps import Graph
from surepath.learners.challenger import state as at
from surepath.learners.challenger.noise import BERNSTEIN, is_learned, learned_width
from surepath.learners.challenger.state import OWN, RIVAL, Evidence, Pairs, Scratch, Stages, StageScratch, conjugate

KAPPA_RATIO = 1.6
SLOPE_STEP, BELOW = 1.2, 3  # of the slopes tried for a pair: how far apart, how many below the one that suits S0


@hot_kernel
def width_at(pairs: Pairs, work: Scratch, side: Whole, j: int, k: float, log_k: float, e: int) -> float:
    """Compute W(k) of one arc for entry j; 0 where it has no noise."""
    a, kind, learned = work.a[side, j, e], pairs.kind[j], pairs.learned
    if a == 0.0:
        return 0.0
    if kind >= BERNSTEIN and is_learned(learned, e):
        return float(learned_width(learned, work.learned_work, kind, side, np.int64(j), k, log_k, e))
    return float(k * (conjugate(pairs.conjugate, a / k, work.log_a[side, j, e] - log_k) + work.extra[side, j, e]))


@inner_kernel
def fill_kappas(stages: Stages, pairs: Pairs, seen: Evidence, work: Scratch) -> int:
    """Fill in the rows of a check; return how many there are.

    From a fifth of delta times the least sigma / sqrt(n) of an arc to a third of delta H sqrt(2) times the largest.
    QUIET is the wall of a quiet row where arcs have no noise, else another row of kept bounds.
    """
    alive, visits, grid = seen.alive, seen.visits, work.grid
    a, variance, mean = work.a, work.variance, work.mean
    low, high, size = np.inf, 0.0, 0.0
    quiet = False
    for e in range(len(alive)):
        if alive[e]:
            size = max(size, abs(mean[e]))
            if a[RIVAL, 0, e] > 0.0:
                s = np.sqrt(variance[e] / visits[e])
                low, high = min(low, s), max(high, s)
            else:
                quiet = True
    for row in range(at.FIRST_KAPPA):
        grid[row, 0], grid[row, 1] = 0, 0.0
    if quiet:
        grid[at.QUIET, 1] = -8.0 * len(work.incumbent) * size if size > 0.0 else -1.0
    if high == 0.0:
        return at.FIRST_KAPPA
    least, most = 0.2 * stages.delta * low, stages.delta * len(work.incumbent) * np.sqrt(2.0) * high / 3.0
    ratio = max(KAPPA_RATIO, (most / least) ** (1.0 / (at.MOST_KAPPAS - 1)))
    rows, kappa = at.FIRST_KAPPA, least
    while rows < at.FIRST_KAPPA + at.MOST_KAPPAS and (rows == at.FIRST_KAPPA or kappa < most * ratio):
        grid[rows, 0], grid[rows, 1] = 0, kappa
        rows += 1
        kappa *= ratio
    return rows


@optional_kernel
def fill_stage_rows(
    stages: Stages | None,
    stage_work: StageScratch,
    graph: Graph,
    pairs: Pairs,
    seen: Evidence,
    work: Scratch,
    keep: Whole,
) -> int:
    """Bound every live arc against the incumbent's arc of its stage, row by row; return how many rows there are.

    With `keep` the S0 bounds are kept, and entry and slope for quick checks: they are evidence. The slopes tried for a
    pair lie around sqrt(A / C), A the mean of both a^2 and C all that is paid per slope in S0; larger ones suit large
    kappa.
    """
    if stages is None:
        return 0
    grid, bound, tried = work.grid, stage_work.bound, stage_work.tried
    first, source, stage_node = graph.first, graph.source, graph.stage_node
    top, lows, a = work.top, work.low, work.a
    extra, cost, alive = work.extra, pairs.cost, seen.alive
    kept, kept_of, incumbent = seen.kept, seen.kept_of, work.incumbent
    rows = fill_kappas(stages, pairs, seen, work)
    paid = -np.log(stages.delta)
    focus = seen.memo[at.SLOPE]  # kappa of the last full check
    log_focus = np.log(focus if focus > 0.0 else max(grid[(at.FIRST_KAPPA + rows) // 2, 1], 1e-300))
    wall = -grid[at.QUIET, 1]
    tried[:, 1] = np.inf
    for h in range(len(incumbent)):
        y = incumbent[h]
        node, low = source[y], lows[y]
        for x in range(first[stage_node[h]], first[stage_node[h + 1]]):
            if x == y or not alive[x]:
                continue
            difference = top[x] - low
            range_bound = stages.most[x] - stages.least[y]
            if a[RIVAL, 0, x] == 0.0 and a[OWN, 0, y] == 0.0:
                if keep == 1:
                    seen.slope[x] = 0.0
                for row in range(1, rows):
                    bound[row, x] = difference
                continue
            share = stages.near[node] if source[x] == node else stages.far
            least = np.inf
            for j in range(len(cost)):
                if pairs.prior[j] != at.BY_STAGE:
                    continue
                fixed = cost[j] + share
                per = fixed + extra[RIVAL, j, x] + extra[OWN, j, y]
                k = np.sqrt(0.5 * (a[RIVAL, j, x] ** 2 + a[OWN, j, y] ** 2) / per) / SLOPE_STEP**BELOW
                for i in range(j * at.SLOPE_POINTS, (j + 1) * at.SLOPE_POINTS):
                    log_k = np.log(k)
                    w = width_at(pairs, work, np.int64(RIVAL), j, k, log_k, x)
                    w += width_at(pairs, work, np.int64(OWN), j, k, log_k, y)
                    least = min(least, w + k * fixed)
                    tried[i, 0], tried[i, 1] = k, w + k * (fixed - paid - 1.0 + log_k)
                    k *= SLOPE_STEP
            plain = difference + least
            if kept_of[x] == y:
                plain = min(plain, kept[x])
            if keep == 1:
                kept[x], kept_of[x] = plain, y
            plain = min(plain, range_bound)
            bound[at.KEPT, x] = plain
            bound[at.QUIET, x] = difference + wall if wall > 0.0 else plain
            best, where = np.inf, 0
            for i in range(len(tried)):
                value = tried[i, 1] - tried[i, 0] * log_focus
                if value < best:
                    best, where = value, i
            if keep == 1:
                seen.entry[x], seen.slope[x] = where // at.SLOPE_POINTS, tried[where, 0]
            for row in range(at.FIRST_KAPPA, rows):
                best, log_kappa = np.inf, np.log(grid[row, 1])
                for i in range(len(tried)):
                    best = min(best, tried[i, 1] - tried[i, 0] * log_kappa)
                bound[row, x] = min(plain, difference + best)
    fill_totals(stages.total, graph, pairs, seen, work, bound[at.TOTAL])
    return rows


@hot_kernel
def whole_plays(graph: Graph, pairs: Pairs, seen: Evidence, first_arc: int, horizon: int) -> int:
    """Return how many episodes played the plan that begins with this arc; 0 if its arcs with noise do not agree."""
    count, e = 0, first_arc
    for _ in range(horizon):
        if pairs.sigma[e] > 0.0:
            n = seen.visits[e] + seen.missing[e]
            if n == 0 or (count > 0 and n != count):
                return 0
            count = n
        e = graph.first[graph.target[e]]
    return int(count)


@optional_kernel
def fill_totals(
    total: float | None, graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, bound: FloatArray
) -> None:
    """Bound the plans by the totals of the episodes that played them, where plans share no step: S0 for whole plans.

    The bound of a plan stands at its first arc, 0 at the others. An episode that broke off without its missing rewards
    being counted leaves the visits along its plan apart, and nothing is proven by totals of it any more.
    """
    if total is None:
        return
    first, target, incumbent, horizon = graph.first, graph.target, work.incumbent, len(work.incumbent)
    m = whole_plays(graph, pairs, seen, incumbent[0], horizon)
    for start in range(first[0], first[1]):
        e, least, n = start, np.inf, whole_plays(graph, pairs, seen, start, horizon)
        for j in range(len(pairs.cost)):
            if pairs.prior[j] != at.BY_PLAN or n == 0 or m == 0:
                continue
            c, own = pairs.c[RIVAL, j, start], pairs.c[OWN, j, incumbent[0]]
            a, b = total * np.sqrt(n + c) / n, total * np.sqrt(m + own) / m
            fixed = pairs.cost[j] + pairs.prior_cost[j] + 0.5 * np.log1p(n / c) + 0.5 * np.log1p(m / own)
            k = np.sqrt(0.5 * (a * a + b * b) / fixed) / SLOPE_STEP**BELOW
            for _ in range(at.SLOPE_POINTS):
                both = conjugate(pairs.conjugate, a / k, np.log(a / k))
                both += conjugate(pairs.conjugate, b / k, np.log(b / k))
                least = min(least, k * (both + fixed))
                k *= SLOPE_STEP
        for h in range(horizon):
            least += work.top[e] - work.low[incumbent[h]]
            bound[e] = 0.0
            e = first[target[e]]
        bound[start] = least


@optional_kernel
def fill_quick_row(
    stages: Stages | None,
    stage_work: StageScratch,
    graph: Graph,
    pairs: Pairs,
    seen: Evidence,
    work: Scratch,
    kappa: float,
) -> None:
    """Bound every live arc by the entry and slope of the last full check, for any kappa; with kappa 0 by totals."""
    if stages is None:
        return
    bound, ceiling, slope = stage_work.bound, stage_work.ceiling, seen.slope
    first, source, stage_node = graph.first, graph.source, graph.stage_node
    top, lows, incumbent = work.top, work.low, work.incumbent
    kept, kept_of, alive = seen.kept, seen.kept_of, seen.alive
    paid = -np.log(stages.delta)
    if kappa == 0.0:
        slope[:], ceiling[:] = 0.0, np.inf
        fill_totals(stages.total, graph, pairs, seen, work, bound[at.QUICK])
        return
    for h in range(len(incumbent)):
        y = incumbent[h]
        node, low = source[y], lows[y]
        for x in range(first[stage_node[h]], first[stage_node[h + 1]]):
            if x == y or not alive[x]:
                continue
            difference, k = top[x] - low, slope[x]
            ceiling[x] = stages.most[x] - stages.least[y]
            if kept_of[x] == y:
                ceiling[x] = min(ceiling[x], kept[x])
            if work.a[RIVAL, 0, x] == 0.0 and work.a[OWN, 0, y] == 0.0:
                bound[at.QUICK, x], slope[x] = difference, 0.0
            elif k > 0.0:
                j, log_k = seen.entry[x], np.log(k)
                w = width_at(pairs, work, np.int64(RIVAL), j, k, log_k, x)
                w += width_at(pairs, work, np.int64(OWN), j, k, log_k, y)
                share = stages.near[node] if source[x] == node else stages.far
                bound[at.QUICK, x] = difference + w + k * (pairs.cost[j] + share - paid - 1.0 + log_k)
            else:
                bound[at.QUICK, x] = np.inf  # the incumbent has changed: without noise then, with noise now


@optional_kernel
def stage_weights(
    stages: Stages | None, stage_work: StageScratch, graph: Graph, seen: Evidence, work: Scratch, row: Whole
) -> float:
    """Put the bounds of a row into work.weight, -inf where an arc does not count; return kappa / delta."""
    if stages is None:
        return 0.0
    first, stage_node, incumbent = graph.first, graph.stage_node, work.incumbent
    weight, live, kappa = work.weight, work.live, work.grid[row, 1]
    bound, ceiling, slope = stage_work.bound, stage_work.ceiling, seen.slope
    log_kappa = np.log(kappa) if kappa > 0.0 else 0.0
    for h in range(len(incumbent)):
        work.leaving[h] = work.meeting[h] = 0.0
        for e in range(np.uint64(first[stage_node[h]]), np.uint64(first[stage_node[h + 1]])):
            if not live[e]:
                weight[e] = -np.inf
                continue
            x = bound[row, e]
            if row == at.QUICK:
                x = min(x - slope[e] * log_kappa, ceiling[e])
            weight[e] = x if x == x else np.inf  # NaN proves nothing
        weight[incumbent[h]] = 0.0
    return float(kappa / stages.delta) if kappa > 0.0 else 0.0
