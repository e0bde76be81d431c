"""Pairwise stop and pairwise elimination.

Stop: the incumbent p is within epsilon of the best once every path q != p has G(q | p) <= epsilon for SOME row (entry,
slope) of the grid. No path is listed. A row gives z_e, the largest G of a path through arc e, for every arc off the
incumbent; when z_e <= epsilon the arc is cleared and leaves the graph for the rest of this check. At the moment the
first off-incumbent arc of q is cleared, the whole of q is still in the graph, so its G was <= epsilon. When no arc off
the incumbent is left, stop. Any subset of rows keeps the guarantee, so a quick check may look at three of them.

Elimination: z_e < 0 means that e is not on the best path (else G < 0 <= V(best) - V(p)). The same holds where z_e is
the largest G of a single excursion through e: no excursion of the best path is a loss. It is judged only while nothing
has left the graph: later the best path itself may have.

With epsilon = 0 and the excursion prior, z_e is that of single excursions for the stop as well: each excursion of the
best path is cleared for itself, so each is no gain, and neither is their sum.

Guarantee: both hold at all times at once, with probability 1 - delta, under any sampling rule (the theorem).
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Graph
from surepath.kernels.jit import Whole, hot_kernel, inner_kernel
from surepath.learners.challenger.bound import challenge
from surepath.learners.challenger.state import EXCURSION, INTERVAL, RIVAL, SHIFTED, Evidence, Pairs, Scratch
from surepath.learners.processes.gaussian_size import HIDDEN
from surepath.learners.processes.learned import BERNSTEIN

RETURNS_ROUNDING = 1e-12  # relative: of the returns' scale
# What `check` returns in place of a row.
NO_ROW, PASSED = -1, -2

# What `judge` does with a row: eliminate by single excursions; eliminate, and mark what is cleared; or drop what is.
ELIMINATE, MARK, TAKE_OUT = range(3)

REACH, MOST_ROWS = 4, 24  # slopes of a SHIFTED entry beyond that of the mean visits; and in all

SHARE = 1e-12  # of epsilon itself, for the rounding of sums that come near it


@inner_kernel
def shifted_rows(pairs: Pairs, seen: Evidence, work: Scratch, j: int, rows: int) -> int:
    """Rows of a SHIFTED entry: the planned slope over the part of the planned visits that has been made.

    From the least such part of an arc, where every pair is sure to be covered, to the mean one and somewhat beyond.
    Twice the planned slope is the most that can prove epsilon, so while visits are few there is no row at all.
    """
    visits, precision, least = 0.0, 0.0, np.inf
    for e in range(len(seen.visits)):
        if seen.alive[e] and work.a[RIVAL, j, e] > 0.0:
            visits += seen.visits[e]
            precision += pairs.c[RIVAL, j, e]
            least = min(least, seen.visits[e] / pairs.c[RIVAL, j, e])
    mean = visits / precision
    k = min(2.0, 1.0 / (pairs.plan[j, 1] * least)) * pairs.plan[j, 0]
    low = pairs.plan[j, 0] / (pairs.plan[j, 1] * mean * pairs.ratio**REACH)
    for _ in range(MOST_ROWS):
        if k < low:
            break
        work.grid[rows, 0], work.grid[rows, 1] = j, k
        rows += 1
        k /= pairs.ratio
    return rows


@inner_kernel
def fill_grid(pairs: Pairs, seen: Evidence, work: Scratch) -> int:
    """Rows (entry, slope): per entry the slopes, on a geometric grid, that some pair may need; returns their number.

    The best slope of a pair is about the root of the sum of its a^2 over twice its B. The largest of its a decides: the
    slope lies between that a over D and that a times U. So a slope is left out where no arc has such an a: sigmas of
    very different sizes leave wide gaps in the middle, and the grid stays short.
    """
    rows, horizon, step = 0, len(work.incumbent), np.log(pairs.ratio)
    for j in range(pairs.c.shape[1]):
        low, high, extra, quiet, size = np.inf, -np.inf, 0.0, False, 0.0
        for e in range(len(seen.visits)):
            if seen.alive[e]:
                size = max(size, abs(work.mean[e]))
                if work.a[RIVAL, j, e] > 0.0:
                    low, high = min(low, work.log_a[RIVAL, j, e]), max(high, work.log_a[RIVAL, j, e])
                    extra = max(extra, work.extra[RIVAL, j, e])
                else:
                    quiet = True
        if quiet and j == 0:
            work.grid[rows, 0], work.grid[rows, 1] = 0, -8.0 * horizon * size if size > 0.0 else -1.0
            rows += 1
        if high == -np.inf:
            break
        if pairs.kind[j] == SHIFTED:
            rows = shifted_rows(pairs, seen, work, j, rows)
            continue
        if pairs.kind[j] == INTERVAL:
            work.grid[rows, 0], work.grid[rows, 1] = j, 1.0
            rows += 1
            continue
        extra += high - low  # what h* adds, at most, for an arc whose a is far below the slope
        below = 0.5 * np.log(2.0 * (pairs.cost[j] + pairs.log_paths + 2 * horizon * extra))  # log D
        above = 0.5 * np.log(horizon / pairs.cost[j])  # log U
        for i in range(len(work.cells)):
            work.cells[i] = False
        for e in range(len(seen.visits)):
            if seen.alive[e] and work.a[RIVAL, j, e] > 0.0:
                cell = (work.log_a[RIVAL, j, e] - low) / step
                if cell >= 0.0:
                    work.cells[min(int(cell), len(work.cells) - 1)] = True
        k, last, reach = np.exp(low - below), 0, (below + above) / step + 2.0
        for g in range(len(work.cells)):
            if work.cells[g]:
                last = g
            if g > 0 and low - below + (g - 1) * step > high + above:
                break
            if g - last <= reach or g == 0:
                work.grid[rows, 0], work.grid[rows, 1] = j, k
                rows += 1
            k *= pairs.ratio
    return rows


@hot_kernel
def singly(pairs: Pairs, j: int, epsilon: float) -> bool:
    """Whether entry j clears by single excursions: if each is no gain, neither is their sum; but for epsilon 0 only."""
    return bool(pairs.prior[j] == EXCURSION and epsilon == 0.0)


@inner_kernel
def judge(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, row: Whole, epsilon: float, what: Whole) -> float:
    """One row: eliminate, mark or drop; returns the largest z, -inf if none is left.

    work.path[0] is set to the arc where the largest z is reached, or -1.
    """
    first, target = graph.first, graph.target
    single = np.int64(1 if what == ELIMINATE or singly(pairs, int(work.grid[row, 0]), epsilon) else 0)
    constant = challenge(graph, pairs, seen, work, row, single)
    top, where = -np.inf, -1
    value = 0.0
    for h in range(len(work.incumbent)):
        value += abs(work.mean[work.incumbent[h]])
    slack = work.slack[0] + SHARE * abs(epsilon)
    rounding = RETURNS_ROUNDING * value + slack
    wall = -work.grid[row, 1]
    # A bound of a noisy row must pass in spite of rounding, which may have made it smaller. Ties of quiet paths, whose
    # rewards are exact, count as ties in spite of rounding.
    limit = epsilon + slack if wall > 0.0 else epsilon - slack
    for i in range(len(first) - 1):
        here = work.behind[i] + constant
        for e in range(first[i], first[i + 1]):
            if work.on[e] or not work.live[e]:
                continue
            z = -np.inf
            if here > -np.inf and work.ahead[target[e]] > -np.inf:
                z = here + work.weight[e] + work.ahead[target[e]]
                if not z <= (0.5 * wall if wall > 0.0 else np.inf):
                    z = np.inf  # through a wall; or no number, which proves nothing
            if z > top:
                top, where = z, e
            if z < -rounding and what != TAKE_OUT:
                seen.alive[e] = False
                work.live[e] = False
            elif z <= limit and what != ELIMINATE:
                work.cleared[e] = True
                if what == TAKE_OUT:
                    work.live[e] = False
    work.path[0] = where
    return top


@inner_kernel
def left(work: Scratch) -> int:
    """How many arcs off the incumbent are not yet cleared."""
    count = 0
    for e in range(len(work.live)):
        if work.live[e] and not work.on[e] and not work.cleared[e]:
            count += 1
    return count


@inner_kernel
def beside_scale(pairs: Pairs, seen: Evidence) -> float:
    """The scale, below 0, of the entry with a declared sigma to plan with beside entries that learn the noise; or 0."""
    total, count, chosen = 0.0, 0, np.inf
    for e in range(len(seen.visits)):
        if seen.alive[e] and not pairs.is_known[e]:
            total += seen.visits[e]
            count += 1
    for j in range(len(pairs.scale)):
        if pairs.scale[j] < 0.0:
            chosen = min(chosen, -pairs.scale[j])
    for j in range(len(pairs.scale)):
        if -pairs.scale[j] * count <= 8.0 * total and chosen < np.inf:
            chosen = max(chosen, -pairs.scale[j])
    return -chosen if chosen < np.inf else 0.0


@inner_kernel
def planning_scale(pairs: Pairs, seen: Evidence) -> float:
    """The scale of the entry to plan with: the largest not above eight times the mean visits so far.

    An entry of small c bounds best while visits are few; what it would have played separates the plans that are
    closest by its own bound and starves the others. The entry that will prove the answer must choose what is played.
    """
    total, count, chosen, learning = 0.0, 0, np.inf, False
    for j in range(len(pairs.scale)):
        learning = learning or pairs.kind[j] >= BERNSTEIN
    for e in range(len(seen.visits)):
        if seen.alive[e] and not pairs.is_known[e]:
            total += seen.squares[e] if learning else seen.visits[e]
            count += 1
    for j in range(len(pairs.scale)):
        if pairs.scale[j] > 0.0:
            chosen = min(chosen, pairs.scale[j])
    for j in range(len(pairs.scale)):
        if pairs.scale[j] * count <= 8.0 * total:
            chosen = max(chosen, pairs.scale[j])
    return chosen


@inner_kernel
def drop(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, rows: int, epsilon: float, scale: float) -> int:
    """Sweep rows until none clears anything more; returns the row of the planning scale with the least largest z.

    With scale 0 all rows are swept, else those of that scale only. The last sweep clears nothing, so its rows compare.
    NO_ROW when no row is of that scale.
    """
    own = scale if scale > 0.0 else planning_scale(pairs, seen)
    other = beside_scale(pairs, seen)
    count, before, best = left(work), -1, NO_ROW
    for row in range(rows - 1, -1, -1):
        if pairs.scale[int(work.grid[row, 0])] == own and work.grid[row, 1] > 0.0:
            best = row
    while count > 0 and count != before:
        before, least = count, np.inf
        for row in range(rows):
            entry_scale = pairs.scale[int(work.grid[row, 0])]
            planned = entry_scale in (own, other) and work.grid[row, 1] > 0.0
            if scale == 0.0 or planned:
                top = judge(graph, pairs, seen, work, row, epsilon, np.int64(TAKE_OUT))
                if planned and top < least:
                    best, least = row, top
        count = left(work)
    return best


@inner_kernel
def check(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, epsilon: float, routine: Whole) -> int:
    """The full check of the incumbent, which must be set: PASSED when everything is cleared, else the row to plan with.

    NO_ROW when there is none, because no arc that is left has noise.
    A routine check, made between trials, also eliminates, and saves passes where they could hardly matter: every fourth
    row judges single excursions for good, every second row all remaining paths; then the rows of the planning scale
    clear what they can; the other rows follow only when at most a quarter of all arcs is left. A check that is not
    routine sweeps all rows.
    """
    for e in range(len(seen.alive)):
        work.live[e] = seen.alive[e]
        work.cleared[e] = False
    rows = fill_grid(pairs, seen, work)
    best = NO_ROW
    if routine == 1:
        if not singly(pairs, 0, epsilon):
            for row in range(0, rows, 4):
                judge(graph, pairs, seen, work, row, epsilon, np.int64(ELIMINATE))
        for row in range(rows):
            if row % 2 == 0 or pairs.kind[int(work.grid[row, 0])] == SHIFTED:
                judge(graph, pairs, seen, work, row, epsilon, np.int64(MARK))
        for e in range(len(seen.alive)):
            work.live[e] = seen.alive[e] and not work.cleared[e]
        best = drop(graph, pairs, seen, work, rows, epsilon, planning_scale(pairs, seen))
        if 4 * left(work) > len(seen.alive):
            return best
    if left(work) > 0:
        best = drop(graph, pairs, seen, work, rows, epsilon, 0.0)
    return PASSED if left(work) == 0 else best


@inner_kernel
def certify(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> float:
    """Find the least epsilon for which the full check passes, by bisection to one part in a thousand, from above.

    The incumbent must be set.
    """
    for e in range(len(seen.alive)):
        if seen.alive[e] and seen.visits[e] == 0 and not pairs.is_known[e]:
            return np.inf
        work.live[e] = seen.alive[e]
        work.cleared[e] = False
    if work.unit[0] >= HIDDEN:
        return np.inf
    rows = fill_grid(pairs, seen, work)
    high = np.inf
    for row in range(rows):
        high = min(high, judge(graph, pairs, seen, work, row, -np.inf, np.int64(TAKE_OUT)))
    low = 0.0
    if check(graph, pairs, seen, work, 0.0, np.int64(0)) == PASSED:
        return 0.0
    high = (max(high, 0.0) + work.slack[0]) * (1.0 + 2.0 * SHARE)
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        if check(graph, pairs, seen, work, middle, np.int64(0)) == PASSED:
            high = middle
        else:
            low = middle
    return float(high)
