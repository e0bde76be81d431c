"""Intervals for single means by empirical Bernstein: how large the sum of deviations can be, as a table of V.

Legend as in `bernstein.py`: rewards in [0, 1], V the sum of (X - m)^2, S the sum of r - X or of X - r. A mixture over
several c, fixed in advance with shares p(c) that sum to 1, is a supermartingale started at 1 like its parts:

    M = sum over c of p(c) Z(S, V + c) / Z(0, c).

By Ville's inequality, but for a chance of exp(-B), log M(S, V) <= B at all times at once. Then S <= Sbar(V), where
log M(Sbar, V) = B, and after n rewards the mean is off by at most range * Sbar(V) / n.

log M is convex in (S, V) together, as a logarithm of a sum of exponentials of convex functions, rises with S and falls
with V. So it lies above its tangent plane at any point (s, v): with a and -b its slopes there, log M <= B implies

    S <= s + (B - log M(s, v)) / a + (V - v) b / a.

The table holds such a line for each v of a logarithmic grid, with s near Sbar(v): the nearest line is never below
Sbar, whatever the rounding of the grid, and on this grid about 0.1 % above at most. `log_mixture` leaves out tilts that
hardly count, which makes log M smaller and the line higher: safe too.

The same process bounds a sum of rewards with several ranges, none wider than the unit in which all of them are
measured, since each factor needs only X - m >= -1; a sub-Gaussian reward adds sigma^2 to V, because psi(l) >= l^2 / 2.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.jit import inner_kernel
from surepath.learners.range_noise.bernstein import TABLE_SAFETY, log_mixture, log_start

SCALES, SCALE_SHARES = (0.5, 4.0, 64.0), (0.4, 0.4, 0.2)
FIRST_V, V_RATIO, V_POINTS = 0.5, 1.2, 128  # v = FIRST_V (V_RATIO^i - 1): up to 6e9

# Rows of a table, float [3, V_POINTS].
AT_V, MOST_SUM, SUM_SLOPE = range(3)


def log_process(s: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute log M(S, V), its slope in S, and minus its slope in V."""
    parts, tilt, psi = [], [], []
    for c, share in zip(SCALES, SCALE_SHARES):
        log_z, mean, _, mean_psi = log_mixture(s, v + c)
        parts.append(np.log(share) + log_z - log_start(np.array(c)))
        tilt.append(mean)
        psi.append(mean_psi)
    total = np.logaddexp.reduce(parts, axis=0)
    weight = np.exp(np.array(parts) - total)
    return total, (weight * tilt).sum(axis=0), (weight * psi).sum(axis=0)


@lru_cache(maxsize=32)
def interval_table(budget: float) -> FloatArray:
    """Make the table for B = budget; nobody may write into it.

    Newton's method: how far s still is from Sbar only makes the lines a little higher.
    """
    v = FIRST_V * np.expm1(np.log(V_RATIO) * np.arange(V_POINTS))
    s = np.sqrt(2.0 * (v + SCALES[-1]) * budget) + 2.0 * budget
    for _ in range(40):
        value, rise, _ = log_process(s, v)
        step = (budget - value) / rise
        s = s + step
        if np.abs(step / s).max() < 1e-4:
            break
    value, rise, fall = log_process(s, v)
    slope = fall / rise
    most = s + (budget - value) / rise
    return np.ascontiguousarray(np.stack([v, most + TABLE_SAFETY * (1.0 + most + v * slope), slope]))


def no_table() -> FloatArray:
    """Make a table that is never read, for learners whose widths learn nothing."""
    return np.zeros((3, 0))


@inner_kernel
def most_sum(table: FloatArray, n: int, v: float) -> float:
    """Bound S after n rewards whose squares sum to V; rounding of the squares is allowed for."""
    v += 1e-15 * n * (1.0 + v)
    i = min(int(np.log1p(v / FIRST_V) / np.log(V_RATIO) + 0.5), table.shape[1] - 1)
    return float(table[MOST_SUM, i] + (v - table[AT_V, i]) * table[SUM_SLOPE, i])


def most_sums(table: FloatArray, n: FloatArray | IntArray, v: FloatArray) -> FloatArray:
    """Compute what `most_sum` does, for arrays, in NumPy."""
    v = v + 1e-15 * n * (1.0 + v)
    i = np.minimum((np.log1p(v / FIRST_V) / np.log(V_RATIO) + 0.5).astype(np.int64), table.shape[1] - 1)
    return np.asarray(table[MOST_SUM, i] + (v - table[AT_V, i]) * table[SUM_SLOPE, i])


@inner_kernel
def square_of(x: float, n: int, mean: float) -> float:
    """Compute what a reward x adds to V; n and mean are those of the rewards before it, all in units of the range."""
    x = min(max(x, 0.0), 1.0)
    guess = (0.5 + n * min(max(mean, 0.0), 1.0)) / (n + 1.0) if n > 0 else 0.5
    return (x - guess) * (x - guess)
