"""Bounding the difference of two paths: the passes on which Challenger's rules stand.

Legend: p the incumbent, q any other path, K the arcs in exactly one of the two, n visits, c the prior's precision,
k > 0 the slope of the Fenchel inequality, a = sigma sqrt(n + c) / n. On the event of the theorem, for all p, q = the
best path, every grid entry (c, prior) and every k at once,

    V(q) - V(p) <= G(q | p) = Vhat(q) - Vhat(p) + sum_K w_e + k [log(1/delta) + cost of the entry - log prior(p | q)],
    w_e = k [ h*(a_e / k) + 1/2 log(1 + n_e / c) + C(mu) ] - mu sigma_e sqrt(c) / n_e.

mu shifts the prior of each arc's tilt from half-normal (mu = 0) to a normal around mu / sqrt(c), cut at zero;
C(mu) = mu^2 / 2 + log(2 Phi(mu)), and h* is unchanged (see docs: "the theorem"). With weight rhat - w on the
incumbent and rhat + w off it, what q shares with p cancels, so the longest path IS the largest G.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.engine._jit import kernel
from surepath.engine.arrays import Graph
from surepath.engine.conjugate import Conjugate, conjugate

ONE_SIDED, TWO_SIDED, PER_ARC = 0, 1, 2
UNIFORM, DETOUR = 0, 1


class Pairs(NamedTuple):
    """What is fixed before the data."""

    sigma: FloatArray  # [N] sub-Gaussian factors
    is_known: BoolArray  # [N] reward known in advance
    c: FloatArray  # [J] precision of each grid entry
    prior: IntArray  # [J] UNIFORM or DETOUR
    cost: FloatArray  # [J] log(1/delta) + log(1 / weight) of each entry
    mu: float
    c_mu: float
    sides: int  # ONE_SIDED, TWO_SIDED or PER_ARC
    log_paths: float
    rho: float
    ratio: float  # of the grid of k
    conjugate: Conjugate


class Evidence(NamedTuple):
    """What has been seen, and what follows from it arc by arc (kept up by `refresh`)."""

    visits: IntArray  # [N]
    sums: FloatArray  # [N]
    mean: FloatArray  # [N]; the known reward on known arcs
    a: FloatArray  # [J, N]
    log_a: FloatArray  # [J, N]
    extra: FloatArray  # [J, N] 1/2 log(1 + n/c) + C(mu)
    shift: FloatArray  # [J, N] mu sigma sqrt(c) / n
    alive: BoolArray  # [N] not eliminated


class Work(NamedTuple):
    """Room for the passes."""

    weight: FloatArray  # [N]
    ahead: FloatArray  # [n_nodes + 1]
    behind: FloatArray  # [n_nodes + 1]
    live: BoolArray  # [N] alive and not yet cleared in this check
    incumbent: IntArray  # [H]
    on: BoolArray  # [N] arc of the incumbent
    path: IntArray  # [H]
    mark: FloatArray  # [N] sampling weights


@kernel
def refresh(pairs: Pairs, seen: Evidence, e: int) -> None:
    """Recompute what depends on the visits of arc e."""
    n = seen.visits[e]
    if pairs.is_known[e]:
        return
    if n == 0:
        seen.mean[e] = 0.0
        return
    seen.mean[e] = seen.sums[e] / n
    s = pairs.sigma[e]
    for j in range(len(pairs.c)):
        c = pairs.c[j]
        if s > 0.0:
            seen.a[j, e] = s * np.sqrt(n + c) / n
            seen.log_a[j, e] = np.log(seen.a[j, e])
            seen.extra[j, e] = 0.5 * np.log1p(n / c) + pairs.c_mu
            seen.shift[j, e] = pairs.mu * s * np.sqrt(c) / n
        else:
            seen.a[j, e] = 0.0


@kernel
def width(pairs: Pairs, seen: Evidence, j: int, k: float, log_k: float, e: int) -> float:
    """w_e for grid entry j and slope k; the arc must have been visited or be known."""
    a = seen.a[j, e]
    if a == 0.0:
        return 0.0
    if pairs.sides == ONE_SIDED:
        y = a / k
        return k * (conjugate(pairs.conjugate, y, seen.log_a[j, e] - log_k) + seen.extra[j, e]) - seen.shift[j, e]
    if pairs.sides == TWO_SIDED:
        return 0.5 * a * a / k + k * seen.extra[j, e]
    return a * np.sqrt(2.0 * (seen.extra[j, e] + pairs.cost[j]))


@kernel
def set_incumbent(graph: Graph, seen: Evidence, work: Work) -> None:
    """The empirically best path over the arcs that are left; the lowest arc wins a tie."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    ahead = work.ahead
    ahead[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            if seen.alive[e]:
                x = seen.mean[e] + ahead[target[e]]
                if x > best:
                    best = x
        ahead[i] = best
    for h in range(len(work.incumbent)):
        work.on[work.incumbent[h]] = False
    node = 0
    for h in range(len(work.incumbent)):
        best, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            if seen.alive[e]:
                x = seen.mean[e] + ahead[target[e]]
                if chosen < 0 or x > best:
                    best, chosen = x, e
        work.incumbent[h] = chosen
        node = target[chosen]
    for h in range(len(work.incumbent)):
        work.on[work.incumbent[h]] = True


@kernel
def challenge(graph: Graph, pairs: Pairs, seen: Evidence, work: Work, j: int, k: float) -> float:
    """Set weights and both passes for (entry j, slope k); returns the constant that turns path weights into G.

    Only live arcs and the incumbent's own count. G of the best path through arc e is then
    behind[source] + weight[e] + ahead[target] + constant.
    """
    first, target, stage_node = graph.first, graph.target, graph.stage_node
    sink = len(first) - 1
    horizon = len(work.incumbent)
    log_k = np.log(k)
    detour = pairs.prior[j] == DETOUR and pairs.sides != PER_ARC
    constant = 0.0
    if pairs.sides != PER_ARC:
        constant = k * pairs.cost[j]
        if not detour:
            constant += k * pairs.log_paths
    ahead, behind = work.ahead, work.behind
    ahead[sink] = 0.0
    for h in range(horizon - 1, -1, -1):
        own = work.incumbent[h]
        home = graph.source[own]
        degree = first[home + 1] - first[home]
        stay = leave = elsewhere = 0.0
        if detour:
            if degree > 1:
                stay = -k * np.log1p(-pairs.rho)
                leave = k * np.log((degree - 1) / pairs.rho)
            elsewhere = k * np.log(degree)
        for i in range(stage_node[h + 1] - 1, stage_node[h] - 1, -1):
            best = -np.inf
            toll = leave if i == home else elsewhere
            for e in range(first[i], first[i + 1]):
                if e == own:
                    w = width(pairs, seen, j, k, log_k, e)
                    constant += w - seen.mean[e]
                    work.weight[e] = seen.mean[e] - w + stay
                elif work.live[e]:
                    work.weight[e] = seen.mean[e] + width(pairs, seen, j, k, log_k, e) + toll
                else:
                    continue
                x = work.weight[e] + ahead[target[e]]
                if x > best:
                    best = x
            ahead[i] = best
    behind[:] = -np.inf
    behind[0] = 0.0
    for i in range(sink):
        here = behind[i]
        if here == -np.inf:
            continue
        for e in range(first[i], first[i + 1]):
            if work.live[e] or work.on[e]:
                x = here + work.weight[e]
                if x > behind[target[e]]:
                    behind[target[e]] = x
    return constant


@kernel
def strongest(graph: Graph, work: Work) -> bool:
    """After `challenge`: put into work.path the path of largest G that leaves the incumbent; False if there is none."""
    first, target = graph.first, graph.target
    best, through = -np.inf, -1
    for i in range(len(first) - 1):
        here = work.behind[i]
        if here == -np.inf:
            continue
        for e in range(first[i], first[i + 1]):
            if work.live[e] and not work.on[e]:
                x = here + work.weight[e] + work.ahead[target[e]]
                if x > best:
                    best, through = x, e
    if through < 0:
        return False
    # Back from the arc to the start, then on from it to the sink. The passes are kept as values only, so each step
    # looks for the arc that reproduces its node's value.
    stage = 0
    while graph.stage_node[stage + 1] <= graph.source[through]:
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
        for i in range(graph.stage_node[h], graph.stage_node[h + 1]):
            if work.behind[i] == -np.inf:
                continue
            for e in range(first[i], first[i + 1]):
                if target[e] == node and (work.live[e] or work.on[e]):
                    x = work.behind[i] + work.weight[e]
                    if chosen < 0 or x > top:
                        top, chosen = x, e
        work.path[h] = chosen
        node = graph.source[chosen]
    return True


@kernel
def slopes(pairs: Pairs, seen: Evidence, work: Work, j: int) -> tuple[float, float]:
    """The range of k worth trying for entry j: from one close, well visited pair to H wide, rarely visited arcs."""
    low, high, total = np.inf, 0.0, 0.0
    for e in range(len(seen.visits)):
        if work.live[e] and seen.a[j, e] > 0.0:
            square = seen.a[j, e] * seen.a[j, e]
            low, high = min(low, square), max(high, square)
    if high == 0.0:
        return 1.0, 1.0
    horizon = len(work.incumbent)
    bound = pairs.cost[j] + pairs.log_paths
    for h in range(horizon):
        e = work.incumbent[h]
        total = max(total, seen.extra[j, e])
    return np.sqrt(low / (2.0 * (bound + 2 * horizon * total))), np.sqrt(2 * horizon * high / (2.0 * pairs.cost[j]))
