"""h*(y), the conjugate of the one-sided exponent, a second time: by points of its graph instead of root finding.

h(x) = x^2/2 + log(2 Phi(x)) is convex and smooth, so each x gives one exact point of h*: at y = h'(x) it is x y - h(x).
A dense list of x gives a dense list of points, and chords between points of a convex function lie above it: what is
returned is never below h*. Left of the list h*(y) <= h*(y0) + log(y0 / y), right of it h*(y) <= y^2 / 2 (the docs of
Challenger's theorem say why).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import erfcx, ndtr

from surepath._types import FloatArray

FAR_LEFT, FAR_RIGHT, POINTS = 2e4, 400.0, 400_000
CONJUGATE_ROUNDING = 2e-13  # of the exact points, added on the safe side


@lru_cache(maxsize=1)
def points() -> tuple[FloatArray, FloatArray]:
    """Return slopes y, rising, and h* there or a little above."""
    part = POINTS // 4
    left, right = -np.geomspace(FAR_LEFT, 2.0, 2 * part), np.geomspace(4.0, FAR_RIGHT, part)
    x = np.concatenate([left[:-1], np.linspace(-2.0, 4.0, part), right[1:]])
    t, u = np.maximum(-x, 0.0), np.maximum(x, 0.0)
    # log(2 Phi(x)) + x^2/2 is log erfcx(-x / sqrt 2): no cancelling on the left, and on the right written out.
    scaled = erfcx(t / np.sqrt(2))
    h = np.where(x < 0, np.log(scaled), u * u / 2 + np.log(2 * ndtr(u)))
    # h'(x) = x + phi(x) / Phi(x). Far on the left the two terms cancel: there by 1/t - 2/t^3 + 10/t^5 - 74/t^7, t = -x.
    hazard = np.where(x < 0, np.sqrt(2 / np.pi) / scaled, np.exp(-u * u / 2) / np.sqrt(2 * np.pi) / ndtr(u))
    far = np.maximum(t, 1.0)
    y = np.where(x < -200.0, 1 / far - 2 / far**3 + 10 / far**5 - 74 / far**7, x + hazard)
    value = x * y - h
    return y, value + CONJUGATE_ROUNDING * (1 + np.abs(value) + np.abs(x * y))


def upper_conjugate(y: FloatArray) -> FloatArray:
    """Return h*(y), or a little above it, for y > 0."""
    slopes, values = points()
    inside = np.interp(y, slopes, values)
    with np.errstate(divide="ignore"):
        below = values[0] + np.log(slopes[0] / np.minimum(y, slopes[0]))
    return np.asarray(np.where(y < slopes[0], below, np.where(y > slopes[-1], y * y / 2, inside)))
