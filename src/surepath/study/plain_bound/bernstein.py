"""Empirical Bernstein a second time: the conjugate Z*(y, W) by points of its graph (docs, "Unknown noise").

    Z(S, W) = integral over 0 < l < 1 of exp(l S - psi(l) W),   psi(l) = -log(1 - l) - l,
    Z*(y, W) = sup over S of y S - log Z(S, W),
    width of an arc at slope k after n scores in a range R wide = k [ Z*(R / (n k), V + c) + log Z(0, c) ].

Each S gives one exact point of Z*: at y = the mean of l under what Z integrates it is y S - log Z(S, W), and its slope
in W there is the mean of psi(l). Z* is convex in y, so chords between points lie above it; concave in W, so tangents
do. Rows of points are made for the W of a fine grid, and of the tangents from the row below and the row above the
smaller counts. Left of all points Z*(y) <= Z*(y0) + log(y0 / y).

The integral: with l = 1 - exp(-u) it is that of exp(g(u)), g(u) = S l - W (u - l) - u. g has one peak, at
log((S + W) / (W + 1)) or at 0; Gauss's rule is taken on either side over all that lies within REACH of its height.
Cutting off the rest makes Z smaller and Z* larger.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from surepath._types import FloatArray

W_STEP = np.log(1.5) / 16  # of the grid of W, logarithmic
LEAST_Y, MOST_Y, Z_STEP = 2e-7, 0.995, 0.02
REACH = 46.0
BERNSTEIN_ROUNDING = 1e-11  # of the points, added on the safe side
_NODES, _SHARES = np.polynomial.legendre.leggauss(40)


def _power(u: FloatArray, s: FloatArray, w: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return g(u), l, and psi(l) = u - l, for small u without cancelling."""
    tilt = -np.expm1(-u)
    psi = np.where(u < 1e-3, u * u * (0.5 - u / 6 + u * u / 24), u - tilt)
    return s * tilt - w * psi - u, tilt, psi


def integrals(s: FloatArray, w: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log Z(S, W), and the means of l and of psi(l) under what it integrates, for an array of S.

    g falls by at least (W + 1) d^2 / (2 + d) over a distance d right of the peak, and left of it by at least
    (W + 1) (exp(d) - 1 - d).
    """
    x = REACH / (w + 1)
    peak = np.log(np.maximum((s + w) / (w + 1), 1.0))
    left = np.maximum(peak - min(np.sqrt(2 * x), np.log1p(x) + 1), 0.0)
    inside, right = peak, peak + (x + np.sqrt(x * x + 8 * x)) / 2
    lowest = _power(peak, s, w)[0] - REACH
    for _ in range(25):
        middle = (inside + right) / 2
        above = _power(middle, s, w)[0] >= lowest
        inside, right = np.where(above, middle, inside), np.where(above, right, middle)
    halves = ((peak - left) / 2)[:, None], ((right - peak) / 2)[:, None]
    u = np.concatenate([left[:, None] + halves[0] * (1 + _NODES), peak[:, None] + halves[1] * (1 + _NODES)], axis=1)
    shares = np.concatenate([halves[0] * _SHARES, halves[1] * _SHARES], axis=1)
    power, tilt, psi = _power(u, s[:, None], w)
    top = power.max(axis=1)
    mass = np.exp(power - top[:, None]) * shares
    total = mass.sum(axis=1)
    return top + np.log(total), (mass * tilt).sum(axis=1) / total, (mass * psi).sum(axis=1) / total


def log_start(c: float) -> float:
    """Return log Z(0, c), or a little more."""
    return float(integrals(np.zeros(1), c)[0][0]) + BERNSTEIN_ROUNDING


@lru_cache(maxsize=4096)
def points(row: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return y, rising, Z* there or a little above, and its slope in W, for the W of one row."""
    w = float(np.exp(row * W_STEP))
    root = np.sqrt(w + 1)
    middle = np.arange(-3.0, np.arcsinh((w + 1) / (1 - MOST_Y) / root), Z_STEP / 2)
    z = np.concatenate([np.arange(np.arcsinh(-1 / (LEAST_Y * root)), -3.0 - Z_STEP / 2, Z_STEP), middle])
    s = root * np.sinh(z)
    log_z, y, psi = integrals(s, w)
    value = y * s - log_z
    value += BERNSTEIN_ROUNDING * (1 + np.abs(value) + w * psi)
    rising = np.append(True, y[1:] > np.maximum.accumulate(y)[:-1])
    return y[rising], value[rising], psi[rising]


def upper_conjugate(y: FloatArray, w: float) -> FloatArray:
    """Return Z*(y, W) or a little more; infinite right of all points."""
    below = int(np.floor(np.log(w) / W_STEP))
    best = np.full(len(y), np.inf)
    for row in (below, below + 1):
        at, value, slope = points(row)
        value = value + (w - np.exp(row * W_STEP)) * slope
        here = np.interp(y, at, value, right=np.inf)
        left = value[0] + np.log(at[0] / np.minimum(y, at[0]))
        best = np.minimum(best, np.where(y < at[0], left, here))
    return best


def squares(x: FloatArray) -> float:
    """Return V, the sum of (x - m)^2 with m = (1/2 + the sum so far) / (their number + 1)."""
    so_far = np.cumsum(x) - x
    off = x - (0.5 + so_far) / np.arange(1, len(x) + 1)
    return float(off @ off)


def widths(w: float, start: float, c: float, n: int, slopes: FloatArray) -> FloatArray:
    """Return the width for rewards in [0, 1] at each slope; w is V + c, start is log Z(0, c).

    The range itself bounds it too: r - mean <= 1, and M >= 0.39 / (2 n + c) for every r of the range, because V <= n,
    S >= -n, and psi(l) <= l for l <= 1/2.
    """
    process = slopes * (upper_conjugate(1 / (n * slopes), w) + start)
    return np.asarray(np.minimum(process, 1 + slopes * (np.log(2 * n + c) + 1)))
