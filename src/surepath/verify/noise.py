"""Learned noise a second time, in plain NumPy (docs, "Unknown noise").

An entry of kind "betting" or "bernstein" gives an arc whose noise is learned the width of its process, computed from
the arc's scores one after the other, and every other arc that of a half-normal entry. Everything is in units of the
arc's range. Which arcs these are follows from the problem: those that declare a range and no sigma; where there is none
of that kind, all that declare a range. Their precisions c count squares of scores, rounded to powers of 2; beside them
c counts VISITS visits for a square. One unknown sigma is bounded from above first, and its bound taken for sigma.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np

from surepath._checks import LARGEST, BoolArray, FloatArray, IntArray
from surepath.model.mdp import MDP
from surepath.verify import bound as plain
from surepath.verify.bound import OWN, Entries, Entry, PlainBound, Rows, Scores, Sums

LEARNED_KINDS = ("bernstein", "betting")
VISITS = 25.0
LEAST_C, MOST_C = 0.25, 2.0**24
BELOW, ABOVE = 16.0, 4.0  # how far beyond the slopes that the sizes of the noise suggest


def checker_of(
    mdp: MDP, settings: Mapping[str, Any], planned: FloatArray | None = None
) -> tuple[PlainBound | None, str]:
    """Return the plain bound of a study with these settings, or None and why nothing is taken as proven by it.

    Args:
        mdp: The problem.
        settings: Of the study, as they were frozen.
        planned: Shares of the trials under the optimal design, float [N], where an entry needs them.
    """
    if settings["name"] != "Challenger":
        return None, f"no proof: this version checks Challenger alone, not {settings['name']!r}"
    bound, sigma = settings["bound"], settings["sigma"]
    sizes = sigma if isinstance(sigma, list) else [0.0 if sigma == "unknown" else sigma]
    if len(sizes) not in (1, mdp.n_arcs) or not all(_is_size(size) for size in sizes):
        return None, "no proof: every sigma must be a number of at least 0"
    invalid = plain.invalid_entries(bound)
    if invalid:
        return None, f"no proof: {'; '.join(invalid)}"
    kinds = {entry["kind"] for entry in bound}
    if settings.get("missing") not in ("related", "unrelated"):
        return None, "no proof: it is not said what broken-off trials have to do with their scores"
    dependence, priors = settings.get("dependence"), {entry["prior"] for entry in bound}
    if dependence not in ("any", "independent") or (dependence == "any") != (priors <= {"stages", "plans"}):
        return None, 'no proof: entries by "stages" or "plans" are for dependence "any", and there are no others for it'
    if "plans" in priors and not (_is_size(settings.get("total_sigma")) and plain.plans_apart(mdp)):
        return None, "no proof: totals of trials need a declared sigma and plans that share no step"
    if sigma == "unknown":
        if dependence == "any":
            return None, "no proof: an unknown sigma is bounded from scores that do not depend on each other"
        if kinds & {*LEARNED_KINDS, "shifted"}:
            return None, "no proof: the tilts of these entries count in units of a sigma that is unknown"
        found = np.unique([] if mdp.sigma is None else mdp.sigma[~mdp.is_known & (mdp.sigma > 0)])
        if len(found) > 1:
            return None, f"no proof: one unknown sigma for all options, but noise from {found[0]:g} to {found[-1]:g}"
        return UnknownSigma(mdp, settings), ""
    learned = bool(kinds & set(LEARNED_KINDS))
    entries = (LearnedEntries if learned else Entries)(mdp, settings, planned)
    if any(entry.get("flow") not in (None, "even", "design") for entry in bound):
        return None, "no proof: visits are planned by a flow that this version does not know"
    if any(entry.get("flow") == "design" for entry in bound) and entries.wrong_design():
        return None, "no proof: the planned shares of the trials are not those of the optimal design"
    return (plain.StageBound if dependence == "any" else PlainBound)(entries, learned), ""


def _is_size(value: Any) -> bool:
    return 0 <= plain.number(value) <= LARGEST


def learned_arcs(mdp: MDP) -> BoolArray:
    """Find the arcs whose noise is learned."""
    if mdp.reward_range is None:
        return np.zeros(mdp.n_arcs, dtype=bool)
    low, high = mdp.reward_range
    ranged = np.isfinite(low) & np.isfinite(high) & (high > low) & ~mdp.is_known
    bare = ranged & np.isnan(mdp.sigma) if mdp.sigma is not None else ranged
    return np.asarray(bare if bare.any() else ranged)


class LearnedEntries(Entries):
    """The entries of a bound that learns the noise of scores in a range; `Sums` must come with their scores."""

    def __init__(self, mdp: MDP, settings: Mapping[str, Any], planned: FloatArray | None = None) -> None:
        super().__init__(mdp, settings, planned)
        self.learns = learned_arcs(mdp)
        self.low, self.span = np.zeros(mdp.n_arcs), np.ones(mdp.n_arcs)
        if mdp.gain_range is not None:
            low, high = (end[self.learns] for end in mdp.gain_range)
            self.low[self.learns], self.span[self.learns] = low, high - low
        self._scores: Scores | None = None
        self._squares: dict[int, tuple[int, float]] = {}  # by arc: visits, V
        self._bets: dict[tuple[int, str], Bets] = {}
        self._lines: dict[tuple[int, str, float], tuple[int, tuple[FloatArray, FloatArray]]] = {}

    def precision(self, entry: Entry, side: str) -> FloatArray:
        """Return c, the precision of the prior, of every arc; a power of 2 where noise is learned."""
        c = super().precision(entry, side)
        if entry["kind"] not in LEARNED_KINDS:
            return c
        return np.where(self.learns, np.clip(2.0 ** np.round(np.log2(c)), LEAST_C, MOST_C), VISITS * c)

    def sizes(self, entry: Entry, seen: Sums, side: str, arcs: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what decides which slopes to try: for a process, the best is about (sqrt(V / 2B) + 1) span / n."""
        a, extra = super().sizes(entry, seen, side, arcs)
        if entry["kind"] in LEARNED_KINDS:
            c, cost = self.precision(entry, side), self.cost(entry)
            for i, arc in enumerate(arcs.tolist()):
                if self.learns[arc]:
                    w = self.squares(seen, arc) + c[arc]
                    a[i] = self.span[arc] * (np.sqrt(w) + np.sqrt(2 * cost)) / seen.counts[arc]
                    extra[i] = np.log(w / c[arc]) / 2
        return a, extra

    def slopes(self, entry: Entry, seen: Sums, alive: BoolArray) -> FloatArray:
        """Choose slopes; here far beyond both ends: the best slope of a process is known roughly alone."""
        slopes = super().slopes(entry, seen, alive)
        if entry["kind"] not in LEARNED_KINDS or len(slopes) < 2:
            return slopes
        ratio = slopes[1] / slopes[0]
        below, above = (int(np.ceil(np.log(far) / np.log(ratio))) for far in (BELOW, ABOVE))
        lower = slopes[0] * ratio ** -np.arange(below, 0.0, -1.0)
        return np.concatenate([lower, slopes, slopes[-1] * ratio ** np.arange(1.0, above + 1)])

    def width(self, entry: Entry, side: str, seen: Sums, slopes: FloatArray, arcs: IntArray) -> FloatArray:
        """Return w of each arc for each slope, float [arcs, rows]."""
        wide = super().width(entry, side, seen, slopes, arcs)
        if entry["kind"] in LEARNED_KINDS:
            c, slopes = self.precision(entry, side), np.broadcast_to(slopes, wide.shape)
            for i, arc in enumerate(arcs.tolist()):
                if self.learns[arc] and self.sigma[arc] > 0:
                    k, span = slopes[i] / self.span[arc], self.span[arc]
                    if entry["kind"] == "betting":
                        wide[i] = span * self._betting(seen, side, arc, float(c[arc]), k)
                    else:
                        w, n = self.squares(seen, arc) + c[arc], int(seen.counts[arc])
                        wide[i] = span * bernstein_widths(float(w), log_start(float(c[arc])), float(c[arc]), n, k)
        return wide

    # From the scores ---------------------------------------------------------------------------------------------

    def scaled(self, seen: Sums, arc: int) -> FloatArray:
        """Return the scores of an arc in units of its range, from 0 to 1; NaN where missing."""
        assert seen.scores is not None
        gains = seen.scores.first(arc, int(seen.counts[arc]))
        return np.asarray(np.clip((gains - self.low[arc]) / self.span[arc], 0.0, 1.0))

    def _forget_others(self, seen: Sums) -> None:
        if seen.scores is not self._scores:
            self._scores = seen.scores
            for known in (self._squares, self._bets, self._lines):
                known.clear()

    def squares(self, seen: Sums, arc: int) -> float:
        """Return V of an arc, or a little more."""
        self._forget_others(seen)
        n = int(seen.counts[arc])
        known = self._squares.get(arc)
        if known is None or known[0] != n:
            x = self.scaled(seen, arc)
            known = self._squares[arc] = n, squares(x[~np.isnan(x)]) * (1 + 1e-15 * n) + 1e-15 * n
        return known[1]

    def _betting(self, seen: Sums, side: str, arc: int, c: float, slopes: FloatArray) -> FloatArray:
        self._forget_others(seen)
        n, some = int(seen.counts[arc]), int(seen.visits[arc])
        mean = float((seen.origin[arc] + seen.sums[arc] / some - self.low[arc]) / self.span[arc])
        mean = ((1 - mean if side == OWN else mean) * some + (n - some)) / n
        known = self._lines.get((arc, side, c))
        if known is None or known[0] != n:
            bets = self._bets.get((arc, side))
            if bets is None or bets.number > n:
                bets = self._bets[arc, side] = Bets()
            x = self.scaled(seen, arc)[bets.number :]
            bets.take(np.nan_to_num(1 - x if side == OWN else x, nan=1.0))  # what is missing speaks for the option
            known = self._lines[arc, side, c] = n, bets.lines(c)
        return betting_widths(known[1], mean, slopes)


# Bernstein ------------------------------------------------------------------------------------------------------------

# Empirical Bernstein a second time: the conjugate Z*(y, W) by points of its graph (docs, "Unknown noise").
#
# Each S gives one exact point of Z*: at y = the mean of l under what Z integrates it is y S - log Z(S, W); its slope
# in W there is the mean of psi(l) = -log(1 - l) - l. Z* is convex in y, so chords between points lie above it; concave
# in W, so tangents do. Rows of points are made for the W of a fine grid, and of the tangents from the row below and the
# row above the smaller counts. Left of all points Z*(y) <= Z*(y0) + log(y0 / y).
#
# The integral Z(S, W) of exp(l S - psi(l) W) over 0 < l < 1: with l = 1 - exp(-u) it is that of exp(g(u)),
# g(u) = S l - W (u - l) - u. g has one peak, at log((S + W) / (W + 1)) or at 0; Gauss's rule is taken on either side
# over all that lies within REACH of its height. Cutting off the rest makes Z smaller and Z* larger.

W_STEP = np.log(1.5) / 16  # of the grid of W, logarithmic
LEAST_Y, MOST_Y, Z_STEP = 2e-7, 0.995, 0.02
REACH = 46.0
BERNSTEIN_ROUNDING = 1e-11  # of the points, added on the safe side
_NODES, _SHARES = np.polynomial.legendre.leggauss(40)


def _power(u: FloatArray, s: FloatArray, w: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return g(u), l, and psi(l) = u - l, for small u without cancelling."""
    tilt = -np.expm1(-u)
    psi = np.where(u < 1e-3, u * u * (0.5 - u / 6 + u * u / 24), u - tilt)
    return s * tilt - w * psi - u, tilt, psi


def integrals(s: FloatArray, w: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log Z(S, W), and the means of l and of psi(l) under what it integrates, for an array of S.

    g falls by at least (W + 1) d^2 / (2 + d) over a distance d right of the peak, and left of it by at least
    (W + 1) (exp(d) - 1 - d).
    """
    x = REACH / (w + 1)
    peak = np.log(np.maximum((s + w) / (w + 1), 1.0))
    left = np.maximum(peak - min(np.sqrt(2 * x), np.log1p(x) + 1), 0.0)
    inside, right = peak, peak + (x + np.sqrt(x * x + 8 * x)) / 2
    lowest = _power(peak, s, w)[0] - REACH
    for _ in range(25):
        middle = (inside + right) / 2
        above = _power(middle, s, w)[0] >= lowest
        inside, right = np.where(above, middle, inside), np.where(above, right, middle)
    halves = ((peak - left) / 2)[:, None], ((right - peak) / 2)[:, None]
    u = np.concatenate([left[:, None] + halves[0] * (1 + _NODES), peak[:, None] + halves[1] * (1 + _NODES)], axis=1)
    shares = np.concatenate([halves[0] * _SHARES, halves[1] * _SHARES], axis=1)
    power, tilt, psi = _power(u, s[:, None], w)
    top = power.max(axis=1)
    mass = np.exp(power - top[:, None]) * shares
    total = mass.sum(axis=1)
    return top + np.log(total), (mass * tilt).sum(axis=1) / total, (mass * psi).sum(axis=1) / total


@lru_cache(maxsize=1024)
def log_start(c: float) -> float:
    """Return log Z(0, c), or a little more."""
    return float(integrals(np.zeros(1), c)[0][0]) + BERNSTEIN_ROUNDING


@lru_cache(maxsize=4096)
def bernstein_points(row: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return y, rising, Z* there or a little above, and its slope in W, for the W of one row."""
    w = float(np.exp(row * W_STEP))
    root = np.sqrt(w + 1)
    middle = np.arange(-3.0, np.arcsinh((w + 1) / (1 - MOST_Y) / root), Z_STEP / 2)
    z = np.concatenate([np.arange(np.arcsinh(-1 / (LEAST_Y * root)), -3.0 - Z_STEP / 2, Z_STEP), middle])
    s = root * np.sinh(z)
    log_z, y, psi = integrals(s, w)
    value = y * s - log_z
    value += BERNSTEIN_ROUNDING * (1 + np.abs(value) + w * psi)
    rising = np.append(True, y[1:] > np.maximum.accumulate(y)[:-1])
    return y[rising], value[rising], psi[rising]


def bernstein_conjugate(y: FloatArray, w: float) -> FloatArray:
    """Return Z*(y, W) or a little more; infinite right of all points."""
    below = int(np.floor(np.log(w) / W_STEP))
    best = np.full(len(y), np.inf)
    for row in (below, below + 1):
        at, value, slope = bernstein_points(row)
        value = value + (w - np.exp(row * W_STEP)) * slope
        here = np.interp(y, at, value, right=np.inf)
        left = value[0] + np.log(at[0] / np.minimum(y, at[0]))
        best = np.minimum(best, np.where(y < at[0], left, here))
    return best


def squares(x: FloatArray) -> float:
    """Return V, the sum of (x - m)^2 with m = (1/2 + the sum so far) / (their number + 1)."""
    so_far = np.cumsum(x) - x
    off = x - (0.5 + so_far) / np.arange(1, len(x) + 1)
    return float(off @ off)


def bernstein_widths(w: float, start: float, c: float, n: int, slopes: FloatArray) -> FloatArray:
    """Return the width for rewards in [0, 1] at each slope; w is V + c, start is log Z(0, c).

    The range itself bounds it too: r - mean <= 1, and M >= 0.39 / (2 n + c) for every r of the range, because V <= n,
    S >= -n, and psi(l) <= l for l <= 1/2.
    """
    process = slopes * (bernstein_conjugate(1 / (n * slopes), w) + start)
    return np.asarray(np.minimum(process, 1 + slopes * (np.log(2 * n + c) + 1)))


# Betting --------------------------------------------------------------------------------------------------------------

# Betting a second time: what the scores of one option exclude of its mean (docs, "Unknown noise").
#
# Computed is log P at both ends and in the middle of each cell, as sums of logarithms. log P is concave in r, so
# between two neighbours it lies above the chord. In its place that makes log M at least f, a log-sum-exp of affine
# functions, convex, which lies above its tangents: above that at the left end up to some point, and above that at the
# right end from there on. So the supremum of (r - mean) - k log M(r) over the stretch is at most the largest of three
# lines in k: those of its two ends and of the point where the tangents meet.

CELLS, TILTS = 128, 20
SHARES = np.geomspace(1e-3, 0.98, TILTS)
UNBET = 0.01  # p0
LOG_MOST = 200 * np.log(10.0)
CHUNK = 32  # factors multiplied before a logarithm is taken: each is between 0.02 and 6600
FLOAT_SPACING = 2.0**-52
SAFETY = 1e-11  # of log M, relative and absolute

_EDGE = (1 - np.cos(np.pi * np.arange(CELLS + 1) / CELLS)) / 2
_EDGE[0], _EDGE[-1] = 0.0, 1.0
_AT = np.stack([_EDGE[:-1], (_EDGE[:-1] + _EDGE[1:]) / 2, _EDGE[1:]])  # [3, CELLS]
_TILT = SHARES[:, None] / (1 - _EDGE[:-1])  # [TILTS, CELLS]
_LOSS = 50 * FLOAT_SPACING * (1 + _TILT)  # what rounding can do to the logarithm of one factor, which is at least 0.02


class Bets:
    """The logarithms of P for the scores of one option, on one side."""

    def __init__(self) -> None:
        self.number = 0
        self.log: FloatArray = np.zeros((3, TILTS, CELLS))
        self.stopped: BoolArray = np.zeros((TILTS, CELLS), dtype=bool)

    def take(self, x: FloatArray) -> None:
        """Add scores, in their order."""
        for begin in range(0, len(x), CHUNK):
            some = x[begin : begin + CHUNK]
            factor = 1 + _TILT * (_AT[:, None, :] - some[:, None, None, None])  # [scores, 3, TILTS, CELLS]
            most = self.log[2] + len(some) * np.log(np.maximum(factor[:, 2].max(axis=0), 1.0))
            plain = ~self.stopped & (most < LOG_MOST)
            self.log += np.where(plain, np.log(np.multiply.reduce(factor, axis=0)), 0.0)
            near = ~self.stopped & ~plain
            if near.any():
                self._step_by_step(np.log(factor[:, :, near]), near)
        self.number += len(x)

    def _step_by_step(self, logs: FloatArray, near: BoolArray) -> None:
        """Add scores one by one where the bets may stop among them; logs are [scores, 3, number of True in near]."""
        course = np.cumsum(logs, axis=0)
        over = self.log[2, near] + course[:, 2] >= LOG_MOST
        stops = over.any(axis=0)
        last = np.where(stops, over.argmax(axis=0), len(logs) - 1)
        self.log[:, near] += course[last, :, np.arange(len(last))].T
        self.stopped[near] = stops

    def lines(self, c: float) -> tuple[FloatArray, FloatArray]:
        """Return heights and falls of lines: no r - k log M(r) exceeds the largest height - k fall at any slope k.

        Lines that are lower than another at every slope are left out.
        """
        power = np.log(_TILT) - c * _TILT**2 / 2
        prior = power - power.max(axis=0)
        prior += np.log((1 - UNBET) * (1 - 1e-12)) - np.log(np.exp(prior).sum(axis=0))
        log = self.log - self.number * _LOSS
        power = prior + log  # [3, TILTS, CELLS]
        top = np.maximum(power.max(axis=1), np.log(UNBET))
        mass = np.exp(power - top[:, None])
        total = mass.sum(axis=1) + np.exp(np.log(UNBET) - top)
        f, part = top + np.log(total), mass / total[:, None]
        height, fall = [_AT], [f - SAFETY * (1 + np.abs(f))]
        for left in (0, 1):
            rise = log[left + 1] - log[left]
            d0, d1 = (part[left] * rise).sum(axis=0), (part[left + 1] * rise).sum(axis=0)
            f0, f1 = f[left], f[left + 1]
            with np.errstate(divide="ignore", invalid="ignore"):
                meet = np.clip(np.nan_to_num((f1 - f0 - d1) / (d0 - d1), nan=0.5), 0.0, 1.0)
            here = np.minimum(f0 + meet * d0, f1 - (1 - meet) * d1)
            height.append((_AT[left] + meet * (_AT[left + 1] - _AT[left]))[None])
            fall.append((here - SAFETY * (1 + np.abs(f0) + np.abs(f1) + d0 + d1))[None])
        heights, falls = np.concatenate(height).ravel(), np.concatenate(fall).ravel()
        order = np.lexsort((falls, -heights))
        heights, falls = heights[order], falls[order]
        kept = np.append(True, falls[1:] < np.minimum.accumulate(falls)[:-1])
        return heights[kept], falls[kept]


def betting_widths(lines: tuple[FloatArray, FloatArray], mean: float, slopes: FloatArray) -> FloatArray:
    """Return the width for rewards in [0, 1] at each slope."""
    heights, falls = lines
    return np.asarray((heights[:, None] - falls[:, None] * slopes).max(axis=0) - mean)


# One unknown sigma ----------------------------------------------------------------------------------------------------

# Gaussian noise of one unknown size a second time (docs, "Unknown noise"): RSS over all scores but the first of each
# arc bounds sigma with probability 1 - eta delta, eta delta what the entries of the bound leave of delta. The bound of
# the theorem grows with sigma, so this one is taken in its place. Arcs without noise add nothing.

SIGMA_TILTS = np.geomspace(0.03, 3.0, 8)
LARGEST_SIGMA = 1e100  # in place of infinity: only what needs no noise can be proven with it


class UnknownSigma(PlainBound):
    """The bound of a study whose sigma is unknown: `settings` with sigma 1, or 0 where declared, give the entries."""

    def __init__(self, mdp: MDP, settings: Mapping[str, Any]) -> None:
        sigma = np.where(mdp.declared_sigma == 0, 0.0, 1.0)
        super().__init__(Entries(mdp, {**settings, "sigma": sigma}), needs_scores=True)
        spare = 1.0 - sum(float(entry["weight"]) for entry in settings["bound"])
        self.part = spare * float(settings["delta"]) if spare > 0 else 0.0

    def sigma_at(self, seen: Sums) -> float:
        """Bound an unknown sigma from above by the scores seen."""
        assert seen.scores is not None
        total, count = sum_of_squares(seen.scores, np.where(self.sigma > 0, seen.visits, 0))
        if not (self.part > 0 and np.isfinite(total)):
            return LARGEST_SIGMA
        margin = count / 2 * np.log1p(2 * SIGMA_TILTS) - np.log(len(SIGMA_TILTS) / self.part)
        if not (margin > 0).any():
            return LARGEST_SIGMA
        bound = (SIGMA_TILTS[margin > 0] * total / margin[margin > 0]).min()
        return float(min(LARGEST_SIGMA, np.sqrt(bound) * (1 + 1e-13)))

    def noisy_rows(self, seen: Sums, path: IntArray, arcs: IntArray, single: bool) -> Iterator[Rows]:
        """Yield the rows of all entries and slopes, by what is known of sigma at that moment."""
        entries = copy(self.entries)
        entries.sigma = self.sigma * self.sigma_at(seen)
        return PlainBound(entries).noisy_rows(seen, path, arcs, single)


def sum_of_squares(scores: Scores, visits: IntArray) -> tuple[float, int]:
    """Add up (X - m)^2 over all gains but the first of each arc, m the mean of those before it; and count them."""
    total, count = 0.0, 0
    for arc, number in enumerate(visits.tolist()):
        gain = scores.first(arc, number)
        if len(gain) > 1:
            before = np.cumsum(gain - gain[0])[:-1] / np.arange(1, len(gain))
            off = gain[1:] - (gain[0] + before)
            total, count = total + float(off @ off), count + len(off)
    return total, count
