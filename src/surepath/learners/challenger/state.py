"""The state of Challenger as arrays, and the conjugate function of its bound."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.kernels.jit import hot_kernel
from surepath.learners.challenger.noise import Learned, LearnedScratch, Size, new_bets, new_learned_scratch

# Conjugate ------------------------------------------------------------------------------------------------------------
# The conjugate h*(y) = sup_x (x y - h(x)) of h(x) = x^2 / 2 + log(2 Phi(x)), as a table that errs on the safe side.
#
# h* is convex: linear interpolation between exact points lies above it. Left of the table h*(y) <= h*(y0) + log(y0 /
# y), since h'(x) < -1/x for x < 0; right of it h*(y) <= y^2 / 2. The points are shipped in `conjugate.npy`, which this
# file run as a program writes: to compute them takes SciPy and longer than a command on a study should.

LEAST_Y, MOST_Y, POINTS = 1e-4, 200.0, 4001
TABLE_FILE = Path(__file__).with_name("conjugate.npy")
SAFETY = 1e-13  # rounding of the exact points, added on the safe side


class Conjugate(NamedTuple):
    """The table, on a logarithmic grid of slopes."""

    y: FloatArray  # [POINTS] slopes
    value: FloatArray  # [POINTS] h* there
    rise: FloatArray  # [POINTS] slope of the chord to the next point
    log_low: float
    per_log: float  # grid points per unit of log y


def exponent(x: FloatArray) -> FloatArray:
    """Compute h(x) = x^2 / 2 + log(2 Phi(x)); left of 0 the two terms cancel and h(x) = log erfcx(-x / sqrt 2)."""
    from scipy.special import erfcx, log_ndtr

    left, right = np.minimum(x, 0.0), np.maximum(x, 0.0)
    near, far = np.log(erfcx(-left / np.sqrt(2))), right * right / 2 + np.log(2.0) + log_ndtr(right)
    return np.asarray(np.where(x < 0, near, far))


def _slope(x: FloatArray) -> FloatArray:
    """Compute h'(x) = x + phi(x) / Phi(x), by the expansion -1/x + 2/x^3 - 10/x^5 where the two terms cancel."""
    from scipy.special import erfcx

    far = x < -1e3
    safe = np.where(far, -1.0, x)
    near = safe + np.sqrt(2 / np.pi) / erfcx(-safe / np.sqrt(2))
    with np.errstate(divide="ignore"):
        return np.where(far, -1 / x + 2 / x**3 - 10 / x**5, near)


def exact_conjugate(y: FloatArray) -> FloatArray:
    """Compute h*(y) for slopes y > 0, by bisection on h'(x) = y."""
    low, high = -2.0 / y - 2.0, y.copy()  # h'(low) < y < h'(high): h'(x) < -1/x for x < 0, and h'(x) > x
    for _ in range(100):
        middle = (low + high) / 2
        above = _slope(middle) > y
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    x = (low + high) / 2
    return np.asarray(x * y - exponent(x))


def slopes() -> FloatArray:
    """Return the slopes of the table, [POINTS]."""
    return np.asarray(np.exp(np.linspace(np.log(LEAST_Y), np.log(MOST_Y), POINTS)))


def table_values() -> FloatArray:
    """Compute h* at the slopes of the table, a little above the exact values."""
    value = exact_conjugate(slopes())
    return np.asarray(value + SAFETY * (1 + value))


@lru_cache(maxsize=1)
def conjugate_table() -> Conjugate:
    """Return the table of h*."""
    y, value = slopes(), np.load(TABLE_FILE)
    rise = np.append(np.diff(value) / np.diff(y), 0.0)
    per_log = (POINTS - 1) / (np.log(MOST_Y) - np.log(LEAST_Y))
    return Conjugate(y, value, rise, float(np.log(LEAST_Y)), float(per_log))


@hot_kernel
def conjugate(table: Conjugate, y: float, log_y: float) -> float:
    """Compute h*(y) or a little above it; log_y must be the logarithm of y."""
    place = (log_y - table.log_low) * table.per_log
    if not place >= 0.0:  # no number stays none
        return float(table.value[0] + table.log_low - log_y)
    if place >= len(table.y) - 1:
        return 0.5 * y * y
    i = int(place)
    return float(table.value[i] + table.rise[i] * (y - table.y[i]))


if __name__ == "__main__":
    np.save(TABLE_FILE, table_values())


# State ----------------------------------------------------------------------------------------------------------------
# What Challenger's kernels take: settings fixed before the data, evidence that is saved, scratch that never is.

# Kinds of entries: which mixture of tilts an arc's evidence is weighed with.
HALF_NORMAL, SHIFTED = range(2)
UNIFORM_PRIOR, DETOUR, EXCURSION, BY_STAGE, BY_PLAN = range(5)  # the last two under any dependence

# Rounding of one mean, relative to its size: the reward itself, its difference from the origin, sum, quotient.
ROUNDING = 2.0**-50

# Whose arc it is: the first index of c and of what follows from it.
RIVAL, OWN = range(2)

# Places in Evidence.memo, float: episodes told, episodes at the next full check, and the row of the last full check
# (its entry, its slope, and whether there is one); where sigma is unknown, the sum and the number of squares of noise.
EPISODES, NEXT_FULL, ENTRY, SLOPE, READY, RSS, N_SQUARES, N_MEMO = range(8)


# Where the steps of an episode may depend on each other: rows of quick checks, by totals of episodes, of kept bounds,
# for arcs without noise, and by kappa from FIRST_KAPPA on; and how many slopes are tried for a pair of arcs.
QUICK, TOTAL, KEPT, QUIET, FIRST_KAPPA = range(5)
MOST_KAPPAS = 20
SLOPE_POINTS = 11


class Stages(NamedTuple):
    """Settings: what is fixed before the data."""

    far: float  # log(1 / pi(y | x)) where x and y leave different nodes
    near: FloatArray  # [n_nodes + 1] the same where both leave this node
    least: FloatArray  # [N] least gain that the declared range allows; -inf where none is declared
    most: FloatArray  # [N] most gain likewise
    delta: float
    total: float  # sub-Gaussian factor of the sum of an episode's rewards, where plans share no step; else 0
    fills: bool  # whether a missing reward counts as the end of its range that is worse for the proof


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
    kind: IntArray  # [J] HALF_NORMAL, SHIFTED, or BERNSTEIN or BETTING of noise.py
    c: FloatArray  # [2, J, N] precision of each arc's prior, on a rival's side and on the incumbent's, entry by entry
    tilt: FloatArray  # [J, N] centre of a SHIFTED entry's tilts; 0 for other kinds
    plan: FloatArray  # [J, 2] of a SHIFTED entry: the slope planned, and c over the visits planned
    scale: (
        FloatArray  # [J] mean of c over the arcs of rivals; infinite for a SHIFTED entry, which nothing is planned by
    )
    prior: IntArray  # [J] UNIFORM_PRIOR, DETOUR, or EXCURSION in all entries or in none; BY_STAGE and then BY_PLAN
    cost: FloatArray  # [J] log(1/delta) + log(1/weight)
    toll: FloatArray  # [J] the part of -log prior that is the same for every pair; for EXCURSION, every excursion
    log_paths: float
    walks: Walks | None  # what priors over paths need; None where rewards may depend on each other
    ratio: float  # of the grid of k
    conjugate: Conjugate
    learned: Learned | None  # arcs whose noise is learned; None where there are none
    size: Size  # of one unknown sigma of all arcs: the array sigma is then 1, widths are in its unit; else no tilts
    flow: FloatArray  # [N] part of the trials through each arc, as planned for ties
    planned: float  # trials planned for ties; infinite where there is no such plan
    ties: int  # the entry for ties; -1 where there is none
    crowd: float  # sum of 1/2 log(1 + n/c) along a path, c of that entry, above which the guard takes every trial
    crowd_from: float  # trials before which no path can have that much
    price: FloatArray  # [N] price of each arc for the sampling; empty where it does not count prices
    sampling: int  # index of the sampling rule
    stages: Stages | None  # where the rewards of an episode may depend on each other; None where they do not


class Evidence(NamedTuple):
    """What has been seen and decided; with the settings it determines all that comes after.

    What a bound is made of at one moment, and so what a certificate holds: visits, origin, sums and missing; the
    rewards themselves in their order where noise is learned. A missing reward of a betting arc is a factor
    1 + l (r - 1) on either side. kept and alive are what earlier moments proved.
    """

    visits: IntArray  # [N] rewards seen
    missing: IntArray  # [N] rewards that broken-off episodes did not show, where `Stages.fills` counts them; else 0
    origin: FloatArray  # [N] the first gain of each arc
    sums: FloatArray  # [N] of gains minus origin
    squares: FloatArray  # [N] V of arcs whose noise is learned
    product: FloatArray  # [N, 2, 2, TILTS, CELLS] bets on them; no arcs where no entry is of that kind
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
    top: FloatArray  # [N] mean as a rival's arc, missing rewards at the top of their range, plus what rounding took
    low: FloatArray  # [N] mean as the incumbent's arc, missing rewards at the bottom, less what rounding added
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
        missing=np.zeros(arcs, dtype=np.int64),
        origin=np.zeros(arcs),
        sums=np.zeros(arcs),
        squares=np.zeros(arcs),
        product=new_bets(bets),
        alive=np.ones(arcs, dtype=np.bool_),
        open=np.ones(arcs, dtype=np.bool_),
        pending=np.zeros(arcs, dtype=np.int64),
        recent=np.zeros(arcs),
        kept=np.zeros(kept),
        kept_of=np.full(kept, -1, dtype=np.int64),
        guarded=np.zeros(arcs, dtype=np.int64),
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
        low=known_gain.copy(),
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
