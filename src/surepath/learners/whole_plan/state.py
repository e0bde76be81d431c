"""What the kernels of WholePlan take: all plans, what is known of them at first, and names of places in arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.kernels.widths import ARC_WIDTHS
from surepath.model.mdp import MDP

# Places in Plans.tally.
EPISODES, ROUND, PLAYS_LEFT, NEXT, N_ACTIVE, SETTLED, PIVOT, N_TALLY = range(8)
# PIVOT: -1 before the first return.
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


def new_plans(
    mdp: MDP, arcs: IntArray, sigma: FloatArray, known_gain: FloatArray, widths: str, delta: float, prior: float
) -> Plans:
    """Allocate the state of a run that has seen nothing; `arcs` lists the plans, int [P, H]."""
    count, known = len(arcs), mdp.is_known
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
        bound=np.array([float(ARC_WIDTHS.index(widths)), delta, prior, np.inf]),
    )
    plans.tally[[ROUND, PLAYS_LEFT, N_ACTIVE, PIVOT]] = 1, count, count, -1
    return plans
