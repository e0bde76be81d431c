"""What Challenger's kernels take: settings fixed before the data, evidence that is saved, scratch that never is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import AnyArray, BoolArray, FloatArray, IntArray
from surepath.learners.challenger.conjugate import Conjugate
from surepath.learners.challenger.noise.betting import new_bets
from surepath.learners.challenger.noise.gaussian_size import Size
from surepath.learners.challenger.noise.learned import Learned, LearnedScratch, new_learned_scratch

# Kinds of entries: which mixture of tilts an arc's evidence is weighed with.
HALF_NORMAL, SHIFTED = range(2)
UNIFORM_PRIOR, DETOUR, EXCURSION, BY_STAGE = range(4)

# Rounding of one mean, relative to its size: the reward itself, its difference from the origin, sum, quotient.
ROUNDING = 2.0**-50

# Whose arc it is: the first index of c and of what follows from it.
RIVAL, OWN = range(2)

# Places in Evidence.memo, float: episodes told, episodes at the next full check, and the row of the last full check
# (its entry, its slope, and whether there is one); where sigma is unknown, the sum and the number of squares of noise.
EPISODES, NEXT_FULL, ENTRY, SLOPE, READY, RSS, N_SQUARES, N_MEMO = range(8)


# Where the steps of an episode may depend on each other: rows of a check, of quick checks, of kept bounds, and from
# FIRST_KAPPA on by kappa (row 2 is for arcs without noise); and how many slopes are tried for a pair of arcs.
QUICK, KEPT, FIRST_KAPPA, MOST_KAPPAS = 0, 1, 3, 20
SLOPE_POINTS = 11


class Stages(NamedTuple):
    """Settings: what is fixed before the data."""

    far: float  # log(1 / pi(y | x)) where x and y leave different nodes
    near: FloatArray  # [n_nodes + 1] the same where both leave this node
    least: FloatArray  # [N] least gain that the declared range allows; -inf where none is declared
    most: FloatArray  # [N] most gain likewise
    delta: float


class StageScratch(NamedTuple):
    """Scratch: bounds of the arcs against the incumbent's arcs of their stages."""

    bound: FloatArray  # [FIRST_KAPPA + MOST_KAPPAS, N] by row; QUICK: what does not depend on kappa
    ceiling: FloatArray  # [N] the least of the kept bound and of what the ranges allow, for quick checks
    entry: IntArray  # [N] the entry that was best for an arc at the last full check
    slope: FloatArray  # [N] its slope; 0 where nothing is uncertain
    tried: FloatArray  # [J * SLOPE_POINTS, 2] slopes of one pair, and W_x + W_y + k [ ... ] without kappa


class Walks(NamedTuple):
    """What the priors over paths and excursions are made of."""

    before: FloatArray  # [n_nodes + 1] the most nodes with a choice on a path to this node, it not counted
    after: FloatArray  # [n_nodes + 1] the most nodes with a choice on a path from this node, it counted
    rho: float  # of the detour prior


class Pairs(NamedTuple):
    """Settings: what is fixed before the data."""

    sigma: FloatArray  # [N] sub-Gaussian factors
    is_known: BoolArray  # [N] reward known in advance
    kind: IntArray  # [J] HALF_NORMAL, SHIFTED, or BERNSTEIN or BETTING of noise/learned.py
    c: FloatArray  # [2, J, N] precision of each arc's prior, on a rival's side and on the incumbent's, entry by entry
    tilt: FloatArray  # [J, N] centre of a SHIFTED entry's tilts; 0 for other kinds
    plan: FloatArray  # [J, 2] of a SHIFTED entry: the slope planned, and c over the visits planned
    scale: (
        FloatArray  # [J] mean of c over the arcs of rivals; infinite for a SHIFTED entry, which nothing is planned by
    )
    prior: IntArray  # [J] UNIFORM_PRIOR, DETOUR, or EXCURSION, in all entries or in none
    cost: FloatArray  # [J] log(1/delta) + log(1/weight)
    toll: FloatArray  # [J] the part of -log prior that is the same for every pair; for EXCURSION, every excursion
    log_paths: float
    walks: Walks | None  # what priors over paths need; None where rewards may depend on each other
    ratio: float  # of the grid of k
    conjugate: Conjugate
    learned: Learned | None  # arcs whose noise is learned; None where there are none
    size: Size | None  # where one sigma of all arcs is unknown: the array sigma is then 1, widths are in its unit
    flow: FloatArray  # [N] part of the trials through each arc, as planned for ties
    planned: float  # trials planned for ties; infinite where there is no such plan
    ties: int  # the entry for ties; -1 where there is none
    crowd: float  # sum of 1/2 log(1 + n/c) along a path, c of that entry, above which the guard takes every trial
    crowd_from: float  # trials before which no path can have that much
    price: FloatArray | None  # [N] price of each arc for the sampling; None where it does not count prices
    sampling: int  # index of the sampling rule
    stages: Stages | None  # where the rewards of an episode may depend on each other; None where they do not


class Evidence(NamedTuple):
    """What has been seen and decided; with the settings it determines all that comes after."""

    visits: IntArray  # [N]
    origin: FloatArray  # [N] the first gain of each arc
    sums: FloatArray  # [N] of gains minus origin
    squares: FloatArray  # [N] V of arcs whose noise is learned
    product: FloatArray | None  # [N, 2, 2, TILTS, CELLS] bets on them; None where no entry is of that kind
    alive: BoolArray  # [N] not eliminated
    open: BoolArray  # [N] not excluded
    pending: IntArray  # [N] plays asked for and not yet told
    recent: FloatArray  # [N] how often an arc separated challengers lately
    kept: FloatArray  # [N] least S0 bound of an arc against arc `kept_of`; no arcs where rewards are independent
    kept_of: IntArray  # [N]
    guarded: IntArray  # [N] plays of the guard that follow the planned flow
    memo: FloatArray  # [N_MEMO]


class Scratch(NamedTuple):
    """What follows from the evidence arc by arc (kept up by `refresh`), and arrays for the passes."""

    mean: FloatArray  # [N]; the known reward on known arcs
    top: FloatArray  # [N] mean plus what rounding may have taken from it
    a: FloatArray  # [2, J, N] sigma sqrt(n + c) / n; sigma / n for a SHIFTED entry
    log_a: FloatArray  # [2, J, N]
    extra: FloatArray  # [2, J, N] 1/2 log(1 + n/c)
    variance: FloatArray  # [N] sigma^2, or a guess of it, for the sampling
    stage_work: StageScratch | None  # of stage pairs
    learned_work: LearnedScratch | None  # of arcs whose noise is learned
    weight: FloatArray  # [N]
    ahead: FloatArray  # [n_nodes + 1] largest weight of a path from a node to the sink
    behind: FloatArray  # [n_nodes + 1] largest weight of a path from the start to a node
    leaving: FloatArray  # [H] what an excursion starts with that leaves the incumbent at this stage
    meeting: FloatArray  # [H] what it ends with where it meets the incumbent's node of this stage
    live: BoolArray  # [N] alive and not yet cleared in this check
    cleared: BoolArray  # [N] cleared in this check
    on: BoolArray  # [N] arc of the incumbent
    mark: FloatArray  # [N] sampling weights
    incumbent: IntArray  # [H]
    path: IntArray  # [H]
    gain: FloatArray  # [H] to be taken in
    grid: FloatArray  # [rows, 2] entry and slope; a slope below 0 is the wall of a quiet row
    judged: FloatArray  # [rows, 2] largest z of a row, and how many arcs were left when it was judged; -1 before
    through: FloatArray  # [N] z of each arc in the row that was judged last
    cells: BoolArray  # [cells] which sizes of a, on a logarithmic scale, some arc has
    unit: FloatArray  # [1] what sigma may be at most where it is unknown, else 1: the unit of widths and slopes
    slack: FloatArray  # [1] what rounding can do to a bound on a difference of paths


def new_evidence(arcs: int, bets: int = 0, kept: int = 0) -> Evidence:
    """Allocate evidence of nothing seen yet, with bets and kept bounds on this many arcs: all of them or none."""
    return Evidence(
        visits=np.zeros(arcs, dtype=np.int64),
        origin=np.zeros(arcs),
        sums=np.zeros(arcs),
        squares=np.zeros(arcs),
        product=new_bets(bets) if bets else None,
        alive=np.ones(arcs, dtype=np.bool_),
        open=np.ones(arcs, dtype=np.bool_),
        pending=np.zeros(arcs, dtype=np.int64),
        recent=np.zeros(arcs),
        kept=np.zeros(kept),
        kept_of=np.full(kept, -1, dtype=np.int64),
        guarded=np.zeros(arcs, dtype=np.int64),
        memo=np.zeros(N_MEMO),
    )


def arrays_of(seen: Evidence) -> dict[str, AnyArray]:
    """Return the evidence by name, as snapshots keep it: bets on no arcs where there are none."""
    return {name: new_bets(0) if array is None else array for name, array in seen._asdict().items()}


def slope_cells(pairs: Pairs) -> int:
    """Count the cells of a logarithmic scale that hold every a and every slope that can come up.

    a / sigma lies between 1e-8 (10^15 visits) and 1e8 (the first visit, c up to 1e15); slopes reach a factor of 10^4
    further on either side, on graphs of any size that fits into memory.
    """
    noisy = pairs.sigma[pairs.sigma > 0]
    spread = float(np.log(noisy.max()) - np.log(noisy.min())) if noisy.size else 0.0
    return int((spread + 60.0) / np.log(pairs.ratio)) + 16


def new_stage_scratch(stages: Stages | None, entries: int) -> StageScratch | None:
    """Allocate scratch; None where the steps of an episode are independent."""
    if stages is None:
        return None
    arcs = len(stages.least)
    return StageScratch(
        bound=np.zeros((FIRST_KAPPA + MOST_KAPPAS, arcs)),
        ceiling=np.zeros(arcs),
        entry=np.zeros(arcs, dtype=np.int64),
        slope=np.zeros(arcs),
        tried=np.zeros((entries * SLOPE_POINTS, 2)),
    )


def new_scratch(pairs: Pairs, known_gain: FloatArray, nodes: int, horizon: int) -> Scratch:
    """Allocate scratch for evidence of nothing; `known_gain` holds the known rewards and 0 elsewhere."""
    arcs, entries, cells = len(known_gain), len(pairs.cost), slope_cells(pairs)
    rows = entries * cells + 1 if pairs.stages is None else FIRST_KAPPA + MOST_KAPPAS
    return Scratch(
        mean=known_gain.copy(),
        top=known_gain.copy(),
        a=np.zeros((2, entries, arcs)),
        log_a=np.zeros((2, entries, arcs)),
        extra=np.zeros((2, entries, arcs)),
        variance=pairs.sigma**2,
        stage_work=new_stage_scratch(pairs.stages, entries),
        learned_work=new_learned_scratch(pairs.learned),
        weight=np.zeros(arcs),
        ahead=np.zeros(nodes + 1),
        behind=np.zeros(nodes + 1),
        leaving=np.zeros(horizon),
        meeting=np.zeros(horizon),
        live=np.zeros(arcs, dtype=np.bool_),
        cleared=np.zeros(arcs, dtype=np.bool_),
        on=np.zeros(arcs, dtype=np.bool_),
        mark=np.zeros(arcs),
        incumbent=np.zeros(horizon, dtype=np.int64),
        path=np.zeros(horizon, dtype=np.int64),
        gain=np.zeros(horizon),
        grid=np.zeros((rows, 2)),
        judged=np.zeros((rows, 2)),
        through=np.zeros(arcs),
        cells=np.zeros(cells, dtype=np.bool_),
        unit=np.ones(1),
        slack=np.zeros(1),
    )
