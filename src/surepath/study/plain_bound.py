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

Nothing here is shared with the compiled code but the problem itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound_conjugate import upper_conjugate
from surepath.study.plain_bound_passes import Passes, log_number_of_paths

KINDS = ("half-normal", "normal", "interval")
PRIORS = ("detour", "uniform", "none")
RIVAL, OWN = "rival", "incumbent"
FINER = 4  # slopes between two of the learner's own: any slope is valid
UNIT = 2.0**-50  # what rounding may do to one mean or one term of a sum, relative to its size
BLOCK = 4_000_000  # numbers of one block of rows


@dataclass(frozen=True)
class Sums:
    """What was seen, arc by arc, larger is better: visits, the first gain, the sum of gains minus the first."""

    visits: IntArray
    origin: FloatArray
    sums: FloatArray


def unknown_kinds(bound: Mapping[str, Any]) -> list[str]:
    """List the kinds of entries and priors that this file does not know how to check."""
    kinds = {str(entry.get("kind")) for entry in bound["entries"]} - set(KINDS)
    priors = {f"prior {entry.get('prior')}" for entry in bound["entries"]} - {f"prior {name}" for name in PRIORS}
    return sorted(kinds) + sorted(priors)


def invalid_numbers(bound: Mapping[str, Any]) -> list[str]:
    """List what makes the numbers of a bound no bound at all."""
    wrong, entries = [], bound["entries"]
    if not sum(float(entry["weight"]) for entry in entries) <= 1 + 1e-12:
        wrong.append("the weights of the entries sum to more than 1")
    positive = [entry[key] for entry in entries for key in ("weight", "scale")]
    positive += [bound[side]["factor"] for side in (RIVAL, OWN)] + [bound["least"], bound["most"]]
    if not all(0 < float(number) < np.inf for number in positive):
        wrong.append("weights, scales, factors and limits of c must be above 0")
    if not (0 < float(bound["rho"]) < 1 and 1 < float(bound["ratio"]) < np.inf):
        wrong.append("rho must lie between 0 and 1, and the ratio of slopes above 1")
    if any((entry["kind"] == "interval") != (entry["prior"] == "none") for entry in entries):
        wrong.append("entries of kind interval, and only those, have no prior over plans")
    if any(entry["kind"] == "interval" for entry in entries) and bound[RIVAL] != bound[OWN]:
        wrong.append("intervals of single options know no sides")
    return wrong


class PlainBound:
    """The bound of one study: settings are those that were frozen when it was created."""

    def __init__(self, mdp: MDP, settings: Mapping[str, Any]) -> None:
        self.mdp, self.passes = mdp, Passes(mdp)
        self.bound = settings["bound"]
        self.delta = float(settings["delta"])
        sigma = np.broadcast_to(np.asarray(settings["sigma"], dtype=np.float64), (mdp.n_arcs,))
        self.sigma = np.where(mdp.is_known, 0.0, sigma)
        self.log_paths = log_number_of_paths(mdp)
        self.shares = self.passes.even_shares()

    # What the rows are made of -----------------------------------------------------------------------------------

    def precision(self, entry: Mapping[str, Any], side: str) -> FloatArray:
        """Return c of every arc: scale * factor * share ** power, between least and most."""
        numbers = self.bound[side]
        c = float(entry["scale"]) * float(numbers["factor"]) * self.shares ** float(numbers["power"])
        return np.asarray(np.clip(c, float(self.bound["least"]), float(self.bound["most"])))

    def cost(self, entry: Mapping[str, Any]) -> float:
        """Return log(1 / (delta weight)), and for intervals of single arcs the union over them."""
        cost = -np.log(self.delta) - np.log(float(entry["weight"]))
        if entry["kind"] == "interval":
            cost += np.log(max(1, int((~self.mdp.is_known).sum())))
        return float(cost)

    def slopes(self, entry: Mapping[str, Any], seen: Sums, alive: BoolArray) -> FloatArray:
        """Choose slopes that cover what any pair may need; a choice that may depend on the data."""
        noisy = alive & (self.sigma > 0)
        if not noisy.any() or entry["kind"] == "interval":
            return np.ones(int(noisy.any()))
        n, c = seen.visits[noisy], self.precision(entry, RIVAL)[noisy]
        a, extra = self.sigma[noisy] * np.sqrt(n + c) / n, float((np.log1p(n / c) / 2).max())
        low, high = np.log(a.min()), np.log(a.max())
        horizon, cost, step = self.mdp.horizon, self.cost(entry), np.log(float(self.bound["ratio"])) / FINER
        start = low - 0.5 * np.log(2 * (cost + self.log_paths + 2 * horizon * (extra + high - low)))
        end = high + 0.5 * np.log(horizon / cost) + 4 * FINER * step
        return np.asarray(np.exp(start + step * np.arange(1 + max(0, int((end - start) / step)))))

    def width(self, entry: Mapping[str, Any], side: str, seen: Sums, slopes: FloatArray, arcs: IntArray) -> FloatArray:
        """Return w of each arc for each slope, float [arcs, rows]; 0 where there is no noise."""
        wide = np.zeros((len(arcs), len(slopes)))
        noisy = np.flatnonzero(self.sigma[arcs] > 0)
        n, c = seen.visits[arcs[noisy]].astype(np.float64), self.precision(entry, side)[arcs[noisy]]
        a, extra = self.sigma[arcs[noisy]] * np.sqrt(n + c) / n, np.log1p(n / c) / 2
        if entry["kind"] == "half-normal":
            wide[noisy] = slopes * (upper_conjugate(a[:, None] / slopes) + extra[:, None])
        elif entry["kind"] == "normal":
            wide[noisy] = a[:, None] ** 2 / (2 * slopes) + slopes * extra[:, None]
        else:
            wide[noisy] = (a * np.sqrt(2 * (extra + self.cost(entry))))[:, None]
        return wide

    def tolls(self, entry: Mapping[str, Any], path: IntArray) -> tuple[FloatArray, float]:
        """Return the price of each arc of q in -log prior(path | q), float [N], and what every q pays."""
        mdp, rho = self.mdp, float(self.bound["rho"])
        price = np.zeros(mdp.n_arcs)
        if entry["prior"] == "none":
            return price, 0.0
        if entry["prior"] == "uniform":
            return price, self.cost(entry) + self.log_paths
        for h, own in enumerate(path.tolist()):
            home = int(mdp.source[own])
            degree = int(mdp.first[home + 1] - mdp.first[home])
            if degree > 1:  # a walk beside q: it stays with 1 - rho, leaves with rho, and is even where q is not
                stage = slice(int(mdp.stage_arc[h]), int(mdp.stage_arc[h + 1]))
                here = mdp.source[stage] == home
                price[stage] = np.where(here, np.log((degree - 1) / rho), np.log(degree))
                price[own] = -np.log1p(-rho)
        return price, self.cost(entry)

    # Rows over all arcs ------------------------------------------------------------------------------------------

    def rows(self, seen: Sums, path: IntArray, alive: BoolArray) -> Iterator[tuple[FloatArray, FloatArray, float]]:
        """Give weights [N, rows], the constant [rows] that makes G of them, and the wall of rows without noise or 0."""
        mdp = self.mdp
        on = np.zeros(mdp.n_arcs, dtype=bool)
        on[path] = True
        mean, blur = self.means(seen)
        arcs = np.flatnonzero(alive & ~on)
        own = path[mdp.arcs.stage[arcs]]
        gain = (mean[arcs] + blur[arcs]) - (mean[own] - blur[own])
        quiet = (self.sigma[arcs] == 0) & (self.sigma[own] == 0)
        if quiet.any():
            wall = 16.0 * mdp.horizon * float(np.abs(mean[alive | on]).max()) + 1.0
            weight = np.full((mdp.n_arcs, 1), -np.inf)
            weight[arcs, 0], weight[path, 0] = np.where(quiet, mean[arcs] - mean[own], wall), 0.0
            yield weight, np.zeros(1), wall
        for entry in self.bound["entries"]:
            price, fixed = self.tolls(entry, path)
            slopes = self.slopes(entry, seen, alive | on)
            for k in np.array_split(slopes, 1 + len(slopes) * mdp.n_arcs // BLOCK):
                weight = np.full((mdp.n_arcs, len(k)), -np.inf)
                mine = self.width(entry, OWN, seen, k, path)[mdp.arcs.stage[arcs]]
                weight[arcs] = gain[:, None] + (mine + self.width(entry, RIVAL, seen, k, arcs)) + price[arcs, None] * k
                weight[path] = price[path, None] * k
                yield np.where(np.isnan(weight), np.inf, weight), fixed * k, 0.0

    def means(self, seen: Sums) -> tuple[FloatArray, FloatArray]:
        """Return the empirical mean of each arc and what rounding may have done to it."""
        mdp = self.mdp
        mean = seen.origin + seen.sums / np.maximum(seen.visits, 1)
        blur = 0.5 * UNIT * (np.abs(mean) + np.abs(seen.origin) + 0.5 * np.abs(seen.sums))
        if mdp.known is not None:
            mean = np.where(mdp.is_known, mdp.sign * np.where(mdp.is_known, mdp.known, 0.0), mean)
        return mean, np.where(self.sigma > 0, blur, 0.0)

    def slack(self, seen: Sums, path: IntArray, alive: BoolArray) -> float:
        """Bound what rounding can do to a sum of H differences of means."""
        mean, on = self.means(seen)[0], alive.copy()
        on[path] = True
        first = self.mdp.stage_arc[:-1]
        high = np.maximum.reduceat(np.where(on, mean, -np.inf), first)
        low = np.minimum.reduceat(np.where(on, mean, np.inf), first)
        return float(UNIT * (self.mdp.horizon + 4) * (high - low).sum())

    # Answers -----------------------------------------------------------------------------------------------------

    def all_seen(self, seen: Sums, path: IntArray, alive: BoolArray) -> bool:
        """Tell whether every arc that counts was visited or is known; nothing can be proven before."""
        needed = alive.copy()
        needed[path] = True
        return not bool((needed & (seen.visits == 0) & ~self.mdp.is_known).any())

    def proves(self, seen: Sums, path: IntArray, alive: BoolArray, gap: float) -> bool:
        """Tell whether every path over `alive` is proven to be at most `gap` better than `path`."""
        if not self.all_seen(seen, path, alive):
            return False
        slack = self.slack(seen, path, alive) + 5e-13 * gap
        live = alive.copy()
        live[path] = True
        left = alive.copy()
        left[path] = False
        before = -1
        while left.any() and int(left.sum()) != before:
            before = int(left.sum())
            cleared = np.zeros(len(left), dtype=bool)
            for weight, constant, wall in self.rows(seen, path, live):
                through = self.passes.through(weight) + constant
                if wall:
                    cleared |= (through <= min(gap + slack, wall / 2)).any(axis=1)
                else:
                    cleared |= (through <= gap - slack).any(axis=1)
            live &= ~(cleared & left)
            left &= ~cleared
        return not left.any()

    def gap(self, seen: Sums, path: IntArray, alive: BoolArray, precision: float = 1e-3) -> float:
        """Find the least gap that `proves` confirms, to one part in a thousand, from above."""
        if not self.all_seen(seen, path, alive):
            return float("inf")
        if self.proves(seen, path, alive, 0.0):
            return 0.0
        low, high = 0.0, max(1e-300, self.slack(seen, path, alive), float(self.sigma.max()))
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
        """Find the arcs that are not on the best path: all paths over `alive` through them have G < 0 for some row."""
        alive = alive.copy()
        gone = np.zeros(len(alive), dtype=bool)
        if not self.all_seen(seen, path, alive):
            return gone
        on = np.zeros(len(alive), dtype=bool)
        on[path] = True
        slack = self.slack(seen, path, alive)
        count = -1
        while int(gone.sum()) != count:
            count = int(gone.sum())
            for weight, constant, _ in self.rows(seen, path, alive | on):
                through = self.passes.through(weight) + constant
                gone |= alive & ~on & (through < -slack).any(axis=1)
            alive &= ~gone
        return gone
