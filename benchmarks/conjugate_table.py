"""`python -m benchmarks.conjugate_table`: compute the points of the conjugate h*, and write the file shipped."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from surepath._checks import FloatArray
from surepath.learners.challenger.state import TABLE_FILE, conjugate_table

SAFETY = 1e-13  # rounding of the exact points, added on the safe side


def table_values() -> FloatArray:
    """Compute h* at the slopes of the table, or a little above it, by bisection on h'(x) = x + phi(x) / Phi(x) = y."""
    y = conjugate_table().y
    low, high = -2.0 / y - 2.0, y.copy()  # h'(low) < y < h'(high): h'(x) < -1/x for x < 0, and h'(x) > x
    for _ in range(100):
        x = (low + high) / 2
        above = x + np.sqrt(2 / np.pi) / erfcx(-x / np.sqrt(2)) > y
        low, high = np.where(above, low, x), np.where(above, x, high)
    left, right = np.minimum(x, 0.0), np.maximum(x, 0.0)  # left of 0 the terms of h cancel, and it is log erfcx
    h = np.where(x < 0, np.log(erfcx(-left / np.sqrt(2))), right * right / 2 + np.log(2.0) + log_ndtr(right))
    value = x * y - h
    return np.asarray(value + SAFETY * (1 + value))


if __name__ == "__main__":
    np.save(TABLE_FILE, table_values())
