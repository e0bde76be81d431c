"""Bounding the difference of two paths: the passes that Challenger's rules are made of.

Legend: p the incumbent, q any other path, K the arcs in exactly one of the two, n visits, c the precision of an arc's
prior (one for arcs of q, another for arcs of p), k > 0 the slope of the Fenchel inequality, a = sigma sqrt(n + c) / n.
On the event of the theorem (docs, "Challenger: the theorem"), for q = the best path, all p, every grid entry and every
k at once,

    V(q) - V(p) <= G(q | p) = Vhat(q) - Vhat(p) + sum_K w_e + k [cost of the entry - log prior(p | q)],
    w_e = k [ h*(a_e / k) + 1/2 log(1 + n_e / c_e) ],      cost = log(1/delta) + log(1/weight of the entry).

So let an arc of q off the incumbent weigh rhat + w of its own minus rhat - w of the incumbent's arc in its stage, and
an arc of the incumbent nothing: the longest path over these weights is the largest G. Everything here is one pass over
the arcs; nothing allocates. Paths that differ in arcs without noise only need no margin: in a quiet row, k = 0, each
noisy arc of K adds a wall, higher than twice any difference of values.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.jit import Whole, folded_kernel
from surepath.kernels.sweeps import Graph, heaviest
from surepath.learners.challenger import state as at
from surepath.learners.challenger.noise import BERNSTEIN, is_learned, largest_sigma, learned_width
from surepath.learners.challenger.state import (
    DETOUR,
    EXCURSION,
    OWN,
    RIVAL,
    ROUNDING,
    SHIFTED,
    Evidence,
    Pairs,
    Scratch,
    Walks,
    conjugate,
)


@folded_kernel
def fill_widths(pairs: Pairs, work: Scratch, row: Whole) -> None:
    """Put w_e of every live arc and of the incumbent's own into work.weight, for one row of the grid.

    It is 0 on arcs without noise. Arcs must be known or visited.
    """
    j, k = np.uint64(work.grid[row, 0]), work.grid[row, 1]
    kind, table = pairs.kind[j], pairs.conjugate
    learned, learned_work = pairs.learned, work.learned_work
    sigma, c, tilt = pairs.sigma, pairs.c, pairs.tilt
    all_a, log_a, extra = work.a, work.log_a, work.extra
    weight, live, on = work.weight, work.live, work.on
    quiet = k < 0.0
    log_k = 0.0 if quiet else np.log(k)
    for e in range(np.uint64(len(live))):
        if not live[e] and not on[e]:
            continue
        side = np.uint64(OWN if on[e] else RIVAL)
        a = all_a[side, j, e]
        if a == 0.0:
            w = 0.0
        elif quiet:
            w = -k
        elif kind >= BERNSTEIN and is_learned(learned, e):
            w = learned_width(learned, learned_work, kind, side, j, k, log_k, e)
        elif kind != SHIFTED:
            w = k * (conjugate(table, a / k, log_a[side, j, e] - log_k) + extra[side, j, e])
        else:
            off = tilt[j, e] - a / k
            w = 0.5 * sigma[e] * a / k + k * (0.5 * c[side, j, e] * off * off + extra[side, j, e])
        weight[e] = w


@folded_kernel
def set_incumbent(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> None:
    """Set the incumbent: the empirically best path over the arcs that are left.

    Means count from the largest of their stage, so that large ones lose nothing. Also bounds what rounding can do to
    G, a sum of H weights of the size of the differences of means.
    """
    memo, unit, slack = seen.memo, work.unit, work.slack
    incumbent, weight, mean = work.incumbent, work.weight, work.mean
    on, ahead = work.on, work.ahead
    alive, first, stage_node = seen.alive, graph.first, graph.stage_node
    unit[0] = largest_sigma(pairs.size, memo[at.RSS], memo[at.N_SQUARES])
    horizon, total = len(incumbent), 0.0
    for h in range(horizon):
        on[incumbent[h]] = False
        start, stop = first[stage_node[h]], first[stage_node[h + 1]]
        low, high = np.inf, -np.inf
        for e in range(start, stop):
            if alive[e]:
                low, high = min(low, mean[e]), max(high, mean[e])
        for e in range(start, stop):
            weight[e] = mean[e] - high
        total += high - low
    heaviest(graph, weight, alive, ahead, incumbent)
    for h in range(horizon):
        on[incumbent[h]] = True
    slack[0] = 2.0 * ROUNDING * (horizon + 4) * total


@folded_kernel
def passes(graph: Graph, work: Scratch, single: Whole) -> None:
    """Make both passes over work.weight, where an arc that does not count has -inf; no weight may be NaN.

    With `single` the incumbent's nodes end an excursion and start the next: what was before or comes after is left out.
    """
    first, target, weight = graph.first, graph.target, work.weight
    ahead, behind = work.ahead, work.behind
    source, incumbent = graph.source, work.incumbent
    leaving, meeting = work.leaving, work.meeting
    stage_node, one, stages = graph.stage_node, np.uint64(1), len(incumbent)
    sink = np.uint64(len(first) - 1)
    ahead[sink] = 0.0
    i, stop = sink, np.uint64(first[sink])
    for h in range(stages - 1, -1, -1):
        low = np.uint64(stage_node[h])
        while i > low:
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
        if single == 1:
            ahead[source[incumbent[h]]] = meeting[h]
    behind[0] = 0.0
    start = np.uint64(0)
    for h in range(stages):
        if single == 1:
            behind[source[incumbent[h]]] = leaving[h]
        for node in range(np.uint64(stage_node[h]), np.uint64(stage_node[h + 1])):
            here, stop = behind[node], np.uint64(first[np.uint64(node) + one])
            for e in range(start, stop):
                x, j = here + weight[e], np.uint64(target[e])
                if x > behind[j]:
                    behind[j] = x
            start = stop


@folded_kernel
def challenge(walks: Walks, graph: Graph, pairs: Pairs, work: Scratch, row: Whole, single: Whole) -> float:
    """Turn the widths of a row in work.weight into weights; returns the constant that turns weights into G.

    Only live arcs and the incumbent's own count. After `passes` the largest G through arc e, of a path or with `single`
    of one excursion, is behind[source] + weight[e] + ahead[target] + constant.

    A path under the excursion prior pays the constant for each excursion. One excursion under the detour prior pays for
    as many shared choices as there can be, since which nodes the two paths share is not known.
    """
    first, source = graph.first, graph.source
    stage_node, incumbent = graph.stage_node, work.incumbent
    weight, top, lows = work.weight, work.top, work.low
    live, leaving, meeting = work.live, work.leaving, work.meeting
    before, after, rho = walks.before, walks.after, walks.rho
    j, k, unit = int(work.grid[row, 0]), work.grid[row, 1], work.unit[0]
    prior, toll_k = pairs.prior[j], unit * k
    constant, stay = toll_k * (pairs.cost[j] + pairs.toll[j]), 0.0
    leave_by, each = 1.0, 0.0
    quiet = k < 0.0
    walk = not quiet and prior in (DETOUR, EXCURSION)
    if quiet:
        constant, unit = 0.0, 1.0
    elif prior == DETOUR:
        stay, leave_by = -toll_k * np.log1p(-rho), rho
    elif prior == EXCURSION and single == 0:
        constant, each = 0.0, constant
    for h in range(len(incumbent)):
        own = incumbent[h]
        node = source[own]
        leave = elsewhere = 0.0
        degree = first[node + 1] - first[node]
        if walk and degree > 1:
            leave = each + toll_k * np.log((degree - 1) / leave_by)
            elsewhere = toll_k * np.log(degree)
        leaving[h] = stay * before[node]
        meeting[h] = stay * after[node]
        margin = unit * weight[own]
        low = lows[own]
        for e in range(np.uint64(first[stage_node[h]]), np.uint64(first[stage_node[h + 1]])):
            if live[e]:
                toll = leave if source[e] == node else elsewhere
                x = (top[e] - low) + (margin + unit * weight[e]) + toll
                weight[e] = x if x == x else np.inf  # what is no number proves nothing
            else:
                weight[e] = -np.inf
        weight[own] = stay if degree > 1 else 0.0
    return float(constant)


@folded_kernel
def trace(graph: Graph, work: Scratch, through: int, single: Whole) -> None:
    """Write the path of largest G through one arc into work.path, after `challenge`.

    Only values are kept, so each step back searches for the arc that gives its node's value. O(N) at worst. With
    `single` it is the incumbent but for one excursion.
    """
    first, target = graph.first, graph.target
    source, stage_node = graph.source, graph.stage_node
    path, incumbent, weight = work.path, work.incumbent, work.weight
    ahead, behind = work.ahead, work.behind
    stage = 0
    while stage_node[stage + 1] <= source[through]:
        stage += 1
    path[stage] = through
    node = target[through]
    for h in range(stage + 1, len(path)):
        if single == 1 and node == source[incumbent[h]]:
            path[h] = incumbent[h]
            node = target[path[h]]
            continue
        top, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            x = weight[e] + ahead[target[e]]
            if x > top:
                top, chosen = x, e
        path[h] = chosen
        node = target[chosen]
    node = source[through]
    for h in range(stage - 1, -1, -1):
        if single == 1 and node == target[incumbent[h]]:
            path[h] = incumbent[h]
            node = source[path[h]]
            continue
        top, chosen = -np.inf, -1
        for e in range(first[stage_node[h]], first[stage_node[h + 1]]):
            x = behind[source[e]] + weight[e]
            if target[e] == node and x > top:
                top, chosen = x, e
        path[h] = chosen
        node = source[chosen]
