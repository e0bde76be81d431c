"""Challenger's bound a second time, in plain NumPy: an independent reading of the theorem for those who check a proof.

From the docs ("Challenger: the theorem"), for a path p, any other path q, K the arcs in exactly one of the two, an
entry of the bound and a slope k > 0:

    G(q | p) = Vhat(q) - Vhat(p) + k sum over K of [h*(a / k) + 1/2 log(1 + n / c)]
               + k [log(1 / (delta weight)) - log prior(p | q)],       a = sigma sqrt(n + c) / n.

With probability 1 - delta the best path q has V(q) - V(p) <= G(q | p), always. So p is proven to be within g of the
best when every path q has G(q | p) <= g for some entry and slope. Paths are not listed: all rows (entry, slope) make
their passes side by side, arcs are the first axis and rows the second, and an arc is cleared when the largest G of a
path through it is at most g for one row. The rounds are repeated with what is left. At the first arc of q that is
cleared, all of q was still there.

A shifted entry, normal of precision c around mu, has w = k [n y^2 / 2 + c (mu - y)^2 / 2 + 1/2 log(1 + n / c)] with
y = sigma / (k n). `noise.py` has arcs whose noise is learned; below are scores that may depend on each other.

Nothing here is shared with the compiled code but the problem itself. What is not finite proves nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erfcx, ndtr

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.errors import CertificateError
from surepath.model.mdp import MDP
from surepath.model.paths import even_flow, values_so_far, values_to_go

KINDS = ("half-normal", "shifted", "bernstein", "betting")
PRIORS = ("detour", "uniform", "excursion", "stages", "plans")
RIVAL, OWN = "rival", "incumbent"
RHO = 0.4  # of the detour prior
LEAST_C, MOST_C = (0.25, 1.0), 1e15  # the least c where noise is learned, and where it is declared
RATIO, FINER = 1.2, 4  # of the learner's slopes, and slopes between two of them: any slope is valid

UNIT = 2.0**-50  # what rounding may do to one mean or one term of a sum, relative to its size
BLOCK_NUMBERS = 4_000_000  # numbers of one block of rows
FAR_LEFT, FAR_RIGHT, POINTS = 2e4, 400.0, 400_000
CONJUGATE_ROUNDING = 2e-13  # of the exact points, added on the safe side
LEAST_VARIANCE = 1e-6  # of the largest variance: what an arc without noise counts for in the optimal design
SHARE_DIGITS = 9  # of planned shares
EVEN_COSTS = 1e-5  # relative: how far the costs of two paths may be apart under the optimal design

SLOPES = np.geomspace(1 / 6, 6.0, 41)  # of a pair, in units of the one that suits S0 if the noise is Gaussian
KAPPA_RATIO = 1.1
NONE: FloatArray = np.zeros(0)

Entry = Mapping[str, Any]


class Scores:
    """The gains of each arc in the order in which their trials were asked for; they grow at the end alone.

    A moment is named by its counts: the gains up to then are the first of each arc. A gain that is missing is NaN.
    """

    def __init__(self, arcs: int, gains: Iterable[Iterable[float]] = ()) -> None:
        self.gains = [array("d", some) for some in gains] or [array("d") for _ in range(arcs)]

    def add(self, arc: int, gain: float) -> None:
        """Add one gain of an arc."""
        self.gains[arc].append(gain)

    def first(self, arc: int, number: int) -> FloatArray:
        """Return the first gains of an arc."""
        return np.array(self.gains[arc][:number])

    def lists(self, counts: IntArray) -> list[list[float | None]]:
        """Return the gains up to the moment of these counts, None where missing; none for arcs of known reward."""
        return [[None if gain != gain else gain for gain in some[:n]] for some, n in zip(self.gains, counts.tolist())]


@dataclass(frozen=True)
class Sums:
    """Evidence, arc by arc, larger is better: visits, the first gain, the sum of gains minus the first.

    Where noise is learned the scores themselves are needed; those of this moment are the first `counts` of each arc.
    `missing` has the gains that broken-off trials did not show, where they count.
    """

    visits: IntArray
    origin: FloatArray
    sums: FloatArray
    scores: Scores | None = None
    missing: IntArray | None = None

    @property
    def counts(self) -> IntArray:
        """Return how many gains of each arc count, those that are missing included."""
        return self.visits if self.missing is None else self.visits + self.missing


class Rows(NamedTuple):
    """Weights of arcs at several slopes of one entry, computed side by side."""

    weight: FloatArray  # [N, rows]; -inf on arcs that do not count
    constant: FloatArray  # [rows] turns weights of paths into G
    wall: float  # of rows for arcs without noise, else 0
    ends: Ends | None  # for single excursions: what they pay where they leave the path and where they meet it again


class PlainBound:
    """The bound of one study.

    Attributes:
        entries: Those of the settings that were frozen when the study was created.
        needs_scores: Whether sums are not enough, so that `Sums` must come with the scores themselves.
    """

    def __init__(self, entries: Entries, needs_scores: bool = False) -> None:
        self.entries, self.needs_scores = entries, needs_scores
        self.mdp, self.passes, self.sigma = entries.mdp, entries.passes, entries.sigma
        ranges = self.mdp.gain_range or (np.full(self.mdp.n_arcs, np.nan),) * 2
        self.ends: tuple[FloatArray, ...] = tuple(  # the least and the most gain that is possible
            np.where(self.mdp.is_known, self.mdp.known_gain, np.nan_to_num(end, nan=far))
            for end, far in zip(ranges, (-np.inf, np.inf))
        )

    # Rows over all arcs ------------------------------------------------------------------------------------------

    def rows(self, seen: Sums, path: IntArray, alive: BoolArray, single: bool) -> Iterator[Rows]:
        """Yield all rows, of whole paths or of single excursions off the path."""
        mdp = self.mdp
        on = np.zeros(mdp.n_arcs, dtype=bool)
        on[path] = True
        mean = self.means(seen)[0]
        arcs = np.flatnonzero(alive & ~on)
        own = path[mdp.arcs.stage[arcs]]
        quiet = (self.sigma[arcs] == 0) & (self.sigma[own] == 0)
        if quiet.any():
            wall = 16.0 * mdp.horizon * float(np.abs(mean[alive | on]).max()) + 1.0
            if not np.isfinite(wall):
                return
            weight = np.full((mdp.n_arcs, 1), -np.inf)
            weight[arcs, 0], weight[path, 0] = np.where(quiet, mean[arcs] - mean[own], wall), 0.0
            yield Rows(weight, np.zeros(1), wall, free_ends(path, 1) if single else None)
        yield from self.noisy_rows(seen, path, arcs, single)

    def noisy_rows(self, seen: Sums, path: IntArray, arcs: IntArray, single: bool) -> Iterator[Rows]:
        """Yield the rows of all entries and slopes; `arcs` are those off the path that count."""
        mdp, entries = self.mdp, self.entries
        gain = self.differences(seen, arcs, path[mdp.arcs.stage[arcs]])
        some = np.zeros(mdp.n_arcs, dtype=bool)
        some[arcs] = some[path] = True
        for entry in entries.bound:
            price = entries.price(entry, path, single)
            slopes = entries.slopes(entry, seen, some)
            for k in np.array_split(slopes, 1 + len(slopes) * mdp.n_arcs // BLOCK_NUMBERS):
                weight = np.full((mdp.n_arcs, len(k)), -np.inf)
                width = entries.width(entry, OWN, seen, k, path)[mdp.arcs.stage[arcs]]
                width += entries.width(entry, RIVAL, seen, k, arcs)
                weight[arcs] = gain[:, None] + width + price.arc[arcs, None] * k
                weight[path] = price.arc[path, None] * k
                weight[np.isnan(weight)] = np.inf
                ends = Ends(path, price.leaving[:, None] * k, price.meeting[:, None] * k) if single else None
                yield Rows(weight, price.fixed * k, 0.0, ends)

    def means(self, seen: Sums, side: str = RIVAL) -> tuple[FloatArray, FloatArray]:
        """Return the empirical mean of each arc and what rounding may have done to it.

        Gains that are missing are the most that its range allows for a rival's arc, the least for the path's own.
        """
        mdp = self.mdp
        mean = seen.origin + seen.sums / np.maximum(seen.visits, 1)
        if seen.missing is not None and seen.missing.any():
            lacks, end = seen.missing > 0, self.ends[0 if side == OWN else 1]
            part = np.where(lacks, seen.missing / np.maximum(seen.counts, 1), 0.0)
            mean = mean + part * (np.where(lacks, end, mean) - mean)
        blur = 0.5 * UNIT * (np.abs(mean) + np.abs(seen.origin) + 0.5 * np.abs(seen.sums))
        if mdp.known is not None:
            mean = np.where(mdp.is_known, mdp.known_gain, mean)
        return mean, np.where(self.sigma > 0, blur, 0.0)

    def differences(self, seen: Sums, arcs: IntArray, own: IntArray) -> FloatArray:
        """Return how much the mean of each arc exceeds that of another, at most."""
        (high, blur), (low, other) = self.means(seen), self.means(seen, OWN)
        return np.asarray((high[arcs] + blur[arcs]) - (low[own] - other[own]))

    def slack(self, seen: Sums, path: IntArray, alive: BoolArray) -> float:
        """Bound what rounding can do to a sum of H differences of means."""
        on, first = alive.copy(), self.mdp.stage_arc[:-1]
        on[path] = True
        high = np.maximum.reduceat(np.where(on, self.means(seen)[0], -np.inf), first)
        low = np.minimum.reduceat(np.where(on, self.means(seen, OWN)[0], np.inf), first)
        return float(UNIT * (self.mdp.horizon + 4) * (high - low).sum())

    # Answers -----------------------------------------------------------------------------------------------------

    def all_seen(self, seen: Sums, path: IntArray, alive: BoolArray) -> bool:
        """Return whether every arc that counts has a finite mean, by its visits or as known; else nothing is proven."""
        needed = alive.copy()
        needed[path] = True
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(self.means(seen)[0])
        return bool((((seen.visits > 0) | self.mdp.is_known) & finite)[needed].all())

    def proves(self, seen: Sums, path: IntArray, alive: BoolArray, gap: float) -> bool:
        """Return whether every path over `alive` is proven to be at most `gap` better than `path`.

        With gap 0 single excursions may do: if each of those of the best path is no gain, neither is their sum.
        """
        if not (0 <= gap < np.inf and self.all_seen(seen, path, alive)):
            return False
        if gap == 0 and self._clears(seen, path, alive, gap, single=True):
            return True
        return self._clears(seen, path, alive, gap, single=False)

    def _clears(self, seen: Sums, path: IntArray, alive: BoolArray, gap: float, single: bool) -> bool:
        slack = self.slack(seen, path, alive) + 5e-13 * gap
        if not np.isfinite(slack):
            return False
        live, left, before = alive.copy(), alive.copy(), -1
        live[path], left[path] = True, False
        while left.any() and int(left.sum()) != before:
            before = int(left.sum())
            cleared = np.zeros(len(left), dtype=bool)
            for rows in self.rows(seen, path, live, single):
                most = min(gap + slack, rows.wall / 2) if rows.wall else gap - slack
                cleared |= (self.passes.through(rows.weight, rows.ends) + rows.constant <= most).any(axis=1)
            live &= ~(cleared & left)
            left &= ~cleared
        return not left.any()

    def gap(self, seen: Sums, path: IntArray, alive: BoolArray, precision: float = 1e-3) -> float:
        """Find the least gap that `proves` confirms, to one part in a thousand, from above."""
        if not self.all_seen(seen, path, alive):
            return float("inf")
        if self.proves(seen, path, alive, 0.0):
            return 0.0
        low, high = 0.0, max(1e-300, float(self.sigma.max()), self.slack(seen, path, alive))
        while not self.proves(seen, path, alive, high):
            low, high = high, 2 * high
            if not np.isfinite(high):
                return float("inf")
        while high - low > precision * high:
            middle = (low + high) / 2
            if self.proves(seen, path, alive, middle):
                high = middle
            else:
                low = middle
        return high

    def ruled_out(self, seen: Sums, path: IntArray, alive: BoolArray) -> BoolArray:
        """Find the arcs that are not on the best path, which lies within `alive`.

        All paths through such an arc, or all single excursions off `path` through it, have G < 0 for some row.
        """
        alive, out, on = alive.copy(), np.zeros(len(alive), dtype=bool), np.zeros(len(alive), dtype=bool)
        if not self.all_seen(seen, path, alive):
            return out
        on[path] = True
        slack, count = self.slack(seen, path, alive), -1
        if not np.isfinite(slack):
            return out
        while int(out.sum()) != count:
            count = int(out.sum())
            for single in (True, False):
                for rows in self.rows(seen, path, alive | on, single):
                    through = self.passes.through(rows.weight, rows.ends) + rows.constant
                    out |= alive & ~on & (through < -slack).any(axis=1)
                alive &= ~out
        return out


# The entries of a bound -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Price:
    """Cost of -log prior and the level of an entry: on each arc of q, where excursions begin and end, and always."""

    arc: FloatArray  # [N]
    leaving: FloatArray  # [H] at the node of stage h, for what was shared before it
    meeting: FloatArray  # [H + 1]
    fixed: float


def invalid_entries(entries: Sequence[Entry]) -> list[str]:
    """List what makes entries no bound at all; a number that is not finite makes none."""
    wrong = []
    if not entries or not sum(number(entry["weight"]) for entry in entries) <= 1 + 1e-12:
        wrong.append("the weights of the entries sum to more than 1")
    positive = [value for entry in entries for key, value in entry.items() if key not in ("kind", "prior", "flow")]
    if not all(0 < number(value) < np.inf for value in positive):
        wrong.append("weights and scales must be above 0")
    for priors in (("excursion",), ("stages", "plans")):
        if len({entry["prior"] in priors for entry in entries}) > 1:
            wrong.append(f"either all entries have the prior {' or '.join(priors)} or none has")
    unknown = {str(entry["kind"]) for entry in entries} - set(KINDS)
    unknown |= {f"prior {entry['prior']}" for entry in entries} - {f"prior {name}" for name in PRIORS}
    if unknown:
        wrong.append(f"this version cannot check entries of kind {', '.join(sorted(unknown))}")
    return wrong


def most_choices(mdp: MDP) -> tuple[FloatArray, FloatArray]:
    """Return the most choices on a path to each node, and on one from it, itself counted."""
    choice = (np.diff(mdp.first)[mdp.source] > 1).astype(np.float64)
    return values_so_far(mdp, choice), values_to_go(mdp, choice)


def is_unit_flow(mdp: MDP, w: FloatArray, off: float) -> bool:
    """Return whether planned shares are above 0 and flow from the start to the end, relative to rounding."""
    if w.shape != (mdp.n_arcs,) or not ((w > 0) & (w <= 1 + off)).all():
        return False
    arriving, leaving = (np.bincount(nodes, w, mdp.n_nodes + 1) for nodes in (mdp.target, mdp.source))
    arriving[0] = 1.0
    return np.allclose(leaving[:-1], arriving[:-1], rtol=off, atol=0)


def number(value: Any) -> float:
    """Return a number, NaN for what is none: every comparison with it fails."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else float("nan")


class Entries:
    """The entries of one bound on one problem.

    Args:
        mdp: The problem.
        settings: Of the study.
        planned: The part of the trials that each arc has under the optimal design, float [N], where an entry needs it.
    """

    def __init__(self, mdp: MDP, settings: Mapping[str, Any], planned: FloatArray | None = None) -> None:
        self.mdp, self.passes, self.bound, self._design = mdp, Passes(mdp), settings["bound"], planned
        self.least = LEAST_C[settings["noise"] == "sigma"]
        self.delta, self.total = float(settings["delta"]), settings.get("total_sigma")
        sigma = np.broadcast_to(np.asarray(settings["sigma"], dtype=np.float64), (mdp.n_arcs,))
        self.sigma: FloatArray = np.where(mdp.is_known, 0.0, sigma)
        self.choices = most_choices(mdp)

    @cached_property
    def shares(self) -> FloatArray:
        """Return each arc's part of the visits under evenly picked actions, scaled to mean 1."""
        flow = even_flow(self.mdp)
        return np.asarray(flow / flow.mean())

    def planned(self, entry: Entry) -> FloatArray:
        """Return the visits that a shifted entry expects: numbers fixed in advance, and any such numbers are valid."""
        shares = self._design
        if entry["flow"] == "even":
            shares = even_flow(self.mdp)
            scale = 10.0 ** (SHARE_DIGITS - 1 - np.floor(np.log10(shares)))
            shares = np.round(shares * scale) / scale
        if shares is None:
            raise CertificateError("no proof: the planned shares of the trials are missing")
        return np.asarray(float(entry["trials"]) * shares)

    def wrong_design(self) -> bool:
        """Return whether the planned shares are not those of the optimal design, which problem and sigma fix.

        It is the only unit flow w > 0 under which the sum of sigma^2 / w is the same along every path.
        """
        mdp, w = self.mdp, self._design
        if w is None or not is_unit_flow(mdp, w, EVEN_COSTS):
            return True
        cost = np.maximum((self.sigma / self.sigma.max()) ** 2, LEAST_VARIANCE) / w
        longest, shortest = values_to_go(mdp, cost)[0], -values_to_go(mdp, -cost)[0]
        return not longest <= shortest * (1 + EVEN_COSTS)

    def precision(self, entry: Entry, side: str) -> FloatArray:
        """Return c of every arc: scale times its share for a rival's, times the root of N / H and share otherwise."""
        if entry["kind"] == "shifted":
            return float(entry["per_visit"]) * self.planned(entry)
        root = np.sqrt(self.mdp.n_arcs / self.mdp.horizon)
        c = float(entry["scale"]) * (self.shares if side == RIVAL else root * np.sqrt(self.shares))
        return np.asarray(np.clip(c, self.least, MOST_C))

    def cost(self, entry: Entry) -> float:
        """Return log(1 / (delta weight))."""
        return float(-np.log(self.delta) - np.log(float(entry["weight"])))

    def slopes(self, entry: Entry, seen: Sums, alive: BoolArray) -> FloatArray:
        """Choose slopes that cover what any pair may need; a choice that may depend on the data."""
        noisy = np.flatnonzero(alive & (self.sigma > 0))
        if not noisy.size:
            return np.ones(0)
        step = np.log(RATIO) / FINER
        if entry["kind"] == "shifted":
            done = seen.visits[noisy] / self.planned(entry)[noisy]
            start = np.log(float(entry["slope"]) * min(2.0, 1.0 / done.min()))
            return np.asarray(np.exp(start - step * np.arange(24 * FINER)))
        a, extras = self.sizes(entry, seen, RIVAL, noisy)
        low, high, extra = np.log(a.min()), np.log(a.max()), float(extras.max())
        horizon, cost = self.mdp.horizon, self.cost(entry)
        start = low - 0.5 * np.log(2 * (cost + self.mdp.log_paths + 2 * horizon * (extra + high - low)))
        end = high + 0.5 * np.log(horizon / cost) + 4 * FINER * step
        return np.asarray(np.exp(start + step * np.arange(1 + max(0, int((end - start) / step)))))

    def sizes(self, entry: Entry, seen: Sums, side: str, arcs: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return a = sigma sqrt(n + c) / n and 1/2 log(1 + n / c) of noisy arcs."""
        n, c = seen.counts[arcs].astype(np.float64), self.precision(entry, side)[arcs]
        return self.sigma[arcs] * np.sqrt(n + c) / n, np.log1p(n / c) / 2

    def width(self, entry: Entry, side: str, seen: Sums, slopes: FloatArray, arcs: IntArray) -> FloatArray:
        """Return w of each arc for each slope, float [arcs, rows], 0 where there is no noise; slopes may be its own."""
        wide = np.zeros((len(arcs), slopes.shape[-1]))
        noisy = np.flatnonzero(self.sigma[arcs] > 0)
        slopes = np.broadcast_to(slopes, wide.shape)[noisy]
        of = arcs[noisy]
        n, c, sigma = seen.counts[of].astype(np.float64), self.precision(entry, side)[of], self.sigma[of]
        a, extra = Entries.sizes(self, entry, seen, side, of)
        if entry["kind"] in ("half-normal", "bernstein", "betting"):
            wide[noisy] = slopes * (upper_conjugate(a[:, None] / slopes) + extra[:, None])
        else:
            y, mu = (sigma / n)[:, None] / slopes, (sigma / (float(entry["slope"]) * self.planned(entry)[of]))[:, None]
            wide[noisy] = slopes * (n[:, None] * y**2 / 2 + c[:, None] * (mu - y) ** 2 / 2 + extra[:, None])
        return wide

    def price(self, entry: Entry, path: IntArray, single: bool) -> Price:
        """Return what a path q pays beside `path`, or with `single` what one excursion of the best path pays.

        One excursion of q belongs to the pair of q and the path that takes p's stretch in its place. They share the
        rest, of which only the most choices it can have are known.
        """
        mdp, horizon, paths = self.mdp, self.mdp.horizon, self.mdp.log_paths
        before, after = self.choices
        most, cost = float(after[0]), self.cost(entry)
        arc, leaving, meeting = np.zeros(mdp.n_arcs), np.zeros(horizon), np.zeros(horizon + 1)
        if most == 0:
            return Price(arc, leaving, meeting, cost)
        if entry["prior"] == "uniform":
            return Price(arc, leaving, meeting, cost + paths + float(np.log1p(-np.exp(-paths))))
        detour = entry["prior"] == "detour"
        stay, out = (-np.log1p(-RHO), -np.log(RHO)) if detour else (0.0, 0.0)
        fixed = cost + float(np.log(-np.expm1(most * np.log1p(-RHO))) if detour else np.log(most))
        if not detour and not single:  # every excursion of q pays for itself
            out, fixed = fixed, 0.0
        for h, own in enumerate(path.tolist()):
            node = int(mdp.source[own])
            degree = int(mdp.first[node + 1] - mdp.first[node])
            leaving[h], meeting[h] = stay * before[node], stay * after[node]
            if degree > 1:
                stage = slice(int(mdp.stage_arc[h]), int(mdp.stage_arc[h + 1]))
                arc[stage] = np.where(mdp.source[stage] == node, np.log(degree - 1) + out, np.log(degree))
                arc[own] = stay
        return Price(arc, leaving, meeting, fixed)


# h*, the conjugate ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def points() -> tuple[FloatArray, FloatArray]:
    """Return slopes y, rising, and h* there or a little above."""
    part = POINTS // 4
    left, right = -np.geomspace(FAR_LEFT, 2.0, 2 * part), np.geomspace(4.0, FAR_RIGHT, part)
    x = np.concatenate([left[:-1], np.linspace(-2.0, 4.0, part), right[1:]])
    t, u = np.maximum(-x, 0.0), np.maximum(x, 0.0)
    # log(2 Phi(x)) + x^2/2 is log erfcx(-x / sqrt 2): no cancelling on the left, and on the right written out.
    scaled = erfcx(t / np.sqrt(2))
    h = np.where(x < 0, np.log(scaled), u * u / 2 + np.log(2 * ndtr(u)))
    # h'(x) = x + phi(x) / Phi(x). Far on the left the two terms cancel: there by 1/t - 2/t^3 + 10/t^5 - 74/t^7, t = -x.
    hazard = np.where(x < 0, np.sqrt(2 / np.pi) / scaled, np.exp(-u * u / 2) / np.sqrt(2 * np.pi) / ndtr(u))
    far = np.maximum(t, 1.0)
    y = np.where(x < -200.0, 1 / far - 2 / far**3 + 10 / far**5 - 74 / far**7, x + hazard)
    value = x * y - h
    return y, value + CONJUGATE_ROUNDING * (1 + np.abs(value) + np.abs(x * y))


def upper_conjugate(y: FloatArray) -> FloatArray:
    """Return h*(y), or a little above it, for y > 0."""
    slopes, values = points()
    inside = np.interp(y, slopes, values)
    with np.errstate(divide="ignore"):
        below = values[0] + np.log(slopes[0] / np.minimum(y, slopes[0]))
    return np.asarray(np.where(y < slopes[0], below, np.where(y > slopes[-1], y * y / 2, inside)))


# Dynamic programs -----------------------------------------------------------------------------------------------------


class Ends(NamedTuple):
    """Nodes where single excursions off a path begin and end: at its nodes every sum starts anew."""

    path: IntArray  # [H]
    leaving: FloatArray  # [H, rows] what counts for all that came before the node of stage h
    meeting: FloatArray  # [H + 1, rows] and for all that comes after it


def free_ends(path: IntArray, rows: int) -> Ends:
    """Return the ends of excursions that pay nothing for what they share with the path."""
    free = np.zeros((len(path) + 1, rows))
    return Ends(path, free[:-1], free)


class Passes:
    """The longest paths of a graph, weights [N, rows]."""

    def __init__(self, mdp: MDP) -> None:
        self.mdp = mdp
        self.stages = [slice(int(low), int(high)) for low, high in zip(mdp.stage_arc, mdp.stage_arc[1:])]
        self.nodes = [slice(int(low), int(high)) for low, high in zip(mdp.stage_node, mdp.stage_node[1:])]
        self.by_target = []  # for each stage: arcs sorted by target, where each target begins, the targets
        for stage in self.stages:
            order = np.argsort(mdp.target[stage], kind="stable")
            targets, begins = np.unique(mdp.target[stage][order], return_index=True)
            self.by_target.append((order + stage.start, begins, targets))

    def ahead(self, weight: FloatArray, ends: Ends | None = None) -> FloatArray:
        """Return the largest weight from each node to the end, or to where the path is met; [nodes + 1, rows]."""
        mdp = self.mdp
        value = np.zeros((mdp.n_nodes + 1, weight.shape[1]))
        for h in range(mdp.horizon - 1, -1, -1):
            stage, nodes = self.stages[h], self.nodes[h]
            sums = weight[stage] + value[mdp.target[stage]]
            value[nodes] = np.maximum.reduceat(sums, mdp.first[nodes] - stage.start, axis=0)
            if ends is not None:
                value[mdp.source[ends.path[h]]] = ends.meeting[h]
        return value

    def behind(self, weight: FloatArray, ends: Ends | None = None) -> FloatArray:
        """Return the largest weight from the start, or where the path was left, to each node; [nodes + 1, rows]."""
        value = np.full((self.mdp.n_nodes + 1, weight.shape[1]), -np.inf)
        value[0] = 0.0
        for h, (arcs, begins, targets) in enumerate(self.by_target):
            if ends is not None:
                value[self.mdp.source[ends.path[h]]] = ends.leaving[h]
            sums = value[self.mdp.source[arcs]] + weight[arcs]
            value[targets] = np.maximum.reduceat(sums, begins, axis=0)
        return value

    def through(self, weight: FloatArray, ends: Ends | None = None) -> FloatArray:
        """Return the largest weight of a path, or of one excursion, through each arc, [N, rows]; -inf for none."""
        mdp = self.mdp
        return np.asarray(self.behind(weight, ends)[mdp.source] + weight + self.ahead(weight, ends)[mdp.target])


# Stage pairs ----------------------------------------------------------------------------------------------------------
# Where the scores of one trial may depend on each other (docs, shared luck): x is an arc of any path q, y the arc of
# the path p in the same stage, W(k) the width of an arc at slope k, pi(y | x) = 1/2 / (N - H), plus 1/2 / (b (degree -
# 1)) where both leave the same node, b the most choices on a path. With probability 1 - delta, for q the best path, at
# all times, for all p, entries, slopes and kappa > 0,
#
#     S0   mu_x - mu_y <= rhat_x - rhat_y + W_x(k) + W_y(k) + k log(1 / (delta pi weight)),
#     S    V(q) - V(p) <= sum over stages of [rhat_x - rhat_y + W_x(k) + W_y(k) + k (log(k / (kappa pi weight)) - 1)]
#                         + kappa / delta.
#
# An S0 bound holds for good: the least of all moments may take the place of any stage, in a proof about any moment, and
# so may what the declared ranges allow. Terms of S belong to one moment and one kappa; they are never kept. Where plans
# share no step a declared sigma of a trial's total gives S0 for whole plans, with the prior 1 / (P - 1), by "plans".


class StageBound(PlainBound):
    """The bound of one study under any dependence inside a trial.

    Attributes:
        kept: The least S0 bound of each pair (x, y) that a moment has proven, of those that `keep` was given.
    """

    def __init__(self, entries: Entries, needs_scores: bool = False) -> None:
        super().__init__(entries, needs_scores)
        self.kept: dict[tuple[int, int], float] = {}
        mdp = self.mdp
        degree, most = np.diff(mdp.first), max(1.0, float(entries.choices[1][0]))
        self._far = 0.5 / max(1, mdp.n_arcs - mdp.horizon)
        self._near = self._far + 0.5 / (most * np.maximum(degree - 1, 1))  # by node
        self._of: tuple[Sums, bytes, tuple[IntArray, FloatArray, FloatArray]] | None = None

    def _tried(self, seen: Sums, x: IntArray, y: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return slopes of all entries and W_x + W_y + k log(1 / (pi weight)) there, [pairs, tried].

        The slope that suits S0 is about sqrt(A / C), A the mean of both a^2, C all that S0 pays per slope.
        """
        entries, node = self.entries, self.mdp.source[y]
        prior = np.where(self.mdp.source[x] == node, self._near[node], self._far)
        slopes, totals = [], []
        for entry in self._by("stages"):
            per, square = entries.cost(entry) - np.log(prior), np.zeros(len(x))
            for side, arcs in ((RIVAL, x), (OWN, y)):
                noisy = np.flatnonzero(self.sigma[arcs] > 0)
                a, extra = entries.sizes(entry, seen, side, arcs[noisy])
                square[noisy] += a**2 / 2
                per[noisy] += extra
            k = np.sqrt(square / per)[:, None] * SLOPES
            total = entries.width(entry, RIVAL, seen, k, x) + entries.width(entry, OWN, seen, k, y)
            slopes.append(k)
            totals.append(total + k * (entries.cost(entry) + np.log(entries.delta) - np.log(prior))[:, None])
        return np.concatenate(slopes, axis=1), np.concatenate(totals, axis=1)

    def pair_bounds(self, seen: Sums, x: IntArray, y: IntArray, kappas: FloatArray = NONE) -> FloatArray:
        """Return bounds of pairs of arcs that a moment proves, [pairs, 1 + kappas]: S0, then terms of S by kappa."""
        bounds = np.repeat(self.differences(seen, x, y)[:, None], 1 + len(kappas), axis=1)
        noisy = np.flatnonzero((self.sigma[x] > 0) | (self.sigma[y] > 0))
        for part in np.array_split(noisy, 1 + noisy.size * 400 // BLOCK_NUMBERS):
            if part.size:
                k, total = self._tried(seen, x[part], y[part])
                bounds[part, 0] += (total - k * np.log(self.entries.delta)).min(axis=1)
                total += k * (np.log(k) - 1)
                for row, kappa in enumerate(kappas, start=1):
                    bounds[part, row] += (total - k * np.log(kappa)).min(axis=1)
        return bounds

    def _by(self, prior: str) -> list[Entry]:
        return [entry for entry in self.entries.bound if entry["prior"] == prior]

    def total_bounds(self, seen: Sums, path: IntArray) -> FloatArray:
        """Return what totals prove of V(q) - V(path), [P] by first option of q; infinite where visits do not agree."""
        mdp, entries = self.mdp, self.entries
        plans = np.arange(mdp.first[1])[:, None] + np.zeros(mdp.horizon, dtype=np.int64)
        for h in range(1, mdp.horizon):
            plans[:, h] = mdp.first[mdp.target[plans[:, h - 1]]]
        counts = np.where(self.sigma[plans] > 0, seen.counts[plans], -1)
        n = counts.max(axis=1).astype(np.float64)
        n[((counts >= 0) & (counts != n[:, None])).any(axis=1) | (n < 1)] = np.nan
        own, bounds = int(path[0]), np.full(len(plans), np.inf)
        for entry in self._by("plans"):
            c, d = entries.precision(entry, RIVAL)[plans[:, 0]], entries.precision(entry, OWN)[own]
            a, b = entries.total * np.sqrt(n + c) / n, entries.total * np.sqrt(n[own] + d) / n[own]
            fixed = (
                entries.cost(entry) + np.log(max(1, len(plans) - 1)) + np.log1p(n / c) / 2 + np.log1p(n[own] / d) / 2
            )
            k = np.sqrt((a**2 + b**2) / 2 / fixed)[:, None] * SLOPES
            both = upper_conjugate(a[:, None] / k) + upper_conjugate(b / k)
            bounds = np.fmin(bounds, (k * (both + fixed[:, None])).min(axis=1))
        return np.asarray(bounds + self.differences(seen, plans, path).sum(axis=1))

    def keep(self, seen: Sums, x: IntArray, y: IntArray) -> None:
        """Keep the S0 bounds of pairs of arcs of a moment, where they are the least so far."""
        for pair, bound in zip(zip(x.tolist(), y.tolist()), self.pair_bounds(seen, x, y)[:, 0].tolist()):
            if bound < self.kept.get(pair, np.inf):
                self.kept[pair] = bound

    def off(self, seen: Sums, path: IntArray) -> tuple[IntArray, IntArray]:
        """Return the arcs off a path that can be compared with its own, and those."""
        usable, own = (seen.visits > 0) | self.mdp.is_known, path[self.mdp.arcs.stage]
        x = np.flatnonzero(usable & usable[own] & (own != np.arange(self.mdp.n_arcs)))
        return x, own[x]

    def _kappas(self, seen: Sums, arcs: IntArray) -> FloatArray:
        """Choose kappas that cover what any path may need: the best is delta times the sum of its slopes."""
        found = [self.entries.sizes(e, seen, side, arcs) for e in self._by("stages") for side in (RIVAL, OWN)]
        if not arcs.size:
            return NONE
        low, high = min(float(a.min()) for a, _ in found) / 6, max(float(a.max()) for a, _ in found)
        count = 1 + int(np.log(self.mdp.horizon * high / low) / np.log(KAPPA_RATIO))
        return np.asarray(self.entries.delta * low * KAPPA_RATIO ** np.arange(count))

    def _pairs(self, seen: Sums, path: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the arcs off the path, the kappas, and the bounds by them.

        A moment and a path are asked for again and again with fewer and fewer arcs: they are computed once.
        """
        if self._of is None or self._of[0] is not seen or self._of[1] != path.tobytes():
            x, y = self.off(seen, path)
            kappas = self._kappas(seen, np.flatnonzero((self.sigma > 0) & (seen.visits > 0)))
            self._of = seen, path.tobytes(), (x, kappas, self.pair_bounds(seen, x, y, kappas))
        return self._of[2]

    def noisy_rows(self, seen: Sums, path: IntArray, arcs: IntArray, single: bool) -> Iterator[Rows]:
        """Yield the rows of kappa; the first has none, every stage its S0 bound."""
        mdp, (x, kappas, bounds) = self.mdp, self._pairs(seen, path)
        own, now = path[mdp.arcs.stage[arcs]], bounds[np.searchsorted(x, arcs)]
        kept = [self.kept.get(pair, np.inf) for pair in zip(arcs.tolist(), own.tolist())]
        least = np.minimum(np.minimum(now[:, 0], kept), self.ends[1][arcs] - self.ends[0][own])
        every = np.minimum(now, least[:, None])
        weight = np.full((mdp.n_arcs, every.shape[1]), -np.inf)
        weight[arcs], weight[path] = np.where(np.isnan(every), np.inf, every), 0.0
        constant = np.concatenate([[0.0], kappas / self.entries.delta])
        if self._by("plans"):
            start, totals = arcs[arcs < mdp.first[1]], np.full((mdp.n_arcs, 1), -np.inf)
            totals[arcs] = totals[path] = 0.0
            totals[start, 0] = self.total_bounds(seen, path)[start]
            yield Rows(totals, np.zeros(1), 0.0, free_ends(path, 1) if single else None)
        for some in np.array_split(np.arange(len(constant)), 1 + weight.size // BLOCK_NUMBERS):
            yield Rows(weight[:, some], constant[some], 0.0, free_ends(path, len(some)) if single else None)


def plans_apart(mdp: MDP) -> bool:
    """Return whether plans share no step: as many options in every step, and as many states in all but the first."""
    plans = int(mdp.first[1])
    return mdp.n_arcs == mdp.horizon * plans and mdp.n_nodes == 1 + (mdp.horizon - 1) * plans


# Kept pairs as a certificate holds them -------------------------------------------------------------------------------

Kept = Mapping[str, Any]  # trials: after how many; pair: arcs x and y; visits, sums, missing: of these two by then
KEPT_FIELDS = {"trials", "pair", "visits", "sums", "missing"}


def kept_moments(rows: Sequence[Kept], last: Sums) -> Iterator[tuple[int, Sums, IntArray, IntArray]]:
    """Yield the moments of kept pairs in order: trials, sums of all arcs named so far, and the pairs kept then.

    First gains and scores are those of the `last` moment, which every earlier one shares.
    """
    visits, sums, missing = np.zeros_like(last.visits), np.zeros_like(last.sums), np.zeros_like(last.visits)
    for trials, some in groupby(sorted(rows, key=lambda row: row["trials"]), key=lambda row: row["trials"]):
        now = list(some)
        for row in now:
            pair = row["pair"]
            visits[pair], sums[pair], missing[pair] = row["visits"], row["sums"], row["missing"]
        x, y = np.array([row["pair"] for row in now], dtype=np.int64).T
        yield trials, Sums(visits.copy(), last.origin, sums.copy(), last.scores, missing.copy()), x, y
