"""What Challenger's kernels take: the numbers fixed before the data, what has been seen, and room to work in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.learners.challenger.conjugate import Conjugate

ONE_SIDED, TWO_SIDED, PER_ARC = range(3)
UNIFORM, DETOUR = range(2)

# Whose arc it is: the first index of c and of what follows from it.
RIVAL, OWN = range(2)


class Pairs(NamedTuple):
    """What is fixed before the data."""

    sigma: FloatArray  # [N] sub-Gaussian factors
    is_known: BoolArray  # [N] reward known in advance
    c: FloatArray  # [2, J, N] precision of each arc's prior, on a rival's side and on the incumbent's, entry by entry
    scale: FloatArray  # [J] mean of c over the arcs of rivals, larger first
    prior: IntArray  # [J] UNIFORM or DETOUR
    cost: FloatArray  # [J] log(1/delta) + log(1/weight)
    sides: int  # ONE_SIDED, TWO_SIDED, or PER_ARC (CLUCB: a width for each arc, differences of paths)
    log_paths: float
    rho: float  # of the detour prior
    ratio: float  # of the grid of k
    conjugate: Conjugate


class Evidence(NamedTuple):
    """What has been seen, and what follows from it arc by arc (kept up by `refresh`)."""

    visits: IntArray  # [N]
    pending: IntArray  # [N] plays handed out and not yet told
    sums: FloatArray  # [N]
    mean: FloatArray  # [N]; the known reward on known arcs
    a: FloatArray  # [2, J, N]
    log_a: FloatArray  # [2, J, N]
    extra: FloatArray  # [2, J, N] 1/2 log(1 + n/c)
    alive: BoolArray  # [N] not eliminated


class Work(NamedTuple):
    """Room for the passes."""

    weight: FloatArray  # [N]
    ahead: FloatArray  # [n_nodes + 1] heaviest way from a node to the sink
    behind: FloatArray  # [n_nodes + 1] heaviest way from the start to a node
    live: BoolArray  # [N] alive and not yet cleared in this check
    cleared: BoolArray  # [N] cleared in this check
    on: BoolArray  # [N] arc of the incumbent
    mark: FloatArray  # [N] sampling weights
    recent: FloatArray  # [N] how often an arc separated challengers lately
    incumbent: IntArray  # [H]
    path: IntArray  # [H]
    grid: FloatArray  # [rows, 2] entry and slope; a slope below 0 is the wall of a quiet row


# Rows of the grid of entries and slopes. What does not fit is left out: safe, but then the stop may come late.
_GRID_ROWS = 512


def new_evidence(known_gain: FloatArray, entries: int) -> Evidence:
    """Nothing seen yet; `known_gain` holds the known rewards and 0 elsewhere."""
    arcs = len(known_gain)
    return Evidence(
        visits=np.zeros(arcs, dtype=np.int64),
        pending=np.zeros(arcs, dtype=np.int64),
        sums=np.zeros(arcs),
        mean=known_gain.copy(),
        a=np.zeros((2, entries, arcs)),
        log_a=np.zeros((2, entries, arcs)),
        extra=np.zeros((2, entries, arcs)),
        alive=np.ones(arcs, dtype=np.bool_),
    )


def new_work(arcs: int, nodes: int, horizon: int) -> Work:
    """Empty room."""
    return Work(
        weight=np.zeros(arcs),
        ahead=np.zeros(nodes + 1),
        behind=np.zeros(nodes + 1),
        live=np.zeros(arcs, dtype=np.bool_),
        cleared=np.zeros(arcs, dtype=np.bool_),
        on=np.zeros(arcs, dtype=np.bool_),
        mark=np.zeros(arcs),
        recent=np.zeros(arcs),
        incumbent=np.zeros(horizon, dtype=np.int64),
        path=np.zeros(horizon, dtype=np.int64),
        grid=np.zeros((_GRID_ROWS, 2)),
    )
