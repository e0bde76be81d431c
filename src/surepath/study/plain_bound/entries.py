"""The parts of Challenger's bound, entry by entry, in plain NumPy: precisions, widths, slopes and the price of priors.

Kinds of entries, by the law over which the tilt l of exp(l S - l^2 n / 2) is mixed (S the sum of an arc's n noises over
sigma); log M of the mixture bounds an arc's error by k (log M + h*(y)), and w = k [h*(y) + 1/2 log(1 + n / c)]:

    half-normal   normal of precision c, l >= 0       h* of `conjugate.py` at sigma sqrt(n + c) / (n k)
    normal        normal of precision c               sigma^2 (n + c) / (2 n^2 k^2)
    shifted       normal of precision c around mu     n y^2 / 2 + c (mu - y)^2 / 2,  y = sigma / (k n)
    interval      an interval for each arc alone: w = a sqrt(2 (1/2 log(1 + n / c) + log(arcs / (delta weight))))
    bernstein, betting   half-normal here; `learned.py` has the arcs whose noise is learned

Priors over the wrong answers p, given the right one q; each must sum to at most 1:

    uniform       1 / (P - 1) for each of the P - 1 others
    detour        a walk beside q: with it 1 - rho, away from it rho / (degree - 1), elsewhere 1 / degree; divided by
                  1 - (1 - rho)^b, b the most choices on a path, since it may end at q itself
    excursion     over single excursions: one of b choices to leave at, one of degree - 1 arcs, then 1 / degree each
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound.conjugate import upper_conjugate
from surepath.study.plain_bound.evidence import Sums
from surepath.study.plain_bound.passes import Passes, log_number_of_paths

KINDS = ("half-normal", "normal", "shifted", "interval", "bernstein", "betting")
PRIORS = ("detour", "uniform", "excursion", "none")
RIVAL, OWN = "rival", "incumbent"
FINER = 4  # slopes between two of the learner's own: any slope is valid

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Price:
    """What -log prior and the level of an entry cost: on each arc of q, where excursions begin and end, and always."""

    arc: FloatArray  # [N]
    leaving: FloatArray  # [H] at the node of stage h, for what was shared before it
    meeting: FloatArray  # [H + 1]
    fixed: float


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
    positive = [value for entry in entries for key, value in entry.items() if key not in ("kind", "prior", "flow")]
    positive += [bound[side]["factor"] for side in (RIVAL, OWN)] + [bound["least"], bound["most"]]
    if not all(0 < float(number) < np.inf for number in positive):
        wrong.append("weights, scales, factors and limits of c must be above 0")
    if not (0 < float(bound["rho"]) < 1 and 1.001 <= float(bound["ratio"]) <= 100):
        wrong.append("rho must lie between 0 and 1, and the ratio of slopes between 1.001 and 100")
    if any((entry["kind"] == "interval") != (entry["prior"] == "none") for entry in entries):
        wrong.append("entries of kind interval, and only those, have no prior over plans")
    if any(entry["kind"] == "interval" for entry in entries) and bound[RIVAL] != bound[OWN]:
        wrong.append("intervals of single options know no sides")
    return wrong


class Entries:
    """The entries of one bound on one problem."""

    def __init__(self, mdp: MDP, settings: Mapping[str, Any]) -> None:
        self.mdp, self.passes, self.bound = mdp, Passes(mdp), settings["bound"]
        self.delta = float(settings["delta"])
        sigma = np.broadcast_to(np.asarray(settings["sigma"], dtype=np.float64), (mdp.n_arcs,))
        self.sigma: FloatArray = np.where(mdp.is_known, 0.0, sigma)
        self.log_paths = log_number_of_paths(mdp)

    @cached_property
    def shares(self) -> FloatArray:
        """Return each arc's part of the visits under evenly picked actions, scaled to mean 1."""
        flow = self.passes.even_flow()
        return np.asarray(flow / flow.mean())

    @cached_property
    def choices(self) -> tuple[FloatArray, FloatArray]:
        """Return the most choices on a path to each node, and on one from it, itself counted."""
        mdp = self.mdp
        choice = (np.diff(mdp.first)[mdp.source] > 1).astype(np.float64)[:, None]
        return self.passes.behind(choice)[:, 0], self.passes.ahead(choice)[:, 0]

    def planned(self, entry: Entry) -> FloatArray:
        """Return the visits that a shifted entry expects: numbers fixed in advance, and any such numbers are valid."""
        from surepath.learners.challenger.ties import planned_shares

        return np.asarray(float(entry["trials"]) * planned_shares(self.mdp, self.sigma, str(entry["flow"])))

    def precision(self, entry: Entry, side: str) -> FloatArray:
        """Return c of every arc: scale * factor * share ** power, between least and most."""
        if entry["kind"] == "shifted":
            return float(entry["steadiness"]) * self.planned(entry)
        numbers = self.bound[side]
        power = float(numbers["power"])
        share = np.sqrt(self.shares) if power == 0.5 else self.shares**power
        c = float(numbers["factor"]) * (float(entry["scale"]) * share)
        return np.asarray(np.clip(c, float(self.bound["least"]), float(self.bound["most"])))

    def cost(self, entry: Entry) -> float:
        """Return log(1 / (delta weight)), and for intervals of single arcs the union over them."""
        cost = -np.log(self.delta) - np.log(float(entry["weight"]))
        if entry["kind"] == "interval":
            cost += np.log(max(1, int((~self.mdp.is_known).sum())))
        return float(cost)

    def slopes(self, entry: Entry, seen: Sums, alive: BoolArray) -> FloatArray:
        """Choose slopes that cover what any pair may need; a choice that may depend on the data."""
        noisy = np.flatnonzero(alive & (self.sigma > 0))
        if not noisy.size or entry["kind"] == "interval":
            return np.ones(int(noisy.size > 0))
        step = np.log(float(self.bound["ratio"])) / FINER
        if entry["kind"] == "shifted":
            done = seen.visits[noisy] / self.planned(entry)[noisy]
            start = np.log(float(entry["slope"]) * min(2.0, 1.0 / done.min()))
            return np.asarray(np.exp(start - step * np.arange(24 * FINER)))
        a, extras = self.sizes(entry, seen, RIVAL, noisy)
        low, high, extra = np.log(a.min()), np.log(a.max()), float(extras.max())
        horizon, cost = self.mdp.horizon, self.cost(entry)
        start = low - 0.5 * np.log(2 * (cost + self.log_paths + 2 * horizon * (extra + high - low)))
        end = high + 0.5 * np.log(horizon / cost) + 4 * FINER * step
        return np.asarray(np.exp(start + step * np.arange(1 + max(0, int((end - start) / step)))))

    def sizes(self, entry: Entry, seen: Sums, side: str, arcs: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return a = sigma sqrt(n + c) / n and 1/2 log(1 + n / c) of noisy arcs."""
        n, c = seen.visits[arcs].astype(np.float64), self.precision(entry, side)[arcs]
        return self.sigma[arcs] * np.sqrt(n + c) / n, np.log1p(n / c) / 2

    def width(self, entry: Entry, side: str, seen: Sums, slopes: FloatArray, arcs: IntArray) -> FloatArray:
        """Return w of each arc for each slope, float [arcs, rows]; 0 where there is no noise."""
        wide = np.zeros((len(arcs), len(slopes)))
        noisy = np.flatnonzero(self.sigma[arcs] > 0)
        of = arcs[noisy]
        n, c, sigma = seen.visits[of].astype(np.float64), self.precision(entry, side)[of], self.sigma[of]
        a, extra = Entries.sizes(self, entry, seen, side, of)
        if entry["kind"] in ("half-normal", "bernstein", "betting"):
            wide[noisy] = slopes * (upper_conjugate(a[:, None] / slopes) + extra[:, None])
        elif entry["kind"] == "normal":
            wide[noisy] = a[:, None] ** 2 / (2 * slopes) + slopes * extra[:, None]
        elif entry["kind"] == "shifted":
            y, mu = (sigma / n)[:, None] / slopes, (sigma / (float(entry["slope"]) * self.planned(entry)[of]))[:, None]
            wide[noisy] = slopes * (n[:, None] * y**2 / 2 + c[:, None] * (mu - y) ** 2 / 2 + extra[:, None])
        else:
            wide[noisy] = (a * np.sqrt(2 * (extra + self.cost(entry))))[:, None]
        return wide

    def price(self, entry: Entry, path: IntArray, single: bool) -> Price:
        """Return what a path q pays beside `path`, or with `single` what one excursion of the best path pays.

        One excursion of q belongs to the pair of q and the path that takes p's stretch in its place. They share the
        rest, of which only the most choices it can have are known.
        """
        mdp, horizon, rho = self.mdp, self.mdp.horizon, float(self.bound["rho"])
        before, after = self.choices
        most, cost = float(after[0]), self.cost(entry)
        arc, leaving, meeting = np.zeros(mdp.n_arcs), np.zeros(horizon), np.zeros(horizon + 1)
        if entry["prior"] == "none":
            return Price(arc, leaving, meeting, 0.0)
        if most == 0:
            return Price(arc, leaving, meeting, cost)
        if entry["prior"] == "uniform":
            return Price(arc, leaving, meeting, cost + self.log_paths + float(np.log1p(-np.exp(-self.log_paths))))
        detour = entry["prior"] == "detour"
        stay, out = (-np.log1p(-rho), -np.log(rho)) if detour else (0.0, 0.0)
        fixed = cost + float(np.log(-np.expm1(most * np.log1p(-rho))) if detour else np.log(most))
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
