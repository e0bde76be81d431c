"""Take rewards in, arc by arc, and recompute what the bounds of an arc depend on: mean, a and 1/2 log(1 + n/c)."""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.jit import folded_kernel, inner_kernel, optional_kernel
from surepath.learners.challenger import state as at
from surepath.learners.challenger.noise.betting import halve
from surepath.learners.challenger.noise.gaussian_size import Size
from surepath.learners.challenger.noise.learned import (
    BERNSTEIN,
    Learned,
    LearnedScratch,
    is_learned,
    learn,
    refresh_bernstein,
    refresh_bets,
    refresh_visits,
)
from surepath.learners.challenger.state import ROUNDING, SHIFTED, Evidence, Pairs, Scratch


@inner_kernel
def refresh(pairs: Pairs, seen: Evidence, work: Scratch, e: int) -> None:
    """Recompute what depends on the visits of arc e."""
    n, s = seen.visits[e], pairs.sigma[e]
    origin, total = seen.origin[e], seen.sums[e]
    kind, precision, learned = pairs.kind, pairs.c, pairs.learned
    means, top, a = work.mean, work.top, work.a
    log_a, extra = work.log_a, work.extra
    if pairs.is_known[e] or n == 0:
        return
    mean = origin + total / n
    means[e] = mean
    top[e] = mean
    if s > 0.0:
        top[e] = mean + 0.5 * ROUNDING * (abs(mean) + abs(origin) + 0.5 * abs(total))
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
    n = seen.visits[e]
    refresh_visits(learned, learned_work, e, n)
    work.variance[e] = learned.span[e] ** 2 * (seen.squares[e] + 0.25) / (n + 1.0)
    for side in range(2):
        halve(seen.product, learned_work.bets, e, np.int64(side))
        for j in range(pairs.c.shape[1]):
            if pairs.kind[j] < BERNSTEIN:
                continue
            c = pairs.c[side, j, e]
            w = (seen.squares[e] + c) * (1.0 + 1e-15 * n)
            if pairs.kind[j] == BERNSTEIN:
                refresh_bernstein(learned.bernstein, learned_work, np.int64(side), np.int64(j), e, w)
            else:
                refresh_bets(learned, seen.product, learned_work, np.int64(side), np.int64(j), e, work.mean[e])
            work.a[side, j, e] = learned.span[e] * (np.sqrt(w) + np.sqrt(2.0 * pairs.cost[j])) / n
            work.log_a[side, j, e] = np.log(work.a[side, j, e])
            work.extra[side, j, e] = 0.5 * np.log(w / c)


@optional_kernel
def note_square(size: Size | None, memo: FloatArray, sigma: float, n: int, off: float) -> None:
    """Add the square of a gain's distance from the mean of the n gains before it, where sigma is unknown and not 0."""
    if size is None:
        return
    if n > 0 and sigma > 0.0:
        memo[at.RSS] += off * off
        memo[at.N_SQUARES] += 1.0


@folded_kernel
def take_in(pairs: Pairs, seen: Evidence, e: int, gain: float) -> None:
    """Count one gain of arc e; sums are relative to the first gain, so that large numbers lose nothing."""
    visits, origin, sums = seen.visits, seen.origin, seen.sums
    squares, product = seen.squares, seen.product
    memo, learned = seen.memo, pairs.learned
    size, n = pairs.size, visits[e]
    mean = origin[e] + sums[e] / n if n > 0 else 0.0
    note_square(size, memo, pairs.sigma[e], n, gain - mean)
    if is_learned(learned, e):
        learn(learned, squares, product, n, mean, e, gain)
    if n == 0:
        origin[e] = gain
    visits[e] = n + 1
    sums[e] += gain - origin[e]
