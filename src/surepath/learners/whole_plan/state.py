"""What the kernels of WholePlan take: all plans, what is known of them, and the names of places in their arrays."""

from __future__ import annotations

from typing import NamedTuple

from surepath._types import BoolArray, FloatArray, IntArray

# Places in Plans.tally.
EPISODES, ROUND, PLAYS_LEFT, NEXT, N_ACTIVE, SETTLED, PLAYED, PIVOT, N_TALLY = range(9)
# PLAYED: how many stages of the episode in Plans.gain were played.  PIVOT: -1 before the first return.
# Place in Plans.bound of the largest upper less the largest lower bound after the last round.
LAST_GAP = 3


class Plans(NamedTuple):
    """All plans and what is known of them."""

    arcs: IntArray  # [P, H] the plans
    learned: BoolArray  # [N] arcs whose reward must be learned
    noise: FloatArray  # [N] sigma of each arc
    sigma: FloatArray  # [P]
    visits: IntArray  # [P] whole returns seen
    sums: FloatArray  # [P] of returns, relative to the origins
    active: BoolArray  # [P]
    base: FloatArray  # [P] sum of the centres less that of the pivot, once visited
    size: FloatArray  # [P] what rounding can have done to it
    upper: FloatArray  # [P] upper bound when last computed
    seen: BoolArray  # [N] arcs that have an origin, or need none
    origin: FloatArray  # [N] first gain of each arc to learn
    centre: FloatArray  # [N] the same, or the known gain
    gain: FloatArray  # [H] gains of the current episode
    used: BoolArray  # [N] scratch: arcs on an active plan
    tally: IntArray  # [N_TALLY]
    bound: FloatArray  # [4] kind of width (as a float), delta, c, the place LAST_GAP
    # Where noise is learned; no rows elsewhere.
    unit: FloatArray  # [P] widest range of an arc of the plan, 0 where none has one
    reach: FloatArray  # [P] sum of the ranges, infinite where an arc to learn has none
    squares: FloatArray  # [P] V in these units
    scores: FloatArray  # [P, H] sum of the rewards seen of each stage, in units of the arc's range
    least: FloatArray  # [N] least gain of an arc whose noise is learned
    range: FloatArray  # [N] width of its range, 0 where no noise is learned
    most: FloatArray  # [3, points] how large a sum of deviations can be, by V
