"""The size of Gaussian noise that is the same on all arcs: an upper bound on sigma from the rewards themselves.

Legend: X a reward, m the mean of the rewards of its arc before it, RSS the sum of (X - m)^2 over all rewards but the
first of each arc, nu their number, t > 0 one of J numbers fixed in advance. For a Gaussian X of standard deviation
sigma and any m chosen before it, E exp(-t (X - m)^2 / sigma^2) <= (1 + 2 t)^(-1/2). So exp(-t RSS / sigma^2) (1 + 2
t)^(nu / 2) is a supermartingale started at 1, and by Ville's inequality and a union over the J numbers, with
probability 1 - alpha at all times at once,

    sigma^2 <= min over t of t RSS / ( nu / 2 log(1 + 2 t) - log(J / alpha) ),   over those t where that is positive.

Only for Gaussian noise: a sub-Gaussian law can hide its variance. The bound is infinite until nu is about 2 to 20.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.jit import hot_kernel

TILTS = np.geomspace(0.02, 200.0, 12)  # t: small ones are best when much was seen, large ones at the start
HIDDEN = 1e100  # in place of an infinite sigma: sums of finite numbers are numbers


def log_count(alpha: float) -> float:
    """log(J / alpha), for a bound that holds with probability 1 - alpha."""
    return float(np.log(len(TILTS) / alpha))


def half_logs() -> FloatArray:
    """1/2 log(1 + 2 t) of every t."""
    return np.asarray(0.5 * np.log1p(2 * TILTS))


@hot_kernel
def largest_sigma(tilts: FloatArray, halves: FloatArray, cost: float, squares: float, count: float) -> float:
    """The bound on sigma after `count` squares with this sum; `cost` is log(J / alpha)."""
    least = HIDDEN * HIDDEN
    for i in range(len(tilts)):
        room = count * halves[i] - cost
        if room > 0.0:
            least = min(least, tilts[i] * squares / room)
    return float(np.sqrt(least) * (1.0 + 1e-12))
