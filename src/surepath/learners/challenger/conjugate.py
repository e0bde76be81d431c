"""The conjugate h*(y) = sup_x (x y - h(x)) of the one-sided mixture exponent, as a table that errs on the safe side.

h(x) = x^2 / 2 + log(2 Phi(x)) is convex, with h'(x) = x + phi(x) / Phi(x). The supremum for a slope y > 0 is reached
where h'(x) = y. h* is convex too, so linear interpolation between exact points lies above it: widths come out a
little too wide, never too narrow. Left of the table h*(y) <= h*(y0) + log(y0 / y), because the slope of h* at y is the
x with h'(x) = y, and h'(x) < -1/x for x < 0 makes that x > -1/y. Right of it h*(y) <= y^2 / 2, because the supremum
lies at some x >= 0, where log(2 Phi(x)) >= 0.

The points of the table are shipped in `conjugate.npy`, which this file run as a program writes: to compute them takes
SciPy and longer than a command on a study should.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.jit import hot_kernel

LEAST_Y, MOST_Y, POINTS = 1e-4, 200.0, 4001
TABLE_FILE = Path(__file__).with_name("conjugate.npy")
SAFETY = 1e-13  # rounding of the exact points, added on the safe side


class Conjugate(NamedTuple):
    """The table, on a logarithmic grid of slopes."""

    y: FloatArray  # [POINTS] slopes
    value: FloatArray  # [POINTS] h* there
    rise: FloatArray  # [POINTS] slope of the chord to the next point
    log_low: float
    per_log: float  # grid points per unit of log y


def exponent(x: FloatArray) -> FloatArray:
    """Compute h(x) = x^2 / 2 + log(2 Phi(x)); left of 0 the two terms cancel and h(x) = log erfcx(-x / sqrt 2)."""
    from scipy.special import erfcx, log_ndtr

    left, right = np.minimum(x, 0.0), np.maximum(x, 0.0)
    near, far = np.log(erfcx(-left / np.sqrt(2))), right * right / 2 + np.log(2.0) + log_ndtr(right)
    return np.asarray(np.where(x < 0, near, far))


def _slope(x: FloatArray) -> FloatArray:
    """Compute h'(x) = x + phi(x) / Phi(x), by the expansion -1/x + 2/x^3 - 10/x^5 where the two terms cancel."""
    from scipy.special import erfcx

    far = x < -1e3
    safe = np.where(far, -1.0, x)
    near = safe + np.sqrt(2 / np.pi) / erfcx(-safe / np.sqrt(2))
    with np.errstate(divide="ignore"):
        return np.where(far, -1 / x + 2 / x**3 - 10 / x**5, near)


def exact_conjugate(y: FloatArray) -> FloatArray:
    """Compute h*(y) for slopes y > 0, by bisection on h'(x) = y."""
    low, high = -2.0 / y - 2.0, y.copy()  # h'(low) < y < h'(high): h'(x) < -1/x for x < 0, and h'(x) > x
    for _ in range(100):
        middle = (low + high) / 2
        above = _slope(middle) > y
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    x = (low + high) / 2
    return np.asarray(x * y - exponent(x))


def slopes() -> FloatArray:
    """Return the slopes of the table, [POINTS]."""
    return np.asarray(np.exp(np.linspace(np.log(LEAST_Y), np.log(MOST_Y), POINTS)))


def table_values() -> FloatArray:
    """Compute h* at the slopes of the table, a little above the exact values."""
    value = exact_conjugate(slopes())
    return np.asarray(value + SAFETY * (1 + value))


@lru_cache(maxsize=1)
def conjugate_table() -> Conjugate:
    """Return the table of h*."""
    y, value = slopes(), np.load(TABLE_FILE)
    rise = np.append(np.diff(value) / np.diff(y), 0.0)
    per_log = (POINTS - 1) / (np.log(MOST_Y) - np.log(LEAST_Y))
    return Conjugate(y, value, rise, float(np.log(LEAST_Y)), float(per_log))


def table_conjugate(y: FloatArray) -> FloatArray:
    """Compute h*(y) or a little above it, for an array of slopes: what the kernel computes, in NumPy."""
    table = conjugate_table()
    inside = np.interp(y, table.y, table.value)
    left = table.value[0] + np.log(LEAST_Y / np.minimum(y, LEAST_Y))
    return np.asarray(np.where(y < LEAST_Y, left, np.where(y >= MOST_Y, 0.5 * y * y, inside)))


@hot_kernel
def conjugate(table: Conjugate, y: float, log_y: float) -> float:
    """Compute h*(y) or a little above it; log_y must be the logarithm of y."""
    place = (log_y - table.log_low) * table.per_log
    if not place >= 0.0:  # no number stays none
        return float(table.value[0] + table.log_low - log_y)
    if place >= len(table.y) - 1:
        return 0.5 * y * y
    i = int(place)
    return float(table.value[i] + table.rise[i] * (y - table.y[i]))


if __name__ == "__main__":
    np.save(TABLE_FILE, table_values())
