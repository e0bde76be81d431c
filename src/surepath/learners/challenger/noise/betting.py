"""Betting: a process for rewards in [0, 1] that excludes what the rewards exclude, cell by cell of the mean.

Legend: x a reward in [0, 1], or 1 minus it on the incumbent's side, so that a large r is always what is to be excluded;
cells of r, the i-th from r_i to r_(i+1); shares g of all that may be bet, 0 < g < 1; l = g / (1 - r_i), a tilt of cell
i.

    P(r, l) = product over the rewards of (1 + l (r - x)),      M(r) = p0 + sum over g of prior(g) P(r, l)

For a mean r in cell i every factor is at least 1 - g > 0 and has expectation 1: M(r) is a non-negative martingale
started at 1, in the first cell with r = 0 and in the last with r = 1 too. Tilts beyond 1 / (1 - r_i) would make factors
negative, and nothing would follow. The width of an arc at slope k is w(k) = sup over r of (r - mean) - k log M(r).

Only the products at both ends of each cell are kept, L and R. log P is concave in r, so that inside the cell, at the
share t of the way, P >= L^(1-t) R^t, and log M(r) >= f(t) = log(p0 + sum of prior L^(1-t) R^t), convex and increasing
in t. Chords of a convex function, continued, lie below it: with f0, fm, f1 at t = 0, 1/2, 1, on the left half f is at
least f0 and at least the chord from fm to f1 continued, which meet at some t*; on the right half at least the chord
from f0 to fm continued. On either half the supremum is then reached at an end or where the two meet: at height r(t*)
with f0, at r(1/2) with fm, or at r_(i+1) with 2 fm - f0. So w(k) is at most the maximum of three straight lines in k a
cell. It is tabulated over a grid of slopes whenever the arc gets a reward; a maximum of lines is convex in k, and
chords between the points of the grid lie above it. p0 is what is never bet; it keeps log M from below. The prior of a
tilt is proportional to l exp(-c l^2 / 2), a half-normal law on a logarithmic grid, as elsewhere.

Bets stop where R has grown beyond MOST_PRODUCT, a time known then, so that the stopped process is a martingale too; L
and R are then left as they are. A product below LEAST_PRODUCT becomes 0, which makes M smaller.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.jit import Whole, hot_kernel, optional_kernel

CELLS, TILTS = 128, 20
LEAST_SHARE, MOST_SHARE = 1e-3, 0.98
UNBET = 0.01  # p0
MOST_PRODUCT, LEAST_PRODUCT = 1e200, 1e-200
LEAST_K, K_STEP, SLOPES = 1e-6, 0.1, 200  # the grid of slopes, logarithmic, for a range of 1
LOG_SAFETY = 1e-9  # what rounding can do to log M, relative and absolute
LARGEST_LOG = 300.0  # log M counts for no more where smaller is safe
LEFT, RIGHT = range(2)


class Betting(NamedTuple):
    """Cells, tilts and priors, fixed before the data."""

    edge: FloatArray  # [CELLS + 1] r_i
    tilt: FloatArray  # [TILTS, CELLS] l
    base: FloatArray  # [2, TILTS, CELLS] 1 + l r at the left and at the right end
    prior: FloatArray  # [C, TILTS, CELLS] one for each c that is in use; the sum over tilts is 1 - p0
    slope: FloatArray  # [SLOPES] the grid of k
    per_slope: FloatArray  # [SLOPES] 1 / distance to the next


class BetWidths(NamedTuple):
    """Widths by slope, which follow from the products, and scratch arrays to compute them."""

    table: FloatArray  # [2, J, N, SLOPES + 2]; then the width at k = 0, and the rise beyond the grid
    middle: FloatArray  # [TILTS, CELLS] products half-way through the cells
    mass: FloatArray  # [3, CELLS] M at the left end, half-way, at the right end
    line: FloatArray  # [3 CELLS, 2] lines on the envelope: height at k = 0, fall


@lru_cache(maxsize=16)
def _betting(cs: tuple[float, ...]) -> Betting:
    edge = 0.5 - 0.5 * np.cos(np.pi * np.arange(CELLS + 1) / CELLS)  # finer where a mean allows little noise
    edge[0], edge[-1] = 0.0, 1.0
    share = np.geomspace(LEAST_SHARE, MOST_SHARE, TILTS)
    tilt = share[:, None] / (1 - edge[:-1])
    power = np.log(tilt) - np.array(cs)[:, None, None] * tilt**2 / 2
    prior = np.exp(power - power.max(axis=1, keepdims=True))
    prior *= (1 - UNBET) * (1 - 1e-12) / prior.sum(axis=1, keepdims=True)
    slope = LEAST_K * np.exp(K_STEP * np.arange(SLOPES))
    base = np.stack([1 + tilt * edge[:-1], 1 + tilt * edge[1:]])
    return Betting(edge, tilt, base, prior, slope, np.append(1 / np.diff(slope), 0.0))


def betting_of(cs: FloatArray) -> Betting:
    """Build tilts, and the priors for these c."""
    return _betting(tuple(np.asarray(cs, dtype=np.float64).tolist()))


def new_bets(arcs: int) -> FloatArray:
    """Allocate the products of nothing seen yet, [N, 2, 2, TILTS, CELLS], by side and end: evidence."""
    return np.ones((arcs, 2, 2, TILTS, CELLS))


def new_bet_widths(arcs: int, entries: int) -> BetWidths:
    """Allocate the tables of widths, with nothing computed yet."""
    table = np.full((2, entries, arcs, SLOPES + 2), np.inf)
    return BetWidths(table, np.zeros((TILTS, CELLS)), np.zeros((3, CELLS)), np.zeros((3 * CELLS, 2)))


@optional_kernel
def bet(betting: Betting | None, product: FloatArray | None, e: int, x: float) -> None:
    """Take in a reward x in [0, 1] of arc e."""
    if betting is None:
        return
    if product is None:
        return
    at, zero, one = np.uint64(e), np.uint64(LEFT), np.uint64(RIGHT)
    for side in range(np.uint64(2)):
        seen = x if side == zero else 1.0 - x
        for g in range(np.uint64(TILTS)):
            for i in range(np.uint64(CELLS)):
                left, right = product[at, side, zero, g, i], product[at, side, one, g, i]
                lost = betting.tilt[g, i] * seen
                new_left, new_right = left * (betting.base[zero, g, i] - lost), right * (betting.base[one, g, i] - lost)
                new_left = new_left if new_left > LEAST_PRODUCT else 0.0
                new_right = new_right if new_right > LEAST_PRODUCT else 0.0
                product[at, side, zero, g, i] = new_left if right < MOST_PRODUCT else left
                product[at, side, one, g, i] = new_right if right < MOST_PRODUCT else right


@optional_kernel
def halve(product: FloatArray | None, widths: BetWidths | None, e: int, side: Whole) -> None:
    """Compute the products half-way through the cells of one side of arc e, for `tabulate`."""
    if product is None:
        return
    if widths is None:
        return
    at, own = np.uint64(e), np.uint64(side)
    zero, one = np.uint64(LEFT), np.uint64(RIGHT)
    for g in range(np.uint64(TILTS)):
        for i in range(np.uint64(CELLS)):
            widths.middle[g, i] = np.sqrt(product[at, own, zero, g, i]) * np.sqrt(product[at, own, one, g, i])


@hot_kernel
def add_line(line: FloatArray, count: int, height: float, fall: float) -> int:
    """Add a line to the envelope, where lines come by falling height; return how many are on it.

    A line is on it from the slope on at which it overtakes the one before; the last one is never the largest if the new
    one overtakes it before it has overtaken its predecessor.
    """
    if count > 0 and fall >= line[count - 1, 1]:
        return count  # lower and falling faster
    while count >= 2:
        last, its_fall = line[count - 1, 0], line[count - 1, 1]
        if (last - height) * (line[count - 2, 1] - its_fall) <= (line[count - 2, 0] - last) * (its_fall - fall):
            count -= 1
        else:
            break
    line[count, 0], line[count, 1] = height, fall
    return count + 1


@hot_kernel
def capped_log(mass: float, side: float) -> float:
    """Compute the logarithm of M, rounded down (side -1) or up (side 1), at most LARGEST_LOG."""
    log_m = np.log(mass)
    return float(min(log_m + side * LOG_SAFETY * (1.0 + abs(log_m)), LARGEST_LOG))


@optional_kernel
def tabulate(
    betting: Betting | None,
    product: FloatArray | None,
    widths: BetWidths | None,
    e: int,
    side: Whole,
    j: Whole,
    which: int,
    x: float,
) -> None:
    """Fill the widths of arc e for entry j, with prior number `which`; x is the mean, 1 minus it on the own side.

    `halve` must have been called for this arc and side.
    """
    if betting is None:
        return
    if product is None:
        return
    if widths is None:
        return
    at, own = np.uint64(e), np.uint64(side)
    c, mass = np.uint64(which), widths.mass
    zero, one, two = np.uint64(0), np.uint64(1), np.uint64(2)
    for i in range(np.uint64(CELLS)):
        mass[zero, i] = mass[one, i] = mass[two, i] = UNBET
    for g in range(np.uint64(TILTS)):
        for i in range(np.uint64(CELLS)):
            share = betting.prior[c, g, i]
            mass[zero, i] += share * product[at, own, zero, g, i]
            mass[one, i] += share * widths.middle[g, i]
            mass[two, i] += share * product[at, own, one, g, i]
    line, count = widths.line, 0
    for i in range(CELLS - 1, -1, -1):
        if count > 0 and mass[0, i] >= np.exp(LARGEST_LOG) * 1.1:
            continue  # its lines fall by LARGEST_LOG, and start below one that falls no faster
        left, right = betting.edge[i], betting.edge[i + 1]
        start, half = capped_log(mass[0, i], -1.0), capped_log(mass[1, i], -1.0)
        end, least = np.log(mass[2, i]), capped_log(mass[0, i], 1.0)
        end += LOG_SAFETY * (1.0 + abs(end))  # never too small: a flatter chord would meet f0 too soon
        half = max(start, half)  # f increases
        count = add_line(line, count, right - x, min(max(half, 2.0 * half - least), LARGEST_LOG))
        count = add_line(line, count, 0.5 * (left + right) - x, half)
        meet = 0.5
        if end > half:
            meet = max(0.0, 0.5 - 0.5 * (half - start) / (end - half))
        count = add_line(line, count, left + meet * (right - left) - x, start)
    table, now = widths.table, 0
    for s in range(SLOPES):
        k = betting.slope[s]
        best = line[now, 0] - k * line[now, 1]
        while now + 1 < count:
            other = line[now + 1, 0] - k * line[now + 1, 1]
            if other < best:
                break
            best = other
            now += 1
        table[side, j, e, s] = best
    table[side, j, e, SLOPES] = 1.0 - x
    table[side, j, e, SLOPES + 1] = -line[count - 1, 1]


@optional_kernel
def bet_width(
    betting: Betting | None,
    widths: BetWidths | None,
    side: Whole | np.uint64,
    j: Whole | np.uint64,
    e: int | np.uint64,
    k: float,
    log_k: float,
) -> float:
    """Compute w(k) or a little above it for a range of 1; log_k must be the logarithm of k."""
    if betting is None:
        return 0.0
    if widths is None:
        return 0.0
    place = (log_k - np.log(LEAST_K)) * (1.0 / K_STEP)
    if not place >= 0.0:
        at_zero = widths.table[side, j, e, SLOPES]
        return float(at_zero + (widths.table[side, j, e, 0] - at_zero) * (k / LEAST_K))
    if place >= SLOPES - 1:
        last = betting.slope[SLOPES - 1]
        return float(widths.table[side, j, e, SLOPES - 1] + (k - last) * widths.table[side, j, e, SLOPES + 1])
    i = int(place)
    low, high = widths.table[side, j, e, i], widths.table[side, j, e, i + 1]
    return float(low + (high - low) * (k - betting.slope[i]) * betting.per_slope[i])


def bet_values(betting: Betting, row: FloatArray, k: FloatArray) -> FloatArray:
    """Compute widths for an array of slopes from a row of the table: what the kernel computes, in NumPy."""
    inside = np.interp(k, np.append(0.0, betting.slope), np.append(row[SLOPES], row[:SLOPES]))
    beyond = row[SLOPES - 1] + (k - betting.slope[-1]) * row[SLOPES + 1]
    return np.asarray(np.where(k > betting.slope[-1], beyond, inside))
