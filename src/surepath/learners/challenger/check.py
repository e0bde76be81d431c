"""Bounding the difference of two paths, and Challenger's stop: whether any challenger can still beat the incumbent.

Legend: p the incumbent, q any other path, K the arcs in exactly one of the two, n visits, c the precision of an arc's
prior, k > 0 a slope, a = sigma sqrt(n + c) / n. By the theorem (docs), for q the best path, all p, entries and k,

    V(q) - V(p) <= G(q | p) = Vhat(q) - Vhat(p) + sum_K w_e + k [cost of the entry - log prior(p | q)],
    w_e = k [ h*(a_e / k) + 1/2 log(1 + n_e / c_e) ],      cost = log(1/delta) + log(1/weight of the entry).

So let an arc of q off the incumbent weigh rhat + w of its own minus rhat - w of the incumbent's arc in its stage, and
an arc of the incumbent nothing: the longest path over these weights is the largest G. Everything here is one pass over
the arcs; nothing allocates. Paths that differ in arcs without noise only need no margin: in a quiet row, k = 0, each
noisy arc of K adds a wall, higher than twice any difference of values.
"""

from __future__ import annotations

import numpy as np

from surepath._checks import BoolArray
from surepath.kernels.jit import Whole, bare_kernel, folded_kernel, hot_kernel, inner_kernel, optional_kernel
from surepath.kernels.sweeps import Graph, heaviest
from surepath.learners.challenger import state as at
from surepath.learners.challenger.noise import BERNSTEIN, convex_from, is_learned, largest_sigma, learned_width
from surepath.learners.challenger.stages import fill_stage_rows, stage_weights
from surepath.learners.challenger.state import OWN, RIVAL, SHIFTED, Evidence, Pairs, Scratch, Walks, conjugate


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
    slack[0] = 2.0 * at.ROUNDING * (horizon + 4) * total


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
    prior, unit_k = pairs.prior[j], unit * k
    constant, stay = unit_k * (pairs.cost[j] + pairs.prior_cost[j]), 0.0
    leave_by, each = 1.0, 0.0
    quiet = k < 0.0
    walk = not quiet and prior in (at.DETOUR, at.EXCURSION)
    if quiet:
        constant, unit = 0.0, 1.0
    elif prior == at.DETOUR:
        stay, leave_by = -unit_k * np.log1p(-rho), rho
    elif prior == at.EXCURSION and single == 0:
        constant, each = 0.0, constant
    for h in range(len(incumbent)):
        own = incumbent[h]
        node = source[own]
        leave = elsewhere = 0.0
        degree = first[node + 1] - first[node]
        if walk and degree > 1:
            leave = each + unit_k * np.log((degree - 1) / leave_by)
            elsewhere = unit_k * np.log(degree)
        leaving[h] = stay * before[node]
        meeting[h] = stay * after[node]
        margin = unit * weight[own]
        low = lows[own]
        for e in range(np.uint64(first[stage_node[h]]), np.uint64(first[stage_node[h + 1]])):
            if live[e]:
                paid = leave if source[e] == node else elsewhere
                x = (top[e] - low) + (margin + unit * weight[e]) + paid
                weight[e] = x if x == x else np.inf  # NaN proves nothing
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


# Slopes ---------------------------------------------------------------------------------------------------------------
# The rows of the grid, (entry, slope), that a full check evaluates; any set of slopes keeps the guarantee.

MOST_ROWS = 24  # slopes of a SHIFTED entry


@folded_kernel
def shifted_rows(pairs: Pairs, seen: Evidence, work: Scratch, j: int, rows: int) -> int:
    """Fill in the rows of a SHIFTED entry: the planned slope over the part of the planned visits that has been made.

    From the least such part of an arc to the mean one and four slopes beyond; twice the planned slope is the most.
    """
    alive, counts, cs = seen.alive, seen.visits, pairs.c
    a, grid = work.a, work.grid
    slope, per_visit, ratio = pairs.plan[j, 0], pairs.plan[j, 1], pairs.ratio
    visits, precision, least = 0.0, 0.0, np.inf
    for e in range(len(alive)):
        if alive[e] and a[RIVAL, j, e] > 0.0:
            n, c = counts[e], cs[RIVAL, j, e]
            visits += n
            precision += c
            least = min(least, n / c)
    mean = visits / precision
    k = min(2.0, 1.0 / (per_visit * least)) * slope
    far = ratio * ratio
    low = slope / (per_visit * mean * (far * far))
    for _ in range(MOST_ROWS):
        if k < low:
            break
        grid[rows, 0], grid[rows, 1] = j, k
        rows += 1
        k /= ratio
    return rows


@optional_kernel
def fill_grid(walks: Walks | None, pairs: Pairs, seen: Evidence, work: Scratch) -> int:
    """Fill in rows (entry, slope), per entry the slopes of a geometric grid that some pair may need; return how many.

    The best slope of a pair is about the root of the sum of its a^2 over twice its B. The largest of its a decides: the
    slope lies between that a over D and that a times U. There are none without `walks`.
    """
    if walks is None:
        return 0
    alive, grid, mean, a = seen.alive, work.grid, work.mean, work.a
    log_a, extras = work.log_a, work.extra
    kind, cost = pairs.kind, pairs.cost
    log_paths, ratio = pairs.log_paths, pairs.ratio
    rows, horizon, step = 0, len(work.incumbent), np.log(ratio)
    for j in range(len(kind)):
        low, high, extra = np.inf, -np.inf, 0.0
        quiet, size = False, 0.0
        for e in range(len(alive)):
            if alive[e]:
                size = max(size, abs(mean[e]))
                if a[RIVAL, j, e] > 0.0:
                    low, high = min(low, log_a[RIVAL, j, e]), max(high, log_a[RIVAL, j, e])
                    extra = max(extra, extras[RIVAL, j, e])
                else:
                    quiet = True
        if quiet and j == 0:
            grid[rows, 0], grid[rows, 1] = 0, -8.0 * horizon * size if size > 0.0 else -1.0
            rows += 1
        if high == -np.inf:
            break
        if kind[j] == SHIFTED:
            rows = shifted_rows(pairs, seen, work, j, rows)
            continue
        extra += high - low  # what h* adds, at most, for an arc whose a is far below the slope
        below = 0.5 * np.log(2.0 * (cost[j] + log_paths + 2 * horizon * extra))  # log D
        above = 0.5 * np.log(horizon / cost[j])  # log U
        k = np.exp(low - below)
        for g in range(len(grid) - rows):
            if low - below + (g - 1) * step > high + above:
                break
            grid[rows, 0], grid[rows, 1] = j, k
            rows += 1
            k *= ratio
    return rows


# Check ----------------------------------------------------------------------------------------------------------------
# Pairwise stop and pairwise elimination (docs, "Checking all paths without listing them"). A row gives z_e, the largest
# G of a path through arc e; when z_e <= epsilon the arc is cleared and leaves the graph for the rest of this check. An
# arc with z_e < 0, of paths or of single excursions, is not on the best path; that is judged only while nothing has
# left the graph. With epsilon = 0 and the excursion prior or by stages, single excursions decide the stop as well.

RETURNS_ROUNDING = 1e-12  # relative: of the returns' scale
# What `check` returns in place of a row.
NO_ROW, PASSED = -1, -2

# What `check` does with the rows.
ROUTINE, THOROUGH, FIND_LEAST = range(3)

# What `judge` does with a row: eliminate by single excursions; eliminate, and mark what is cleared; or drop what is.
ELIMINATE, MARK, TAKE_OUT = range(3)

SHARE = 1e-12  # of epsilon itself, for the rounding of sums that come near it


@folded_kernel
def singly(pairs: Pairs, j: int, epsilon: float) -> bool:
    """Return whether entry j clears by single excursions: at epsilon 0, if each is no gain, neither is their sum."""
    return bool((pairs.prior[j] == at.EXCURSION or pairs.prior[j] == at.BY_STAGE) and epsilon == 0.0)


@optional_kernel
def slope_weights(walks: Walks | None, graph: Graph, pairs: Pairs, work: Scratch, row: Whole, single: Whole) -> float:
    """Fill work.weight for a row of entry and slope, where rewards are independent; return `challenge`'s constant."""
    if walks is None:
        return 0.0
    fill_widths(pairs, work, row)
    return float(challenge(walks, graph, pairs, work, row, single))


@bare_kernel
def make_row(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, row: int, single: int) -> float:
    """Make the passes of a row over all arcs that are left; returns the constant that turns weights into bounds.

    An entry point for `explain.py`, and for tests, which compare a single row with enumeration. Where rewards may
    depend on each other a check must have filled in the rows for the incumbent.
    """
    alive, live = seen.alive, work.live
    for e in range(len(alive)):
        live[e] = alive[e]
    constant = slope_weights(pairs.walks, graph, pairs, work, np.int64(row), np.int64(single))
    constant += stage_weights(pairs.stages, work.stage_work, graph, seen, work, np.int64(row))
    passes(graph, work, np.int64(single))
    return float(constant)


@inner_kernel
def judge(
    graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, row: Whole, epsilon: float, what: Whole
) -> tuple[float, int, bool]:
    """Judge one row: eliminate, mark or drop; returns the largest z (-inf if none is left) and how many arcs left.

    The third answer is whether none left and no z is below that of the row judged before. work.path[0] is set to the
    arc where the largest z is reached, or -1.
    """
    first, target, alive = graph.first, graph.target, seen.alive
    behind, ahead = work.behind, work.ahead
    weight, mean, incumbent = work.weight, work.mean, work.incumbent
    path, through = work.path, work.through
    on, live, cleared = work.on, work.live, work.cleared
    wall, slack = -work.grid[row, 1], work.slack[0] + SHARE * abs(epsilon)
    single = np.int64(1 if what == ELIMINATE or singly(pairs, int(work.grid[row, 0]), epsilon) else 0)
    constant = slope_weights(pairs.walks, graph, pairs, work, row, single)
    constant += stage_weights(pairs.stages, work.stage_work, graph, seen, work, row)
    passes(graph, work, single)
    top, where = -np.inf, np.int64(-1)
    removed, falls = 0, False
    value = 0.0
    for h in range(len(incumbent)):
        value += abs(mean[incumbent[h]])
    rounding = RETURNS_ROUNDING * value + slack
    # A bound of a noisy row must pass in spite of rounding, which may have made it smaller. Ties of quiet paths, whose
    # rewards are exact, count as ties in spite of rounding.
    limit = epsilon + slack if wall > 0.0 else epsilon - slack
    most, some = 0.5 * wall if wall > 0.0 else np.inf, -rounding if what == ELIMINATE else limit
    start, one = np.uint64(0), np.uint64(1)
    for i in range(np.uint64(len(first) - 1)):
        here, stop = behind[i] + constant, np.uint64(first[np.uint64(i) + one])
        for e in range(start, stop):
            if on[e] or not live[e]:
                continue
            z, beyond = -np.inf, ahead[np.uint64(target[e])]
            if here > -np.inf and beyond > -np.inf:
                z = here + weight[e] + beyond
                if not z <= most:
                    z = np.inf  # through a wall; or NaN, which proves nothing
            if z > top:
                top, where = z, np.int64(e)
            falls = falls or z < through[e]
            through[e] = z
            if z > some:
                continue
            if z < -rounding and what != TAKE_OUT:
                alive[e] = False
                live[e] = False
                removed += 1
            elif z <= limit and what != ELIMINATE:
                cleared[e] = True
                if what == TAKE_OUT:
                    live[e] = False
                    removed += 1
        start = stop
    path[0] = where
    return top, removed, not falls and removed == 0


@hot_kernel
def left(live: BoolArray, on: BoolArray, cleared: BoolArray) -> int:
    """Return how many arcs off the incumbent are not yet cleared."""
    count = 0
    for e in range(len(live)):
        if live[e] and not on[e] and not cleared[e]:
            count += 1
    return count


@optional_kernel
def planning_scales(walks: Walks | None, pairs: Pairs, seen: Evidence) -> tuple[float, float]:
    """Return the scale of the entry to plan with: the largest not above eight times the mean visits so far.

    What an entry of small c would have played separates the closest plans and starves the others: the entry that will
    prove the answer must choose. Where entries learn the noise, c is compared with the sum of squares; the second
    answer is the scale, below 0, of the entry with a sigma to plan with beside them, and 0 where there is none.
    """
    if walks is None:
        return 0.0, 0.0
    scale, kind, known = pairs.scale, pairs.kind, pairs.is_known
    alive, visits, squares = seen.alive, seen.visits, seen.squares
    visited, squared, count = 0.0, 0.0, 0
    learning, own, beside = False, np.inf, np.inf
    for e in range(len(visits)):
        if alive[e] and not known[e]:
            visited += visits[e]
            squared += squares[e]
            count += 1
    for j in range(len(scale)):
        learning = learning or kind[j] >= BERNSTEIN
        if scale[j] > 0.0:
            own = min(own, scale[j])
        elif scale[j] < 0.0:
            beside = min(beside, -scale[j])
    for j in range(len(scale)):
        if scale[j] > 0.0 and scale[j] * count <= 8.0 * (squared if learning else visited):
            own = max(own, scale[j])
        elif scale[j] < 0.0 and -scale[j] * count <= 8.0 * visited:
            beside = max(beside, -scale[j])
    return own, -beside if beside < np.inf else 0.0


@inner_kernel
def check(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, epsilon: float, how: Whole) -> tuple[int, float]:
    """Check the incumbent, which must be set, in full: PASSED when all is cleared, else the row to plan with.

    That is the row of the planning scale, or of kappa, with the least largest z in the last sweep, which clears
    nothing, so that its rows compare; NO_ROW when no arc that is left has noise.

    ROUTINE, between trials, also eliminates, and where steps are independent saves passes that could hardly matter:
    every fourth row judges single excursions for good, every second row all remaining paths; then the rows of the
    planning scale take out what they can, and all rows only when at most a quarter of all arcs is left. THOROUGH sweeps
    all rows until none takes out anything more. FIND_LEAST sweeps them once; the second answer is the least largest z
    of a row. Passes that can change nothing are left out: a row gives the same while no arc has left; and z is convex
    in the slope (by Bernstein beyond the slopes where the range bounds it), so once none falls, none will.
    """
    alive, live, on = seen.alive, work.live, work.on
    cleared, grid = work.cleared, work.grid
    scale, kind, judged = pairs.scale, pairs.kind, work.judged
    for e in range(len(alive)):
        live[e] = alive[e]
        cleared[e] = False
    by_stage = pairs.prior[0] == at.BY_STAGE
    begin = 0 if not by_stage else at.TOTAL if pairs.prior[len(kind) - 1] == at.BY_PLAN else at.KEPT
    convex = convex_from(pairs.learned, work.learned_work, alive)
    rows = fill_grid(pairs.walks, pairs, seen, work)
    keep = np.int64(1 if how == ROUTINE else 0)
    rows += fill_stage_rows(pairs.stages, work.stage_work, graph, pairs, seen, work, keep)
    for row in range(rows):
        judged[row, 1] = -1.0
    what = TAKE_OUT if how != ROUTINE else MARK if singly(pairs, 0, epsilon) else ELIMINATE
    wide, count, before = by_stage or how != ROUTINE, left(live, on, cleared), -1
    own, other = 0.0, 0.0
    best, lowest = NO_ROW, np.inf
    while True:
        if what == TAKE_OUT:
            if count == 0:
                return PASSED, lowest
            if count == before:  # these rows take out nothing more
                if wide or 4 * count > len(alive):
                    return best, lowest
                wide, before = True, -1
            if before < 0 and not by_stage:
                own, other = planning_scales(pairs.walks, pairs, seen)
                best = NO_ROW  # the first noisy row of entries of this scale
                for row in range(rows - 1, -1, -1):
                    if scale[int(grid[row, 0])] == own and grid[row, 1] > 0.0:
                        best = row
            before = count
        if by_stage:
            best = NO_ROW
        least, size = np.inf, count
        last, over = -1, -1
        for row in range(begin, rows):
            entry = int(grid[row, 0])
            planned = (scale[entry] == own or scale[entry] == other) and grid[row, 1] > 0.0
            due = wide or planned
            if by_stage:
                planned = row >= at.FIRST_KAPPA or row == at.TOTAL
            elif what != TAKE_OUT:
                due = row % 4 == 0 if what == ELIMINATE else row % 2 == 0 or kind[entry] == SHIFTED
            if not due or entry == over:
                continue
            if what == ELIMINATE or judged[row, 1] != size:
                # the one place that judges: it is copied into each
                top, removed, rises = judge(graph, pairs, seen, work, np.int64(row), epsilon, np.int64(what))
                size -= removed
                judged[row, 0], judged[row, 1] = top, size if removed == 0 and what != ELIMINATE else -1
                if rises and entry == last:
                    over = entry
                curved = not by_stage and grid[row, 1] > (convex if kind[entry] == BERNSTEIN else 0.0)
                last = entry if curved else -1
            lowest = min(lowest, judged[row, 0])
            if planned and judged[row, 0] < least:
                best, least = row, judged[row, 0]
        if what == MARK:
            for e in range(len(alive)):
                live[e] = alive[e] and not cleared[e]
        what = min(what + 1, TAKE_OUT)
        count = left(live, on, cleared)
        if how == FIND_LEAST:
            return best, lowest
