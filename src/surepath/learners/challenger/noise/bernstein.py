"""Empirical Bernstein: a process for rewards in [0, 1] that learns their variance, as a table on the safe side.

Legend: X a reward in [0, 1], m a guess of it made before (m = (1/2 + sum so far) / (visits so far + 1)), V the sum of
(X - m)^2, S the sum of r - X (or of X - r, on the incumbent's side), psi(l) = -log(1 - l) - l, c > 0 fixed in advance.
For 0 <= l < 1 and x >= -1, 1 + l x >= exp(l x - psi(l) x^2). With x = m - X, or X - m, the expectation of
exp(l S - psi(l) V) grows by a factor of at most 1 a reward. Mixed over l with density exp(-c psi(l)) / Z(0, c),

    M = Z(S, V + c) / Z(0, c),      Z(S, W) = integral over 0 < l < 1 of exp(l S - psi(l) W).

The width of an arc at slope k, after n rewards in a range R wide, is the supremum over r of (r - mean) - k log M:

    w(k) = k [ Z*(y, V + c) + log Z(0, c) ],   y = R / (n k),   Z*(y, W) = sup over S of (y S - log Z(S, W)),

infinite for y >= 1. log Z is convex in (S, W) together. So Z* is convex in y, and chords lie above it; and it is
concave in W, and tangents lie above it. The table holds, on a grid of (y, W), Z* and its slope in W; between its points
it takes the tangent in W at both neighbours in y and the chord between the two: never below Z*. Left of the table the
slope of Z* in y is above -1/y (the mean of l at S < 0 is below 1/|S|), so that Z*(y) <= Z*(y0) + log(y0 / y). For large
W this is Challenger's one-sided h*(y sqrt(W)) + 1/2 log(2 W / pi).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.jit import hot_kernel

LEAST_W, MOST_W, W_RATIO = 0.25, 1e9, 1.5
LEAST_TILT, MIDDLE_TILT, MOST_TILT = 5e-7, 0.25, 0.9925  # a logarithmic scale below the middle, an even one above
LOG_TILT_STEP, TILT_STEP = 0.05, 0.0075
TABLE_SAFETY = 1e-9  # rounding of the points, added on the safe side

_NODES, _SHARES = np.polynomial.legendre.leggauss(96)
_POWER = 4  # 1 - l = v^4 takes the edge off (1 - l)^W at l = 1


class Bernstein(NamedTuple):
    """Z* and its slope in W on a grid."""

    w: FloatArray  # [rows]
    y: FloatArray  # [points]
    per_y: FloatArray  # [points] 1 / distance to the next point
    value: FloatArray  # [rows, points] Z*
    slope: FloatArray  # [rows, points] of Z* in W
    log_low: float
    middle: int  # the point at MIDDLE_TILT


def log_mixture(s: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Compute log Z(S, W), and mean and variance of l and the mean of psi(l) under the mixture that Z integrates."""
    spread, root = s + w, np.sqrt(w + 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        right = np.where(s >= 0, (w + 1 + 14 * root + 60) / spread, 1.0)
        left = np.where(s >= 0, (w + 1 - 14 * root) / spread, 1 - np.minimum(45 / -s, 14 / np.sqrt(w)))
    ends = [np.clip(end, 0.0, 1.0) ** (1 / _POWER) for end in (left, right)]
    half = (ends[1] - ends[0]) / 2
    v = (ends[0] + half)[..., None] + half[..., None] * _NODES
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = 1.0 - v**_POWER
        psi = -_POWER * np.log(v) - tilt
        power = s[..., None] * tilt - w[..., None] * psi
        top = power.max(axis=-1)
        mass = np.exp(power - top[..., None]) * (_POWER * v ** (_POWER - 1)) * _SHARES
    total = mass.sum(axis=-1)
    mean = (mass * tilt).sum(axis=-1) / total
    variance = (mass * (tilt - mean[..., None]) ** 2).sum(axis=-1) / total
    return top + np.log(total * half), mean, variance, (mass * psi).sum(axis=-1) / total


def log_start(c: FloatArray) -> FloatArray:
    """Compute log Z(0, c), the cost of the prior."""
    return log_mixture(np.zeros_like(c), c)[0] + TABLE_SAFETY


def conjugate_points(y: FloatArray, w: float) -> tuple[FloatArray, FloatArray]:
    """Compute Z*(y, w) and its slope in w, for increasing y in (0, 1)."""
    root = np.sqrt(w)
    s = np.concatenate([-np.geomspace(4 / y[0], root / 100, 60), np.geomspace(root / 100, 4e3 * (w + root + 1), 60)])
    mean = log_mixture(s, np.full_like(s, w))[1]
    rising = np.concatenate([[True], np.diff(np.maximum.accumulate(mean)) > 0])
    mean, s = mean[rising], s[rising]
    logit = np.log(mean) - np.log1p(-np.minimum(mean, 1 - 1e-15))
    guess = root * np.sinh(np.interp(np.log(y / (1 - y)), logit, np.arcsinh(s / root)))
    wide = np.full_like(y, w)
    for _ in range(3):
        _, mean, variance, _ = log_mixture(guess, wide)
        step = (y - mean) / variance
        guess = guess + np.clip(step, -0.3 * (np.abs(guess) + root), 0.3 * (np.abs(guess) + root))
    log_z, mean, variance, psi = log_mixture(guess, wide)
    left = (y - mean) ** 2 / variance  # more than what is still missing to the supremum
    return y * guess - log_z + left, psi


@lru_cache(maxsize=1)
def bernstein_table() -> Bernstein:
    """Return the table, computed once."""
    rows = int(np.ceil(np.log(MOST_W / LEAST_W) / np.log(W_RATIO))) + 1
    w = LEAST_W * W_RATIO ** np.arange(rows, dtype=np.float64)
    middle = int(np.ceil(np.log(MIDDLE_TILT / LEAST_TILT) / LOG_TILT_STEP))
    low = MIDDLE_TILT * np.exp(-LOG_TILT_STEP * np.arange(middle, 0, -1))
    y = np.concatenate([low, np.arange(MIDDLE_TILT, MOST_TILT + TILT_STEP / 2, TILT_STEP)])
    value, slope = (np.stack(both) for both in zip(*(conjugate_points(y, float(one)) for one in w)))
    value += TABLE_SAFETY * (1 + np.abs(value) + w[:, None] * slope)
    return Bernstein(w, y, np.append(1 / np.diff(y), 0.0), value, slope, float(np.log(low[0])), middle)


@hot_kernel
def bernstein_row(table: Bernstein, w: float) -> int:
    """Return the row of the table nearest to W on a logarithmic scale."""
    place = np.log(w / LEAST_W) / np.log(W_RATIO) + 0.5
    return int(min(max(place, 0.0), len(table.w) - 1.0))


@hot_kernel
def bernstein_conjugate(table: Bernstein, row: int, beyond: float, y: float, log_y: float) -> float:
    """Compute Z*(y, W) or a little above it, W = table.w[row] + beyond; log_y must be the logarithm of y."""
    if y < MIDDLE_TILT:
        place = (log_y - table.log_low) * (1.0 / LOG_TILT_STEP)
        if not place >= 0.0:
            return float(table.value[row, 0] + beyond * table.slope[row, 0] + (table.log_low - log_y))
        point = min(int(place), table.middle - 1)
    else:
        point = table.middle + int((y - MIDDLE_TILT) * (1.0 / TILT_STEP))
        if not point < len(table.y) - 1:
            return np.inf
    at, i, up = np.uint64(row), np.uint64(point), np.uint64(point + 1)
    share = (y - table.y[i]) * table.per_y[i]
    low = table.value[at, i] + beyond * table.slope[at, i]
    high = table.value[at, up] + beyond * table.slope[at, up]
    return float(low + share * (high - low))


@hot_kernel
def bernstein_line(table: Bernstein, row: int, beyond: float, y: float, log_y: float) -> tuple[float, float]:
    """Return height at 0 and rise of the chord of the table at y; continued, it lies below Z*, which is convex in y."""
    place = (log_y - table.log_low) * (1.0 / LOG_TILT_STEP)
    if not y < MIDDLE_TILT:
        place = table.middle + (y - MIDDLE_TILT) * (1.0 / TILT_STEP)
    point = min(max(place, 0.0), len(table.y) - 2.0)
    at, i, up = np.uint64(row), np.uint64(point), np.uint64(point + 1.0)
    low = table.value[at, i] + beyond * table.slope[at, i]
    high = table.value[at, up] + beyond * table.slope[at, up]
    rise = (high - low) * table.per_y[i]
    return low - rise * table.y[i], rise


def bernstein_values(table: Bernstein, row: int, beyond: float, y: FloatArray) -> FloatArray:
    """Compute Z*(y, W) or a little above it for an array of y: what the kernel computes, in NumPy."""
    points = table.value[row] + beyond * table.slope[row]
    left = points[0] + np.log(table.y[0] / np.minimum(y, table.y[0]))
    inside = np.interp(y, table.y, points)
    return np.asarray(np.where(y < table.y[0], left, np.where(y >= table.y[-1], np.inf, inside)))
