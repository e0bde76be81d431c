"""Betting: a process for rewards in [0, 1] that excludes what the rewards exclude, cell by cell of the mean.

Legend: x a reward in [0, 1], or 1 minus it on the incumbent's side, so that a large r is always what is to be excluded;
cells of r, i-th from r_i to r_(i+1); shares g of all that may be bet, 0 < g < 1, and l = g / (1 - r_i) the tilt of a
cell.

    P(i, g) = product over the rewards of (1 + l (r_i - x)),      M_i = p0 + sum over g of prior(g) P(i, g)

Each factor is at least 1 - g > 0, and for every mean r >= r_i its expectation is 1 + l (r_i - r) <= 1: so M_i is a
non-negative supermartingale started at 1 for ALL means in cell i, the last cell with r = 1 and the first with r = 0
among them. Tilts beyond 1 / (1 - r_i) would make factors negative, and nothing would follow. The arc's process at r is
that of its cell, hence its width at slope k

    w(k) = sup over r of (r - mean) - k log M(r) = max over i of (r_(i+1) - mean) - k log M_i,

a maximum of straight lines, convex in k. It is tabulated over a grid of slopes whenever the arc gets a reward, and
chords between the points of the grid lie above it. p0 is what is never bet; it keeps log M_i from below.
The prior of a tilt is proportional to l exp(-c l^2 / 2), a half-normal law on a logarithmic grid, as elsewhere.

A product that has grown beyond CAP is left as it is: a process stopped at a time known then. One below FLOOR becomes 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.jit import hot_kernel, inner_kernel

CELLS, TILTS = 400, 20
LEAST_SHARE, MOST_SHARE = 1e-3, 0.98
UNBET = 0.01  # p0
CAP, FLOOR = 1e200, 1e-200
LEAST_K, K_STEP, SLOPES = 1e-6, 0.1, 200  # the grid of slopes, logarithmic, for a range of 1
SAFETY = 1e-9  # what rounding can do to log M, relative and absolute


class Betting(NamedTuple):
    """Tilts and priors, fixed before the data."""

    tilt: FloatArray  # [TILTS, CELLS] l
    base: FloatArray  # [TILTS, CELLS] 1 + l r_i
    prior: FloatArray  # [C, TILTS, CELLS] one for each c that is in use; the sum over tilts is 1 - p0
    slope: FloatArray  # [SLOPES] the grid of k
    per_slope: FloatArray  # [SLOPES] 1 / distance to the next


class Bets(NamedTuple):
    """What has been bet on every arc: evidence."""

    product: FloatArray  # [N, 2, TILTS, CELLS]; N = 0 where nobody bets


class BetWidths(NamedTuple):
    """Widths by slope, which follow from the products, and room to compute them."""

    table: FloatArray  # [2, J, N, SLOPES + 2]; then the width at k = 0, and the rise beyond the grid
    mass: FloatArray  # [CELLS]
    line: IntArray  # [CELLS] cells whose lines are on the envelope


@lru_cache(maxsize=16)
def _betting(cs: tuple[float, ...]) -> Betting:
    left = np.arange(CELLS) / CELLS
    share = np.geomspace(LEAST_SHARE, MOST_SHARE, TILTS)
    tilt = share[:, None] / (1 - left)
    power = np.log(tilt) - np.array(cs)[:, None, None] * tilt**2 / 2
    prior = np.exp(power - power.max(axis=1, keepdims=True))
    prior *= (1 - UNBET) * (1 - 1e-12) / prior.sum(axis=1, keepdims=True)
    slope = LEAST_K * np.exp(K_STEP * np.arange(SLOPES))
    return Betting(tilt, 1 + tilt * left, prior, slope, np.append(1 / np.diff(slope), 0.0))


def betting_of(cs: FloatArray) -> Betting:
    """Tilts, and the priors for these c."""
    return _betting(tuple(np.asarray(cs, dtype=np.float64).tolist()))


def new_bets(arcs: int) -> Bets:
    """Allocate bets on nothing seen yet."""
    return Bets(np.ones((arcs, 2, TILTS, CELLS)))


def new_bet_widths(arcs: int, entries: int) -> BetWidths:
    """Allocate room for widths."""
    return BetWidths(
        np.full((2, entries, arcs, SLOPES + 2), np.inf), np.zeros(CELLS), np.zeros(CELLS + 1, dtype=np.int64)
    )


@inner_kernel
def bet(betting: Betting, bets: Bets, e: int, x: float) -> None:
    """Take in a reward x in [0, 1] of arc e."""
    at, cells = np.uint64(e), np.uint64(CELLS)
    for side in range(np.uint64(2)):
        seen = x if side == np.uint64(0) else 1.0 - x
        for g in range(np.uint64(TILTS)):
            for i in range(cells):
                old = bets.product[at, side, g, i]
                new = old * (betting.base[g, i] - betting.tilt[g, i] * seen)
                new = new if new > FLOOR else 0.0
                bets.product[at, side, g, i] = new if old < CAP else old


@inner_kernel
def tabulate(betting: Betting, bets: Bets, widths: BetWidths, e: int, side: int, j: int, which: int, x: float) -> None:
    """Fill the widths of arc e for entry j, with prior number `which`; x is the mean, 1 minus it on the own side.

    Lines by falling height at k = 0; one is on the envelope from the slope on at which it overtakes the one before.
    """
    at, c, cells, mass = np.uint64(e), np.uint64(which), np.uint64(CELLS), widths.mass
    for i in range(cells):
        mass[i] = UNBET
    for g in range(np.uint64(TILTS)):
        for i in range(cells):
            mass[i] += betting.prior[c, g, i] * bets.product[at, np.uint64(side), g, i]
    line, count, lowest = widths.line, 0, np.inf
    for i in range(CELLS - 1, -1, -1):
        if mass[i] >= lowest:
            continue  # a line to the right lies above it at every slope
        lowest = mass[i]
        log_m = np.log(mass[i])
        mass[i] = log_m - SAFETY * (1.0 + abs(log_m))
        while count >= 2:
            a, b = line[count - 1], line[count - 2]
            # The last line is never the largest if this one overtakes it before it has overtaken its predecessor.
            if (a - i) * (mass[b] - mass[a]) <= (b - a) * (mass[a] - mass[i]):
                count -= 1
            else:
                break
        line[count] = i
        count += 1
    table, now = widths.table, 0
    for s in range(SLOPES):
        k = betting.slope[s]
        best = (line[now] + 1.0) / CELLS - x - k * mass[line[now]]
        while now + 1 < count:
            other = (line[now + 1] + 1.0) / CELLS - x - k * mass[line[now + 1]]
            if other < best:
                break
            best = other
            now += 1
        table[side, j, e, s] = best
    table[side, j, e, SLOPES] = 1.0 - x
    table[side, j, e, SLOPES + 1] = -mass[line[count - 1]]


@hot_kernel
def bet_width(
    betting: Betting, widths: BetWidths, side: int, j: int, e: int | np.uint64, k: float, log_k: float
) -> float:
    """w(k) or a little above it for a range of 1; log_k must be the logarithm of k."""
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
