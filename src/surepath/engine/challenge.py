"""Challenger's plan: eliminate, check every challenger, choose what to play; and whole runs of it.

One full plan sweeps the grid of (entry, slope) twice. The first sweep judges all remaining paths: an arc whose best
path has G < 0 is not on the best path and goes for good; one with G <= epsilon is cleared for this check. The second
sweep drops cleared arcs from the graph, so each k only has to serve the paths no other k has served. A path is
disposed of the moment its first arc off the incumbent is cleared: the whole path was still in the graph then.
Elimination is never judged in the second sweep, where the best path itself may already have been dropped.
"""

from __future__ import annotations

import numpy as np

from surepath._checks import FloatArray, IntArray
from surepath.engine._jit import kernel
from surepath.engine.arrays import Graph, Reality
from surepath.engine.draw import draw
from surepath.engine.pairs import Evidence, Pairs, Work, challenge, refresh, set_incumbent, slopes, strongest


@kernel
def cover(graph: Graph, pairs: Pairs, seen: Evidence, pending: IntArray, work: Work) -> bool:
    """A path through as many unvisited arcs as possible into work.path; False when every arc has been visited."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    work.ahead[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            if seen.alive[e]:
                fresh = seen.visits[e] == 0 and not pairs.is_known[e]
                work.mark[e] = 0.0 if not fresh else (1.0 if pending[e] == 0 else 1e-6)
                x = work.mark[e] + work.ahead[target[e]]
                if x > best:
                    best = x
        work.ahead[i] = best
    if work.ahead[0] <= 0.0:
        return False
    node = 0
    for h in range(len(work.path)):
        best, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            if seen.alive[e]:
                x = work.mark[e] + work.ahead[target[e]]
                if chosen < 0 or x > best:
                    best, chosen = x, e
        work.path[h] = chosen
        node = target[chosen]
    return True


@kernel
def sweep(
    graph: Graph, pairs: Pairs, seen: Evidence, work: Work, grid: FloatArray, clear: FloatArray, dropping: bool
) -> tuple[int, int, float, float]:
    """One sweep over grid rows (entry, slope); returns arcs left uncleared, and the row of least maximum (j, k, max).

    clear is [N]: the least z seen for each arc. With `dropping` false nothing leaves work.live but eliminated arcs,
    and arcs with z < 0 are eliminated; with it true, arcs at or below `clear`'s threshold in clear[-1] leave at once.
    """
    epsilon = clear[-1]
    first, target = graph.first, graph.target
    sink = len(first) - 1
    best_j, best_k, least = 0, 0.0, np.inf
    left = 0
    for row in range(len(grid)):
        j, k = int(grid[row, 0]), grid[row, 1]
        constant = challenge(graph, pairs, seen, work, j, k)
        top = -np.inf
        left = 0
        for i in range(sink):
            here = work.behind[i]
            for e in range(first[i], first[i + 1]):
                if work.on[e] or not work.live[e]:
                    continue
                z = -np.inf
                if here > -np.inf and work.ahead[target[e]] > -np.inf:
                    z = here + work.weight[e] + work.ahead[target[e]] + constant
                if z > top:
                    top = z
                if not dropping and z < 0.0:
                    seen.alive[e] = False
                    work.live[e] = False
                elif z <= epsilon:
                    clear[e] = min(clear[e], z)
                    if dropping:
                        work.live[e] = False
                    left += 1 if not dropping and clear[e] > epsilon else 0
                elif clear[e] > epsilon or dropping:
                    left += 1
        if top < least:
            best_j, best_k, least = j, k, top
        if left == 0:
            break
    return left, best_j, best_k, least


@kernel
def make_grid(pairs: Pairs, seen: Evidence, work: Work, grid: FloatArray) -> int:
    """Fill grid with rows (entry, slope), slopes geometric; returns how many rows there are."""
    rows = 0
    for j in range(len(pairs.c)):
        low, high = slopes(pairs, seen, work, j)
        k = low
        while k <= high * pairs.ratio and rows < len(grid):
            grid[rows, 0], grid[rows, 1] = j, k
            rows += 1
            k *= pairs.ratio
    return rows


@kernel
def choose(
    graph: Graph, pairs: Pairs, seen: Evidence, pending: IntArray, work: Work, j: int, k: float, power: float
) -> None:
    """The separating rule: weigh the arcs that tell the strongest challengers from the incumbent, play the heaviest.

    The challengers are those at k / ratio, k and k * ratio; an arc of one of the K sets weighs sigma^2 / n^power.
    """
    work.mark[:] = 0.0
    for step in range(-1, 2):
        challenge(graph, pairs, seen, work, j, k * pairs.ratio**step)
        if not strongest(graph, work):
            continue
        for h in range(len(work.path)):
            if work.path[h] != work.incumbent[h]:
                for e in (work.path[h], work.incumbent[h]):
                    s = pairs.sigma[e]
                    if not pairs.is_known[e]:
                        work.mark[e] = s * s / (seen.visits[e] + pending[e]) ** power
    heaviest(graph, seen, work)


@kernel
def heaviest(graph: Graph, seen: Evidence, work: Work) -> None:
    """The path of largest work.mark over the arcs that are left, into work.path."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    work.ahead[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            if seen.alive[e]:
                x = work.mark[e] + work.ahead[target[e]]
                if x > best:
                    best = x
        work.ahead[i] = best
    node = 0
    for h in range(len(work.path)):
        best, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            if seen.alive[e]:
                x = work.mark[e] + work.ahead[target[e]]
                if chosen < 0 or x > best:
                    best, chosen = x, e
        work.path[h] = chosen
        node = target[chosen]


@kernel
def check(
    graph: Graph, pairs: Pairs, seen: Evidence, work: Work, grid: FloatArray, clear: FloatArray
) -> tuple[int, int, float]:
    """Full check of the incumbent; returns (arcs left uncleared, best entry, best slope)."""
    set_incumbent(graph, seen, work)
    work.live[:] = seen.alive
    rows = make_grid(pairs, seen, work, grid)
    epsilon = clear[-1]
    clear[:-1] = np.inf
    left, j, k, _ = sweep(graph, pairs, seen, work, grid[:rows], clear, False)
    for e in range(len(work.live)):
        work.live[e] = seen.alive[e] and clear[e] > epsilon
    if left == 0:
        return 0, j, k
    before = -1
    while left != before and left > 0:
        before = left
        left, j, k, _ = sweep(graph, pairs, seen, work, grid[:rows], clear, True)
    return left, j, k


@kernel
def run(
    graph: Graph,
    pairs: Pairs,
    seen: Evidence,
    work: Work,
    grid: FloatArray,
    clear: FloatArray,
    reality: Reality,
    rng: np.random.Generator,
    budget: int,
    repeat: float,
    power: float,
) -> int:
    """A whole run; returns the stopping time, or -budget when the budget ran out first."""
    pending = np.zeros(len(seen.visits), dtype=np.int64)
    t = 0
    while t < budget:
        if cover(graph, pairs, seen, pending, work):
            plays = 1
        else:
            left, j, k = check(graph, pairs, seen, work, grid, clear)
            if left == 0:
                return t
            choose(graph, pairs, seen, pending, work, j, k, power)
            least = budget
            for h in range(len(work.path)):
                e = work.path[h]
                if work.mark[e] > 0.0 and seen.visits[e] < least:
                    least = seen.visits[e]
            plays = max(1, int(repeat * least))
        plays = min(plays, budget - t)
        for _ in range(plays):
            for h in range(len(work.path)):
                e = work.path[h]
                seen.visits[e] += 1
                seen.sums[e] += draw(reality, e, rng)
        t += plays
        for h in range(len(work.path)):
            refresh(pairs, seen, work.path[h])
    return -budget
