"""The size of Gaussian noise that is the same on all noisy arcs: an upper bound on sigma from the rewards themselves.

Legend: X a reward of an arc that does not declare sigma 0, m the mean of the rewards of its arc before it, RSS the sum
of (X - m)^2 over all such rewards but the first of each arc, nu their number, t > 0 one of J numbers fixed in advance.
For a Gaussian X of standard deviation sigma and any m chosen before it, E exp(-t (X - m)^2 / sigma^2) <= (1 + 2
t)^(-1/2). So exp(-t RSS / sigma^2) (1 + 2 t)^(nu / 2) is a supermartingale started at 1, and by Ville's inequality and
a union over the J numbers, with probability 1 - alpha at all times at once,

    sigma^2 <= min over t of t RSS / ( nu / 2 log(1 + 2 t) - log(J / alpha) ),   over those t where that is positive.

Only for Gaussian noise: a sub-Gaussian law can hide its variance. The bound is infinite until nu is about 2 to 20.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.jit import optional_kernel

SIZE_TILTS = np.geomspace(0.03, 3.0, 8)  # t: small ones are best when much was seen, large ones at the start
HIDDEN = 1e100  # in place of an infinite sigma: sums of finite numbers are numbers


class Size(NamedTuple):
    """What the bound on sigma is made of, fixed before the data."""

    cost: float  # log(J / alpha)
    tilt: FloatArray  # [J] t
    half_log: FloatArray  # [J] 1/2 log(1 + 2 t)


def size_of(alpha: float) -> Size:
    """Return what the bound on sigma is made of, so that it holds with probability 1 - alpha."""
    return Size(float(np.log(len(SIZE_TILTS) / alpha)), SIZE_TILTS.copy(), np.asarray(0.5 * np.log1p(2 * SIZE_TILTS)))


@optional_kernel
def largest_sigma(size: Size | None, squares: float, count: float) -> float:
    """Return the bound on sigma after `count` squares with this sum; 1 where sigma is known."""
    if size is None:
        return 1.0
    least = HIDDEN * HIDDEN
    for i in range(len(size.tilt)):
        divisor = count * size.half_log[i] - size.cost
        if divisor > 0.0:
            least = min(least, size.tilt[i] * squares / divisor)
    return float(min(np.sqrt(least) * (1.0 + 1e-12), HIDDEN))
