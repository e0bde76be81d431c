"""Scores of one trial that may depend on each other: the bound by stage pairs, in plain NumPy.

From the docs ("Challenger: the theorem", shared luck). x is an arc of any path q, y the arc of the path p in the same
stage, W(k) the width of an arc at slope k as in `bound.py` or `noise.py`, pi(y | x) the prior over wrong arcs. Two arcs
of one stage are never played in the same trial, so the product of their processes is a supermartingale whatever the
scores of a trial have to do with each other; these products are averaged over y and the entries, never multiplied. With
probability 1 - delta, for q the best path, at all times, for all p, entries, slopes and kappa > 0,

    S0   mu_x - mu_y <= rhat_x - rhat_y + W_x(k) + W_y(k) + k log(1 / (delta pi weight)),
    S    V(q) - V(p) <= sum over stages of [rhat_x - rhat_y + W_x(k) + W_y(k) + k (log(k / (kappa pi weight)) - 1)]
                        + kappa / delta.

Where plans share no step a declared sigma of a trial's total does the same for whole plans: the totals of the trials
that played p and q, with n of each, in the place of x and y, and the prior 1 / (P - 1) of the entries by "plans".

An S0 bound holds for good: the least of all moments may take the place of any stage, in a proof about any moment, and
so may what the declared ranges allow. Terms of S belong to one moment and one kappa; they are never kept.

    pi(y | x) = 1/2 / (N - H), plus 1/2 / (b (degree - 1)) where both leave the same node; b the most choices on a path
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.model.mdp import MDP
from surepath.verify.bound import (
    BLOCK_NUMBERS,
    OWN,
    RIVAL,
    Entries,
    Entry,
    PlainBound,
    Rows,
    Sums,
    free_ends,
    upper_conjugate,
)

SLOPES = np.geomspace(1 / 6, 6.0, 41)  # of a pair, in units of the one that suits S0 if the noise is Gaussian
KAPPA_RATIO = 1.1
NONE: FloatArray = np.zeros(0)


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
        return [entry for entry in self.entries.bound["entries"] if entry["prior"] == prior]

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


# Scores that are missing ----------------------------------------------------------------------------------------------


class MissingRule(NamedTuple):
    """What the scores that broken-off trials do not show count for, where trials may break off for what they score."""

    noisy: BoolArray  # [N] options that have noise: a trial that lacks none of their scores is whole
    fills: bool  # each counts as an end of its range; else the trial is left out whole


def missing_rule(mdp: MDP, settings: Mapping[str, Any]) -> MissingRule | None:
    """Return the rule of a study with these settings; None where what was seen counts and nothing else."""
    if settings.get("dependence") != "any" or settings["missing"] != "related":
        return None
    noisy = (np.broadcast_to(np.asarray(settings["sigma"], dtype=np.float64), (mdp.n_arcs,)) > 0) & ~mdp.is_known
    ranged = mdp.gain_range is not None and bool(np.isfinite(np.array(mdp.gain_range)[:, noisy]).all())
    return MissingRule(noisy, settings["noise"] != "bernstein" and (ranged or not noisy.any()))
