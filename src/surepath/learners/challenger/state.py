"""What Challenger's kernels take: settings fixed before the data, evidence that is saved, scratch that never is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.learners.challenger.conjugate import Conjugate

# Kinds of entries: which mixture of tilts an arc's evidence is weighed with; INTERVAL is a width for each arc alone
# (CLUCB: intervals of arcs, differences of paths).
HALF_NORMAL, NORMAL, INTERVAL = range(3)
UNIFORM_PRIOR, DETOUR, NO_PRIOR = range(3)

# Whose arc it is: the first index of c and of what follows from it.
RIVAL, OWN = range(2)

# Places in Evidence.memo, float: episodes told, episodes at the next full check, and the row of the last full check
# (its entry, its slope, and whether there is one).
EPISODES, NEXT_FULL, ENTRY, SLOPE, READY, N_MEMO = range(6)


class Pairs(NamedTuple):
    """Settings: what is fixed before the data."""

    sigma: FloatArray  # [N] sub-Gaussian factors
    is_known: BoolArray  # [N] reward known in advance
    kind: IntArray  # [J] HALF_NORMAL, NORMAL or INTERVAL
    c: FloatArray  # [2, J, N] precision of each arc's prior, on a rival's side and on the incumbent's, entry by entry
    scale: FloatArray  # [J] mean of c over the arcs of rivals, larger first
    prior: IntArray  # [J] UNIFORM_PRIOR, DETOUR or NO_PRIOR
    cost: FloatArray  # [J] log(1/delta) + log(1/weight)
    log_paths: float
    rho: float  # of the detour prior
    ratio: float  # of the grid of k
    conjugate: Conjugate
    sampling: int  # index of the sampling rule
    repeat: float  # share of the least visits for which a path is played again in a run
    patience: float  # share by which the episodes grow between two full checks


class Evidence(NamedTuple):
    """What has been seen and decided; with the settings it says all that comes after."""

    visits: IntArray  # [N]
    origin: FloatArray  # [N] the first gain of each arc
    sums: FloatArray  # [N] of gains minus origin
    alive: BoolArray  # [N] not eliminated
    pending: IntArray  # [N] plays handed out and not yet told
    recent: FloatArray  # [N] how often an arc separated challengers lately
    memo: FloatArray  # [N_MEMO]


class Scratch(NamedTuple):
    """What follows from the evidence arc by arc (kept up by `refresh`), and arrays for the passes."""

    mean: FloatArray  # [N]; the known reward on known arcs
    top: FloatArray  # [N] mean plus what rounding may have taken from it
    a: FloatArray  # [2, J, N]
    log_a: FloatArray  # [2, J, N]
    extra: FloatArray  # [2, J, N] 1/2 log(1 + n/c)
    weight: FloatArray  # [N]
    ahead: FloatArray  # [n_nodes + 1] heaviest way from a node to the sink
    behind: FloatArray  # [n_nodes + 1] heaviest way from the start to a node
    live: BoolArray  # [N] alive and not yet cleared in this check
    cleared: BoolArray  # [N] cleared in this check
    on: BoolArray  # [N] arc of the incumbent
    mark: FloatArray  # [N] sampling weights
    incumbent: IntArray  # [H]
    path: IntArray  # [H]
    grid: FloatArray  # [rows, 2] entry and slope; a slope below 0 is the wall of a quiet row
    cells: BoolArray  # [cells] which sizes of a, on a logarithmic scale, some arc has
    slack: FloatArray  # [1] what rounding can do to a bound on a difference of paths


def new_evidence(arcs: int) -> Evidence:
    """Allocate evidence of nothing seen yet."""
    return Evidence(
        visits=np.zeros(arcs, dtype=np.int64),
        origin=np.zeros(arcs),
        sums=np.zeros(arcs),
        alive=np.ones(arcs, dtype=np.bool_),
        pending=np.zeros(arcs, dtype=np.int64),
        recent=np.zeros(arcs),
        memo=np.zeros(N_MEMO),
    )


def slope_cells(pairs: Pairs) -> int:
    """Count the cells of a logarithmic scale that hold every a and every slope that can come up.

    a / sigma lies between 1e-8 (10^15 visits) and 1e8 (the first visit, c up to 1e15); slopes reach a factor of 10^4
    further on either side, on graphs of any size that fits into memory.
    """
    noisy = pairs.sigma[pairs.sigma > 0]
    spread = float(np.log(noisy.max()) - np.log(noisy.min())) if noisy.size else 0.0
    return int((spread + 60.0) / np.log(pairs.ratio)) + 16


def new_scratch(pairs: Pairs, known_gain: FloatArray, nodes: int, horizon: int) -> Scratch:
    """Allocate scratch for evidence of nothing; `known_gain` holds the known rewards and 0 elsewhere."""
    arcs, entries, cells = len(known_gain), len(pairs.cost), slope_cells(pairs)
    return Scratch(
        mean=known_gain.copy(),
        top=known_gain.copy(),
        a=np.zeros((2, entries, arcs)),
        log_a=np.zeros((2, entries, arcs)),
        extra=np.zeros((2, entries, arcs)),
        weight=np.zeros(arcs),
        ahead=np.zeros(nodes + 1),
        behind=np.zeros(nodes + 1),
        live=np.zeros(arcs, dtype=np.bool_),
        cleared=np.zeros(arcs, dtype=np.bool_),
        on=np.zeros(arcs, dtype=np.bool_),
        mark=np.zeros(arcs),
        incumbent=np.zeros(horizon, dtype=np.int64),
        path=np.zeros(horizon, dtype=np.int64),
        grid=np.zeros((entries * cells + 1, 2)),
        cells=np.zeros(cells, dtype=np.bool_),
        slack=np.zeros(1),
    )
