"""Bounding the difference of two paths: the passes on which Challenger's rules stand.

Legend: p the incumbent, q any other path, K the arcs in exactly one of the two, n visits, c the precision of an arc's
prior (one for arcs of q, another for arcs of p), k > 0 the slope of the Fenchel inequality, a = sigma sqrt(n + c) / n.
On the event of the theorem (docs, "Challenger: the theorem"), for q = the best path, all p, every grid entry and every
k at once,

    V(q) - V(p) <= G(q | p) = Vhat(q) - Vhat(p) + sum_K w_e + k [cost of the entry - log prior(p | q)],
    w_e = k [ h*(a_e / k) + 1/2 log(1 + n_e / c_e) ],      cost = log(1/delta) + log(1/weight of the entry).

Every path has one arc in each stage. So let an arc of q off the incumbent weigh rhat + w of its own minus rhat - w of
the incumbent's arc in its stage, and an arc of the incumbent nothing: then the longest path over these weights IS the
largest G, and what q shares with p adds nothing, not even a rounding, however noisy it is. Everything here is one pass
over the arcs; nothing allocates.

Paths that differ in arcs without noise only need no margin: the limit k -> 0, where every noisy arc of K adds infinity.
In numbers that is a quiet row: k = 0, and each noisy arc of K adds a wall, higher than twice any difference of values.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.jit import Whole, hot_kernel, inner_kernel
from surepath.learners.challenger.conjugate import conjugate
from surepath.learners.challenger.state import (
    DETOUR,
    HALF_NORMAL,
    NO_PRIOR,
    NORMAL,
    OWN,
    RIVAL,
    Evidence,
    Pairs,
    Scratch,
)
from surepath.learners.noise import ROUNDING


@inner_kernel
def refresh(pairs: Pairs, seen: Evidence, work: Scratch, e: int) -> None:
    """Recompute what depends on the visits of arc e."""
    n = seen.visits[e]
    if pairs.is_known[e] or n == 0:
        return
    mean = seen.origin[e] + seen.sums[e] / n
    work.mean[e] = mean
    work.top[e] = mean
    s = pairs.sigma[e]
    if s > 0.0:
        work.top[e] = mean + 0.5 * ROUNDING * (abs(mean) + abs(seen.origin[e]) + 0.5 * abs(seen.sums[e]))
        for side in range(2):
            for j in range(pairs.c.shape[1]):
                c = pairs.c[side, j, e]
                work.a[side, j, e] = s * np.sqrt(n + c) / n
                work.log_a[side, j, e] = np.log(work.a[side, j, e])
                work.extra[side, j, e] = 0.5 * np.log1p(n / c)


@hot_kernel
def take_in(seen: Evidence, e: int, gain: float) -> None:
    """Count one gain of arc e; sums are relative to the first gain, so that large numbers lose nothing."""
    if seen.visits[e] == 0:
        seen.origin[e] = gain
    seen.visits[e] += 1
    seen.sums[e] += gain - seen.origin[e]


@hot_kernel
def width(pairs: Pairs, work: Scratch, side: Whole, j: int, k: float, log_k: float, e: int | np.uint64) -> float:
    """w_e for grid entry j and slope k; 0 on arcs without noise. The arc must be known or visited."""
    a = work.a[side, j, e]
    if a == 0.0:
        return 0.0
    if k < 0.0:
        return -k
    if pairs.kind[j] == HALF_NORMAL:
        return float(k * (conjugate(pairs.conjugate, a / k, work.log_a[side, j, e] - log_k) + work.extra[side, j, e]))
    if pairs.kind[j] == NORMAL:
        return float(0.5 * a * a / k + k * work.extra[side, j, e])
    return float(a * np.sqrt(2.0 * (work.extra[side, j, e] + pairs.cost[j])))


@inner_kernel
def heaviest(graph: Graph, seen: Evidence, weight: FloatArray, ahead: FloatArray, path: IntArray) -> float:
    """The path of largest weight over the arcs that are left, the lowest arc where two tie; returns its weight."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    ahead[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            if seen.alive[e]:
                x = weight[e] + ahead[target[e]]
                if x > best:
                    best = x
        ahead[i] = best
    node = 0
    for h in range(len(path)):
        best, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            if seen.alive[e]:
                x = weight[e] + ahead[target[e]]
                if chosen < 0 or x > best:
                    best, chosen = x, e
        path[h] = chosen
        node = target[chosen]
    return float(ahead[0])


@inner_kernel
def set_incumbent(graph: Graph, seen: Evidence, work: Scratch) -> None:
    """The incumbent is the empirically best path over the arcs that are left.

    Means count from the largest of their stage: every path has one arc of each stage, and sums of small differences
    lose nothing where sums of large means would. Also bounds what rounding can do to G: a sum of H weights, each a
    difference of means plus widths. Where G is to be at most epsilon the widths add up to no more than epsilon and the
    differences, so the differences set the scale.
    """
    horizon, total = len(work.incumbent), 0.0
    for h in range(horizon):
        work.on[work.incumbent[h]] = False
        start, stop = graph.first[graph.stage_node[h]], graph.first[graph.stage_node[h + 1]]
        low, high = np.inf, -np.inf
        for e in range(start, stop):
            if seen.alive[e]:
                low, high = min(low, work.mean[e]), max(high, work.mean[e])
        for e in range(start, stop):
            work.weight[e] = work.mean[e] - high
        total += high - low
    heaviest(graph, seen, work.weight, work.ahead, work.incumbent)
    for h in range(horizon):
        work.on[work.incumbent[h]] = True
    work.slack[0] = 2.0 * ROUNDING * (horizon + 4) * total


@hot_kernel
def passes(graph: Graph, work: Scratch) -> None:
    """Both passes over work.weight, where an arc that does not count has -inf; no weight may be NaN."""
    first, target, weight, ahead, behind = graph.first, graph.target, work.weight, work.ahead, work.behind
    sink, zero, one = np.uint64(len(first) - 1), np.uint64(0), np.uint64(1)
    ahead[sink] = 0.0
    i, stop = sink, np.uint64(first[sink])
    while i > zero:
        behind[i] = -np.inf
        i -= one
        start = np.uint64(first[i])
        best = -np.inf
        for e in range(start, stop):
            x = weight[e] + ahead[np.uint64(target[e])]
            if x > best:
                best = x
        ahead[i] = best
        stop = start
    behind[zero] = 0.0
    start = zero
    for node in range(sink):
        here, stop = behind[node], np.uint64(first[np.uint64(node) + one])
        for e in range(start, stop):
            x, j = here + weight[e], np.uint64(target[e])
            if x > behind[j]:
                behind[j] = x
        start = stop


@inner_kernel
def challenge(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, row: Whole) -> float:
    """Weights and both passes for one row of the grid; returns the constant that turns path weights into G.

    Only live arcs and the incumbent's own count. The largest G through arc e is then
    behind[source] + weight[e] + ahead[target] + constant.
    """
    first, stage_node = graph.first, graph.stage_node
    j, k = int(work.grid[row, 0]), work.grid[row, 1]
    quiet = k < 0.0
    log_k = 0.0 if quiet else np.log(k)
    detour = not quiet and pairs.prior[j] == DETOUR
    constant = 0.0
    if pairs.prior[j] != NO_PRIOR and not quiet:
        constant = k * pairs.cost[j]
        if not detour:
            constant += k * pairs.log_paths
    for h in range(len(work.incumbent)):
        own = work.incumbent[h]
        home = graph.source[own]
        stay = leave = elsewhere = 0.0
        degree = first[home + 1] - first[home]
        if detour and degree > 1:
            stay = -k * np.log1p(-pairs.rho)
            leave = k * np.log((degree - 1) / pairs.rho)
            elsewhere = k * np.log(degree)
        margin = width(pairs, work, np.int64(OWN), j, k, log_k, np.uint64(own))
        low = work.mean[own] - (work.top[own] - work.mean[own])
        for e in range(np.uint64(first[stage_node[h]]), np.uint64(first[stage_node[h + 1]])):
            if work.live[e]:
                toll = leave if graph.source[e] == home else elsewhere
                x = (work.top[e] - low) + (margin + width(pairs, work, np.int64(RIVAL), j, k, log_k, e)) + toll
                work.weight[e] = x if x == x else np.inf  # what is no number proves nothing
            else:
                work.weight[e] = -np.inf
        work.weight[own] = stay
    passes(graph, work)
    return constant


@inner_kernel
def trace(graph: Graph, work: Scratch, through: int) -> None:
    """After `challenge`: the path of largest G through one arc, into work.path.

    Only values are kept, so each step back looks for the arc that gives its node's value. O(N) at worst.
    """
    first, target, stage_node = graph.first, graph.target, graph.stage_node
    stage = 0
    while stage_node[stage + 1] <= graph.source[through]:
        stage += 1
    work.path[stage] = through
    node = target[through]
    for h in range(stage + 1, len(work.path)):
        top, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            if work.live[e] or work.on[e]:
                x = work.weight[e] + work.ahead[target[e]]
                if chosen < 0 or x > top:
                    top, chosen = x, e
        work.path[h] = chosen
        node = target[chosen]
    node = graph.source[through]
    for h in range(stage - 1, -1, -1):
        top, chosen = -np.inf, -1
        for e in range(first[stage_node[h]], first[stage_node[h + 1]]):
            if target[e] == node and (work.live[e] or work.on[e]) and work.behind[graph.source[e]] > -np.inf:
                x = work.behind[graph.source[e]] + work.weight[e]
                if chosen < 0 or x > top:
                    top, chosen = x, e
        work.path[h] = chosen
        node = graph.source[chosen]
