"""What the kernels of WholePlan take: all plans, what is known of them at first, and names of places in arrays."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.kernels.widths import ARC_WIDTHS, MIXTURE
from surepath.learners.range_noise.declared_noise import ranges_of
from surepath.learners.range_noise.intervals import interval_table, no_table
from surepath.model.mdp import MDP

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


def new_plans(
    mdp: MDP, arcs: IntArray, sigma: FloatArray, known_gain: FloatArray, widths: str, delta: float, prior: float
) -> Plans:
    """Allocate the state of a run that has seen nothing; `arcs` lists the plans, int [P, H]."""
    count, known, learns = len(arcs), mdp.is_known, widths == "bernstein"
    kind = MIXTURE if learns else ARC_WIDTHS.index(widths)
    plans = Plans(
        arcs=arcs,
        learned=~known,
        noise=sigma.copy(),
        sigma=np.sqrt((sigma[arcs] ** 2).sum(axis=1)),
        visits=np.zeros(count, dtype=np.int64),
        sums=np.zeros(count),
        active=np.ones(count, dtype=np.bool_),
        base=np.zeros(count),
        size=np.zeros(count),
        upper=np.zeros(count),
        seen=known.copy(),
        origin=np.zeros(mdp.n_arcs),
        centre=known_gain.copy(),
        gain=np.zeros(mdp.horizon),
        used=np.zeros(mdp.n_arcs, dtype=np.bool_),
        tally=np.zeros(N_TALLY, dtype=np.int64),
        bound=np.array([float(kind), delta, prior, np.inf]),
        **_learned_noise(mdp, arcs, delta, learns),
    )
    plans.tally[[ROUND, PLAYS_LEFT, N_ACTIVE, PIVOT]] = 1, count, count, -1
    return plans


def _learned_noise(mdp: MDP, arcs: IntArray, delta: float, learns: bool) -> dict[str, FloatArray]:
    """Return the fields of Plans that learn the noise."""
    count, ranges = len(arcs) if learns else 0, ranges_of(mdp, "bernstein" if learns else "sigma")
    width = np.where(ranges.learns, ranges.span, 0.0)
    unbounded = np.where(ranges.learns | mdp.is_known, width, np.inf)
    return {
        "unit": width[arcs].max(axis=1) if learns else np.zeros(0),
        "reach": unbounded[arcs].sum(axis=1) if learns else np.zeros(0),
        "squares": np.zeros(count),
        "scores": np.zeros((count, mdp.horizon)),
        "least": ranges.low,
        "range": width,
        "most": interval_table(log(4.0 * count / delta)) if learns else no_table(),
    }
