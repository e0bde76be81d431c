"""Arrays of Challenger's kernels, the numbers of its bound, and the conjugate function of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray, one_of, real
from surepath.errors import SettingError
from surepath.kernels.flow import design_flow
from surepath.kernels.jit import hot_kernel
from surepath.kernels.sweeps import graph_of
from surepath.learners.challenger import noise as learning
from surepath.learners.challenger.noise import BERNSTEIN, BETTING, Learned, LearnedScratch, Size, ranges_of
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, even_flow

if TYPE_CHECKING:
    from surepath.learners.challenger.learner import Challenger

# Conjugate ------------------------------------------------------------------------------------------------------------
# The conjugate h*(y) = sup_x (x y - h(x)) of h(x) = x^2 / 2 + log(2 Phi(x)), as a table that errs on the safe side.
#
# h* is convex: linear interpolation between exact points lies above it. Left of the table h*(y) <= h*(y0) + log(y0 /
# y), since h'(x) < -1/x for x < 0; right of it h*(y) <= y^2 / 2. The points are shipped in `conjugate.npy`, which
# `python -m benchmarks.conjugate_table` writes: computing them takes longer than a command on a study should.

LEAST_Y, MOST_Y, POINTS = 1e-4, 200.0, 4001
TABLE_FILE = Path(__file__).with_name("conjugate.npy")


class Conjugate(NamedTuple):
    """The table, on a logarithmic grid of slopes."""

    y: FloatArray  # [POINTS] slopes
    value: FloatArray  # [POINTS] h* there
    rise: FloatArray  # [POINTS] slope of the chord to the next point
    log_low: float
    per_log: float  # grid points per unit of log y


@lru_cache(maxsize=1)
def conjugate_table() -> Conjugate:
    """Return the table of h*."""
    y, value = np.exp(np.linspace(np.log(LEAST_Y), np.log(MOST_Y), POINTS)), np.load(TABLE_FILE)
    rise = np.append(np.diff(value) / np.diff(y), 0.0)
    per_log = (POINTS - 1) / (np.log(MOST_Y) - np.log(LEAST_Y))
    return Conjugate(y, value, rise, float(np.log(LEAST_Y)), float(per_log))


@hot_kernel
def conjugate(table: Conjugate, y: float, log_y: float) -> float:
    """Compute h*(y) or a little above it; log_y must be the logarithm of y."""
    place = (log_y - table.log_low) * table.per_log
    if not place >= 0.0:  # NaN stays NaN
        return float(table.value[0] + table.log_low - log_y)
    if place >= len(table.y) - 1:
        return 0.5 * y * y
    i = int(place)
    return float(table.value[i] + table.rise[i] * (y - table.y[i]))


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

# Rules of sampling (`run.py`), and what free arcs count for at least where plans have prices.
SAMPLING = ("separating", "max-diameter", "guarded", "thrifty")
BY_SEPARATION, BY_DIAMETER, BY_GUARD = range(3)
LEAST_PRICE = 0.01  # of the mean cost: what an arc counts for at least, so that free arcs do not take all trials


class Stages(NamedTuple):
    """Settings: what is fixed before the data."""

    far: float  # log(1 / pi(y | x)) where x and y leave different nodes
    near: FloatArray  # [n_nodes + 1] the same where both leave this node
    least: FloatArray  # [N] least gain that the declared range allows; -inf where none is declared
    most: FloatArray  # [N] most gain likewise
    delta: float
    total: float | None  # sub-Gaussian factor of the sum of an episode's rewards, where it is declared
    fills: bool  # whether a missing reward counts as the end of its range that is worse for the proof


class StageScratch(NamedTuple):
    """Scratch: bounds of the arcs against the incumbent's arcs of their stages."""

    bound: FloatArray  # [FIRST_KAPPA + MOST_KAPPAS, N] by row; QUICK: what does not depend on kappa
    ceiling: FloatArray  # [N] the least of the kept bound and of what the ranges allow, for quick checks
    tried: FloatArray  # [J * SLOPE_POINTS, 2] slopes of one pair, and W_x + W_y + k [ ... ] without kappa


class Walks(NamedTuple):
    """Parts of the priors over paths and excursions."""

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
    prior_cost: FloatArray  # [J] the part of -log prior that is the same for every pair; for EXCURSION, every excursion
    log_paths: float
    walks: Walks | None  # what priors over paths need; None where rewards may depend on each other
    ratio: float  # of the grid of k
    conjugate: Conjugate
    learned: Learned | None  # arcs whose noise is learned; None where there are none
    size: Size  # of one unknown sigma of all arcs: the array sigma is then 1, widths are in its unit; else no tilts
    flow: FloatArray  # [N] part of the trials through each arc, as planned for ties
    planned: float  # trials planned for ties; infinite where there is no such plan
    ties: int  # the entry for ties; -1 where there is none
    log_limit: float  # sum of 1/2 log(1 + n/c) along a path, c of that entry, above which the guard takes every trial
    log_limit_from: float  # trials before which no path can have that much
    price: FloatArray  # [N] price of each arc for the sampling; empty where it does not count prices
    sampling: int  # index of the sampling rule
    stages: Stages | None  # where the rewards of an episode may depend on each other; None where they do not


class Evidence(NamedTuple):
    """Evidence and decisions so far; with the settings they determine all that comes after.

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
    entry: IntArray  # [N] the entry that was best for an arc at the last full check; no arcs likewise
    slope: FloatArray  # [N] its slope; 0 where nothing is uncertain
    guarded: IntArray  # [N] plays of the guard that follow the planned flow
    memo: FloatArray  # [N_MEMO]


class Scratch(NamedTuple):
    """Numbers that follow from the evidence arc by arc (kept up by `refresh`), and arrays for the passes."""

    mean: FloatArray  # [N]; the known reward on known arcs
    top: FloatArray  # [N] mean as a rival's arc, missing rewards at the top of their range, plus what rounding took
    low: FloatArray  # [N] mean as the incumbent's arc, missing rewards at the bottom, less what rounding added
    a: FloatArray  # [2, J, N] sigma sqrt(n + c) / n; sigma / n for a SHIFTED entry
    log_a: FloatArray  # [2, J, N]
    extra: FloatArray  # [2, J, N] 1/2 log(1 + n/c)
    variance: FloatArray  # [N] sigma^2, or a guess of it, for the sampling
    stage_work: StageScratch  # of stage pairs; None without them
    learned_work: LearnedScratch  # of arcs whose noise is learned; None where there are none
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
        product=learning.new_bets(bets),
        alive=np.ones(arcs, dtype=np.bool_),
        open=np.ones(arcs, dtype=np.bool_),
        pending=np.zeros(arcs, dtype=np.int64),
        recent=np.zeros(arcs),
        kept=np.zeros(kept),
        kept_of=np.full(kept, -1, dtype=np.int64),
        entry=np.zeros(kept, dtype=np.int64),
        slope=np.zeros(kept),
        guarded=np.zeros(arcs, dtype=np.int64),
        memo=np.zeros(N_MEMO),
    )


def most_rows(pairs: Pairs) -> int:
    """Bound the rows of a check.

    a / sigma lies between 1e-8 (10^15 visits) and 1e8 (the first visit, c up to 1e15); slopes reach a factor of 10^4
    further on either side, on graphs of any size that fits into memory.
    """
    if pairs.stages is not None:
        return FIRST_KAPPA + MOST_KAPPAS
    noisy = pairs.sigma[pairs.sigma > 0]
    spread = float(np.log(noisy.max()) - np.log(noisy.min())) if noisy.size else 0.0
    return len(pairs.cost) * (int((spread + 60.0) / np.log(pairs.ratio)) + 16) + 1


def new_stage_scratch(stages: Stages | None, entries: int) -> StageScratch:
    """Allocate scratch; None where the steps of an episode are independent."""
    if stages is None:
        return None  # type: ignore[return-value]
    arcs = len(stages.least)
    return StageScratch(
        bound=np.zeros((FIRST_KAPPA + MOST_KAPPAS, arcs)),
        ceiling=np.zeros(arcs),
        tried=np.zeros((entries * SLOPE_POINTS, 2)),
    )


def new_scratch(pairs: Pairs, known_gain: FloatArray, nodes: int, horizon: int) -> Scratch:
    """Allocate scratch for evidence of nothing; `known_gain` holds the known rewards and 0 elsewhere."""
    arcs, entries, rows = len(known_gain), len(pairs.cost), most_rows(pairs)
    return Scratch(
        mean=known_gain.copy(),
        top=known_gain.copy(),
        low=known_gain.copy(),
        a=np.zeros((2, entries, arcs)),
        log_a=np.zeros((2, entries, arcs)),
        extra=np.zeros((2, entries, arcs)),
        variance=pairs.sigma**2,
        stage_work=new_stage_scratch(pairs.stages, entries),
        learned_work=learning.new_learned_scratch(pairs.learned),
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
        unit=np.ones(1),
        slack=np.zeros(1),
    )


# Entries --------------------------------------------------------------------------------------------------------------
# A bound is a list of entries, fixed before the data, so it belongs to the settings: a learner rebuilt from these has
# the same bound even where a later version would choose others. Each entry has a `kind` (the mixture of tilts that an
# arc's evidence is weighed with), a `prior` (over the wrong answers, given the right one), a `weight` (its part of
# delta; they sum to at most 1) and a `scale`: the mean over arcs of c, the precision of the mixture, on a rival's side
# (`precisions`).

KINDS = {"half-normal": HALF_NORMAL, "shifted": SHIFTED, "bernstein": BERNSTEIN, "betting": BETTING}
PRIORS = {"uniform": UNIFORM_PRIOR, "detour": DETOUR, "excursion": EXCURSION, "stages": BY_STAGE, "plans": BY_PLAN}
DEPENDENCES = ("any", "independent")
MISSING = ("related", "unrelated")

DIVISORS = (20.0, 2500.0)
WEIGHTS: tuple[float, ...] = (0.8, 0.12, 0.08)
SMALLEST = 100.0  # the last of the scales is never above this
EXACT_SCALES = (16384.0, 512.0, 16.0)
EXACT_WEIGHTS: tuple[float, ...] = (0.2, 0.4, 0.4)
LEARNED_SCALES = (64.0, 6.0, 0.5)  # c counts squares of rewards in [0, 1]
LEARNED_WEIGHTS: tuple[float, ...] = (0.1, 0.5, 0.4)
BESIDE = {"betting": 0.1, "bernstein": 0.5}  # the part of the entries that take half the range for sigma beside these
OPEN_SCALES = (4096.0, 256.0, 24.0, 2.5)  # where sigma is unknown, nothing says how long a run will be
OPEN_WEIGHTS: tuple[float, ...] = (0.15, 0.25, 0.35, 0.25)
SIZE_PART = 0.1  # the part of delta that bounds an unknown sigma
STAGES_WEIGHTS: tuple[float, ...] = (0.6, 0.25, 0.15)
TIES_WEIGHT, PER_VISIT = 0.05, 8.0
TOTALS_WEIGHT = 0.9  # of the entries by totals of trials, where their noise is declared

LEAST_C, LEAST_LEARNED_C, MOST_C = 1.0, 0.25, 1e15
VISITS_PER_SQUARE = 25.0  # where c counts squares of rewards in [0, 1], an arc with a declared sigma counts visits
RHO = 0.4  # how likely the walk of the detour prior leaves at a choice
RATIO, STAGES_RATIO = 1.2, 1.6  # of the grid of slopes, and of kappas


def default_entries(learner: Challenger) -> list[dict[str, Any]]:
    """Choose the entries for a learner's problem, noise, epsilon and delta."""
    mdp, sigma, epsilon, delta, noise = learner.mdp, learner.sigma, learner.epsilon, learner.delta, learner.noise
    unknown, total, by_stage = learner.unknown, learner.total_sigma, learner.dependence == "any"
    if epsilon > 0 and not unknown:
        noisy = sigma[sigma > 0]
        spread = float(np.sqrt((noisy**2).mean())) if noisy.size else 1.0
        size = min(max(spread / epsilon, 1e-6), 1e9)  # beyond, c meets its own limits
        need, weights = 6 * mdp.horizon * size**2 * (np.log(2 / delta) + mdp.log_paths), WEIGHTS
        if by_stage:
            need, weights = 3 * mdp.horizon**2 * size**2 * np.log(mdp.n_arcs / delta), STAGES_WEIGHTS
        scales = _scales(need)
    else:
        scales, weights = (list(OPEN_SCALES), OPEN_WEIGHTS) if unknown else (list(EXACT_SCALES), EXACT_WEIGHTS)
    part = (1 - SIZE_PART if unknown else 1.0) if noise == "sigma" else BESIDE[noise]
    chosen = [("half-normal", scale, part * weight) for scale, weight in zip(scales, weights)]
    if noise != "sigma":
        first = [(noise, scale, (1 - part) * weight) for scale, weight in zip(LEARNED_SCALES, LEARNED_WEIGHTS)]
        chosen = first + chosen
    prior = "stages" if by_stage else "excursion" if epsilon == 0 else "detour"
    entries: list[dict[str, Any]] = [
        {"kind": what, "prior": prior, "weight": weight, "scale": float(scale)} for what, scale, weight in chosen
    ]
    declared = noise == "sigma" and not unknown and bool((sigma > 0).any())
    if mdp.log_paths > 0 and declared and prior == "detour":  # others are not mixed with other priors
        for entry in entries:
            entry["weight"] *= 1 - TIES_WEIGHT
        entries.append(ties_entry(mdp, sigma, epsilon, delta))
    if total is not None:
        for entry in entries:
            entry["weight"] *= 1 - TOTALS_WEIGHT
        scales, weights = list(EXACT_SCALES), EXACT_WEIGHTS
        if epsilon > 0:
            need = 6 * min(max(total / epsilon, 1e-6), 1e9) ** 2 * (np.log(2 / delta) + mdp.log_paths)
            scales, weights = _scales(need), WEIGHTS
        entries += [
            {"kind": "half-normal", "prior": "plans", "weight": TOTALS_WEIGHT * weight, "scale": float(scale)}
            for scale, weight in zip(scales, weights)
        ]
    return entries


def _scales(need: float) -> list[float]:
    """Return the three scales for so many visits in all."""
    high, low = (need / d for d in DIVISORS)
    return list(np.geomspace(high, min(low, SMALLEST), 3).tolist())


def checked_entries(given: Any, learner: Challenger) -> list[dict[str, Any]]:
    """Check entries that were given, number by number, and that they suit the learner; return plain copies."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence) or not given:
        raise SettingError("a bound is a list of entries, at least one")
    entries = [_entry(entry) for entry in given]
    total = float(sum(entry["weight"] for entry in entries))
    if total > 1 + 1e-12:
        raise SettingError(f"the weights of a bound must sum to at most 1, not {total:.15g}")
    if len({entry["prior"] == "excursion" for entry in entries}) > 1:
        raise SettingError('either all entries of a bound have the prior "excursion" or none has')
    for entry in entries:
        if entry["kind"] in ("bernstein", "betting") and entry["kind"] != learner.noise:
            raise SettingError(f'an entry of kind "{entry["kind"]}" does not belong to noise "{learner.noise}"')
        if (entry["prior"] in ("stages", "plans")) != (learner.dependence == "any"):
            raise SettingError('the prior "stages" is that of dependence="any", and its only one')
        if entry["prior"] == "plans" and learner.total_sigma is None:
            raise SettingError('the prior "plans" is that of totals of trials; give total_sigma')
    return entries


def _entry(given: Any) -> dict[str, Any]:
    shifted = isinstance(given, Mapping) and given.get("kind") == "shifted"
    keys = ("kind", "prior", "weight", *(OF_TIES if shifted else ("scale",)))
    if not isinstance(given, Mapping) or set(given) != set(keys):
        raise SettingError(f"an entry of a bound is a dict with {', '.join(keys)}, not {given!r}")
    words: dict[str, Any] = {"kind": KINDS, "prior": PRIORS, "flow": FLOWS}
    entry: dict[str, Any] = {}
    for key in keys:
        what = f"{key} of an entry"
        entry[key] = one_of(what, given[key], words[key]) if key in words else real(what, given[key])
        if key not in words and not entry[key] > 0:
            raise SettingError(f"the {what} must be above 0, not {entry[key]:g}")
    return entry


# Ties -----------------------------------------------------------------------------------------------------------------
# The entry for problems in which many paths are about equal expects every arc to have its planned visits n0 = T w, w
# the flow of the optimal design (docs, "Ties"). An arc's tilt is mixed over a normal law around mu, which suits n0,
# with precision c = PER_VISIT * n0. With L what a pair pays in all the best slope is k = epsilon / (2 L), and planned
# are T = 4 (sum of sigma^2) L / epsilon^2 episodes; mu = sigma / (k n0).

OF_TIES = ("trials", "slope", "per_visit", "flow")
FLOWS = ("design", "even")
MOST_DESIGNED = 5000  # arcs; on larger graphs the optimal flow takes too long, and evenly picked actions must do
LEAST_VARIANCE = 1e-6  # of the largest variance: what an arc without noise counts for in the design
DIGITS = 9  # of the flow: what two machines agree on
MOST_LOGS = 4.0  # of L: the logarithms of a pair above which every episode is the guard's


def ties_entry(mdp: MDP, sigma: FloatArray, epsilon: float, delta: float) -> dict[str, Any]:
    """Choose the numbers of the entry for ties, for an epsilon above 0."""
    need = pair_need(mdp, delta, TIES_WEIGHT, PER_VISIT)
    ratio = float(np.clip(sigma.max() / epsilon, 1e-9, 1e9))
    return {
        "kind": "shifted",
        "prior": "uniform",
        "weight": TIES_WEIGHT,
        "trials": float(max(1.0, 4 * _variances(sigma).sum() * need * ratio**2)),
        "slope": float(epsilon / (2 * need)),
        "per_visit": PER_VISIT,
        "flow": "design" if mdp.n_arcs <= MOST_DESIGNED else "even",
    }


def pair_need(mdp: MDP, delta: float, weight: float, per_visit: float) -> float:
    """Compute L, what a pair pays in all when every arc has its planned visits."""
    wrong = mdp.log_paths + np.log1p(-np.exp(-mdp.log_paths))
    return float(wrong + np.log(1 / delta) + np.log(1 / weight) + mdp.horizon * np.log1p(1 / per_visit))


def log_limits(mdp: MDP, entry: dict[str, Any], delta: float, flow: FloatArray) -> tuple[float, float]:
    """Return what 1/2 log(1 + n/c) may sum to along a path, and the episodes before which it cannot be more.

    Visits far beyond those planned make the logarithms of a pair large. While they are at most MOST_LOGS * L they cost
    no more than a constant factor of the episodes; above that the guard takes every episode. n is at most the episodes
    t, so each logarithm is at most log(1 + t / (per_visit * T * least share)).
    """
    limit = MOST_LOGS * pair_need(mdp, delta, entry["weight"], entry["per_visit"])
    least = entry["per_visit"] * entry["trials"] * float(flow.min())
    return limit / 2, float(least * np.expm1(min(limit / mdp.horizon, 600.0)))


def planned_shares(mdp: MDP, sigma: FloatArray, flow: str) -> FloatArray:
    """Return the part of the episodes that goes through each arc, float [N]."""
    return _shares(mdp, _variances(sigma).tobytes(), flow)


@lru_cache(maxsize=16)
def _shares(mdp: MDP, variances: bytes, flow: str) -> FloatArray:
    if flow == "design":
        shares = design_flow(graph_of(mdp), np.frombuffer(variances).copy())
    else:
        shares = even_flow(mdp)
    scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(shares)))
    return np.asarray(np.round(shares * scale) / scale)


def _variances(sigma: FloatArray) -> FloatArray:
    """Compute sigma^2 as parts of the largest, never 0."""
    return np.asarray(np.maximum((sigma / sigma.max()) ** 2, LEAST_VARIANCE))


# As arrays ------------------------------------------------------------------------------------------------------------


def precisions(mdp: MDP, entries: Sequence[Mapping[str, Any]], least: float) -> FloatArray:
    """Compute c of every arc on either side of a pair, [2, entries, N], but for entries of the shifted kind.

    On a rival's side the entry's scale times the arc's share of the visits under evenly picked actions, scaled to mean
    1; the incumbent's arcs are visited more often and more evenly, so theirs goes by the root of the share.
    """
    shares = even_flow(mdp)
    shares = shares / shares.mean()
    scales = [entry.get("scale", 1.0) for entry in entries]
    own = float(np.sqrt(mdp.n_arcs / mdp.horizon)) * np.outer(scales, np.sqrt(shares))
    return np.asarray(np.clip(np.stack([np.outer(scales, shares), own]), least, MOST_C))


def choices(mdp: MDP) -> tuple[FloatArray, FloatArray]:
    """Return the most nodes with a choice before each node, and from it on, it counted; both [n_nodes + 1]."""
    counts = np.append(np.diff(mdp.first) > 1, False).astype(np.float64)
    before, after = np.zeros(mdp.n_nodes + 1), np.zeros(mdp.n_nodes + 1)
    stages = [slice(mdp.stage_arc[h], mdp.stage_arc[h + 1]) for h in range(mdp.horizon)]
    for arcs in stages:
        source = mdp.source[arcs]
        np.maximum.at(before, mdp.target[arcs], before[source] + counts[source])
    for arcs in reversed(stages):
        source = mdp.source[arcs]
        np.maximum.at(after, source, counts[source] + after[mdp.target[arcs]])
    return before, after


def prior_cost(mdp: MDP, prior: str, most_choices: float) -> float:
    """Return the part of -log prior that every pair pays.

    Only wrong answers are drawn. There are P - 1 of them; the detour walk ends at the right one itself with probability
    (1 - RHO)^b, b its choices, so dividing by 1 - (1 - RHO)^(most choices) leaves at most 1 for the others; and an
    excursion starts at one of b choices.
    """
    if prior == "plans":
        return float(np.log(max(1, mdp.first[1] - 1)))
    if most_choices == 0 or prior == "stages":
        return 0.0
    if prior == "detour":
        return float(np.log(-np.expm1(most_choices * np.log1p(-RHO))))
    if prior == "excursion":
        return float(np.log(most_choices))
    return float(mdp.log_paths + np.log1p(-np.exp(-mdp.log_paths)))


def stages_of(
    mdp: MDP, sigma: FloatArray, delta: float, fills: bool, most_choices: float, total: float | None
) -> Stages:
    """Build the settings: pi gives half to all arcs off a path alike, and half to those that leave one of its nodes.

    `fills`: missing rewards count as the ends of their ranges, if every arc with noise has one. `most_choices`: of a
    path. `total`: the sub-Gaussian factor of the sum of an episode's rewards.
    """
    degree = np.append(np.diff(mdp.first), 0)
    others = max(1, mdp.n_arcs - mdp.horizon)
    near = 0.5 / others + 0.5 / (max(1.0, most_choices) * np.maximum(degree - 1, 1))
    least, top = np.full(mdp.n_arcs, -np.inf), np.full(mdp.n_arcs, np.inf)
    if mdp.gain_range is not None:
        low, high = mdp.gain_range
        least, top = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    least[mdp.is_known] = top[mdp.is_known] = mdp.known_gain[mdp.is_known]
    fills = fills and bool((np.isfinite(top - least) | (sigma == 0)).all())
    return Stages(float(np.log(2.0 * others)), -np.log(near), least, top, delta, total, fills)


def prices_differ(mdp: MDP) -> bool:
    """Return whether two paths have different prices."""
    if mdp.cost is None:
        return False
    dear, cheap = best_path(mdp, mdp.cost), best_path(mdp, -mdp.cost)
    return mdp.price(dear) > mdp.price(cheap)


def pairs_of(learner: Challenger) -> Pairs:
    """Build the settings that kernels read; the part of delta that the entries leave bounds an unknown sigma."""
    mdp, sigma, delta, entries, rule = learner.mdp, learner.sigma, learner.delta, learner.bound, learner.sampling
    by_stage, ranges = learner.dependence == "any", ranges_of(mdp, learner.noise)
    c = precisions(mdp, entries, LEAST_C if learner.noise == "sigma" else LEAST_LEARNED_C)
    spare = 1.0 - sum(entry["weight"] for entry in entries)
    cost = np.log(1 / delta) + np.log(1 / np.array([entry["weight"] for entry in entries]))
    kind = np.array([KINDS[entry["kind"]] for entry in entries], dtype=np.int64)
    learns = kind >= BERNSTEIN
    scale = c[RIVAL].mean(axis=1)
    if learns.any():
        scale[~learns] *= -1.0  # held beside the others
        c[:, learns] = np.where(ranges.learns, learning.rounded(c[:, learns]), VISITS_PER_SQUARE * c[:, learns])
    before, after = choices(mdp)
    most = float(after[0])
    flow, planned, ties = np.zeros(mdp.n_arcs), np.inf, -1
    tilt, plan = np.zeros(c.shape[1:]), np.ones((len(entries), 2))
    for j in np.flatnonzero(kind == SHIFTED):
        entry = entries[j]
        visits = entry["trials"] * planned_shares(mdp, sigma, entry["flow"])
        c[:, j] = entry["per_visit"] * visits
        tilt[j] = sigma / (entry["slope"] * visits)
        scale[j], plan[j] = np.inf, (entry["slope"], entry["per_visit"])
        flow, planned, ties = visits / entry["trials"], entry["trials"], int(j)
    log_limit, log_limit_from = log_limits(mdp, entries[ties], delta, flow) if ties >= 0 else (np.inf, np.inf)
    fills = learner.missing == "related" and learner.noise != "bernstein"
    price = mdp.cost if rule == "thrifty" and mdp.cost is not None else np.zeros(0)
    return Pairs(
        sigma=sigma.copy(),
        is_known=mdp.is_known.copy(),
        kind=kind,
        c=np.ascontiguousarray(c),
        tilt=tilt,
        plan=plan,
        scale=scale,
        prior=np.array([PRIORS[entry["prior"]] for entry in entries], dtype=np.int64),
        cost=cost,
        prior_cost=np.array([prior_cost(mdp, entry["prior"], most) for entry in entries]),
        log_paths=mdp.log_paths,
        walks=None if by_stage else Walks(before, after, RHO),
        ratio=STAGES_RATIO if by_stage else RATIO,
        conjugate=conjugate_table(),
        learned=learning.learned_of(ranges, kind, c),
        size=learning.size_of(spare * delta if learner.unknown else 0.0),
        flow=flow,
        planned=planned,
        ties=ties,
        log_limit=log_limit,
        log_limit_from=log_limit_from,
        price=price + LEAST_PRICE * price.mean() if len(price) else price,
        sampling=min(SAMPLING.index(rule), BY_GUARD) if isinstance(rule, str) else BY_GUARD,
        stages=stages_of(mdp, sigma, delta, fills, most, learner.total_sigma) if by_stage else None,
    )
