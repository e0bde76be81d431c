"""What Bernstein widths are at least over a range of slopes: rows of a check that cannot tell anything are left out.

Where it is not the ceiling the width of an arc is k (Z*(per / k) + log Z(0, c)), convex in k, and so above every line
that supports it. A chord of the table continued, height + rise y, lies below Z*; so at all slopes k of the range

    w(k) >= rise * per + k (height + log Z(0, c)),

which is least at an end of the range. On an arc whose noise is not learned w(k) >= k / 2 log(1 + n / c), as h* >= 0; on
one without noise w(k) = 0. All are lowered by far more than rounding can do.
"""

from __future__ import annotations

import numpy as np

from surepath._types import BoolArray, FloatArray
from surepath.kernels.jit import Whole, optional_kernel
from surepath.learners.challenger.noise.bernstein import Bernstein, bernstein_line
from surepath.learners.challenger.noise.learned import Learned, LearnedScratch

SAFE = 1e-12  # relative


@optional_kernel
def fill_floors(
    learned: Learned | None,
    learned_work: LearnedScratch | None,
    j: Whole,
    slopes: tuple[float, float],
    extra: FloatArray,
    live: BoolArray,
    on: BoolArray,
    weight: FloatArray,
) -> None:
    """Put into `weight` what the widths of Bernstein entry j are at least, at slopes from the first to the second.

    For the arcs that are live, and the incumbent's own.
    """
    if learned is None:
        return
    if learned_work is None:
        return
    low, high = slopes
    middle = np.sqrt(low * high)
    log_middle, log_high = np.log(middle), np.log(high)
    for e in range(np.uint64(len(live))):
        if not live[e] and not on[e]:
            continue
        side = np.uint64(1 if on[e] else 0)
        if learned_work.per[e] == 0.0 and learned.learns[e]:
            weight[e] = 0.0  # a sigma of 0 was declared for it
        elif learned.learns[e]:
            weight[e] = bernstein_floor(
                learned.bernstein, learned_work, learned.start, side, j, low, high, middle, log_middle, log_high, e
            )
        else:
            weight[e] = (1.0 - SAFE) * low * extra[side, j, e]


@optional_kernel
def bernstein_floor(
    table: Bernstein | None,
    learned_work: LearnedScratch,
    start: FloatArray,
    side: np.uint64,
    j: Whole,
    low: float,
    high: float,
    middle: float,
    log_middle: float,
    log_high: float,
    e: int | np.uint64,
) -> float:
    """Return what the width of an arc by the Bernstein process is at least, at slopes from low to high."""
    if table is None:
        return 0.0
    per, ceiling = learned_work.per[e], learned_work.ceiling[e]
    edge = 1.01 * per  # the ceiling is the width at no slope from here on
    if edge <= low:
        y, log_y, least = per / middle, learned_work.log_per[e] - log_middle, low
    else:
        y, log_y, least = per / high, learned_work.log_per[e] - log_high, min(0.995 * edge, high)
    row, beyond = learned_work.row[side, j, e], learned_work.beyond[side, j, e]
    fixed, rise = bernstein_line(table, row, beyond, y, log_y)
    fixed += start[side, j, e]
    first, second = rise * per, fixed * (least if fixed >= 0.0 else high)
    width = first + second - SAFE * (abs(first) + abs(second))
    return float(width if edge <= low else min(width, (1.0 - SAFE) * ceiling))
