"""Where running sums start to count, and the unit of rounding: shared by the learners that add up rewards."""

from __future__ import annotations

from surepath.kernels.jit import folded_kernel

UNIT = 2.0**-53  # half a unit in the last place of 1: rounding of one operation, relative to its result

NEAR = 64.0


@folded_kernel
def origin_of(gain: float, sigma: float) -> float:
    """Choose where the sum of an arc starts to count, by its first gain."""
    return 0.0 if abs(gain) <= NEAR * sigma else gain
