"""The rows of the grid, (entry, slope): at which slopes a full check evaluates the bound of each entry.

Any set of slopes keeps the guarantee, which holds for all of them at once; these only decide how soon a check passes.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.jit import folded_kernel, inner_kernel
from surepath.learners.challenger.state import RIVAL, SHIFTED, Evidence, Pairs, Scratch

MOST_ROWS = 24  # slopes of a SHIFTED entry


@folded_kernel
def shifted_rows(pairs: Pairs, seen: Evidence, work: Scratch, j: int, rows: int) -> int:
    """Fill in the rows of a SHIFTED entry: the planned slope over the part of the planned visits that has been made.

    From the least such part of an arc, where every pair is sure to be covered, to the mean one and four slopes beyond.
    Twice the planned slope is the most that can prove epsilon, so while visits are few there is no row at all.
    """
    alive, counts, cs = seen.alive, seen.visits, pairs.c
    a, grid = work.a, work.grid
    slope, steadiness, ratio = pairs.plan[j, 0], pairs.plan[j, 1], pairs.ratio
    visits, precision, least = 0.0, 0.0, np.inf
    for e in range(len(alive)):
        if alive[e] and a[RIVAL, j, e] > 0.0:
            n, c = counts[e], cs[RIVAL, j, e]
            visits += n
            precision += c
            least = min(least, n / c)
    mean = visits / precision
    k = min(2.0, 1.0 / (steadiness * least)) * slope
    far = ratio * ratio
    low = slope / (steadiness * mean * (far * far))
    for _ in range(MOST_ROWS):
        if k < low:
            break
        grid[rows, 0], grid[rows, 1] = j, k
        rows += 1
        k /= ratio
    return rows


@inner_kernel
def fill_grid(pairs: Pairs, seen: Evidence, work: Scratch) -> int:
    """Fill in rows (entry, slope), per entry the slopes of a geometric grid that some pair may need; return how many.

    The best slope of a pair is about the root of the sum of its a^2 over twice its B. The largest of its a decides: the
    slope lies between that a over D and that a times U. So a slope is left out where no arc has such an a: sigmas of
    very different sizes leave wide gaps in the middle, and the grid stays short.
    """
    alive, grid, cells = seen.alive, work.grid, work.cells
    mean, a = work.mean, work.a
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
        for i in range(len(cells)):
            cells[i] = False
        for e in range(len(alive)):
            if alive[e] and a[RIVAL, j, e] > 0.0:
                cell = (log_a[RIVAL, j, e] - low) / step
                if cell >= 0.0:
                    cells[min(int(cell), len(cells) - 1)] = True
        k, last, reach = np.exp(low - below), 0, (below + above) / step + 2.0
        for g in range(len(cells)):
            if cells[g]:
                last = g
            if g > 0 and low - below + (g - 1) * step > high + above:
                break
            if g - last <= reach or g == 0:
                grid[rows, 0], grid[rows, 1] = j, k
                rows += 1
            k *= ratio
    return rows
