"""Challenger's mathematics by listing every path and every excursion: G, the priors as walks, the certified gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, ndtr

from surepath.model.mdp import MDP
from tests.naive.paths import all_paths


def exponent(x: np.ndarray) -> np.ndarray:
    """h(x) = x^2/2 + log(2 Phi(x)), written so that nothing cancels."""
    left, right = np.minimum(x, 0), np.maximum(x, 0)
    return np.where(x < 0, np.log(erfcx(-left / np.sqrt(2))), right**2 / 2 + np.log(2 * ndtr(right)))


def h_star(y: np.ndarray) -> np.ndarray:
    """sup over x of x y - h(x), by narrowing an interval around the maximum of a concave function."""
    low, high = -2 / y - 2, y + 1
    for _ in range(90):
        left, right = low + (high - low) * 0.4, low + (high - low) * 0.6
        rising = left * y - exponent(left) < right * y - exponent(right)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    return (low + high) / 2 * y - exponent((low + high) / 2)


def uniform_prior(mdp: MDP) -> float:
    """Probability of each wrong path when all are alike."""
    return 1 / max(1, len(all_paths(mdp)) - 1)


def choices(mdp: MDP, path: tuple[int, ...]) -> int:
    """On how many of its nodes a path has a choice."""
    return sum(int(mdp.first[node + 1] - mdp.first[node]) > 1 for node in mdp.source[list(path)])


def most_choices(mdp: MDP) -> int:
    return max(choices(mdp, path) for path in all_paths(mdp))


def detour_prior(mdp: MDP, p: tuple[int, ...], q: tuple[int, ...], rho: float, most: int) -> float:
    """Probability that a walk beside q, which leaves it with probability rho at a choice, comes out as p."""
    chance = 1.0
    for mine, theirs in zip(p, q):
        here, there = int(mdp.source[mine]), int(mdp.source[theirs])
        degree = int(mdp.first[here + 1] - mdp.first[here])
        if degree == 1:
            continue
        if here != there:
            chance *= 1 / degree
        elif mine == theirs:
            chance *= 1 - rho
        else:
            chance *= rho / (degree - 1)
    return chance / (1 - (1 - rho) ** most)


Stretch = tuple[int, tuple[int, ...], tuple[int, ...]]


def excursions(mdp: MDP, p: tuple[int, ...], q: tuple[int, ...]) -> list[Stretch]:
    """Where q leaves p until it meets p again: first stage, arcs of q, arcs of p."""
    found, h = [], 0
    while h < len(p):
        if p[h] == q[h]:
            h += 1
            continue
        end = h + 1
        while end < len(p) and mdp.source[p[end]] != mdp.source[q[end]]:
            end += 1
        found.append((h, q[h:end], p[h:end]))
        h = end
    return found


def excursion_prior(mdp: MDP, arcs: tuple[int, ...], most: int) -> float:
    """Probability of one excursion off a path: where it starts, by which other action, then every action alike."""
    chance = 1 / most
    for place, arc in enumerate(arcs):
        node = int(mdp.source[arc])
        degree = int(mdp.first[node + 1] - mdp.first[node])
        chance /= degree - 1 if place == 0 else degree
    return chance


@dataclass
class Entry:
    """One entry of the grid of priors: c of every arc, cost = log(1/delta) + log(1/weight), the prior, the kind.

    c is [2, N]: of an arc as part of the challenger, and as part of the incumbent.
    """

    c: np.ndarray
    cost: float
    prior: str
    kind: str
    tilt: np.ndarray  # [N], of the shifted kind


@dataclass
class Twin:
    """Everything that G needs, in plain numbers."""

    mdp: MDP
    sigma: np.ndarray
    visits: np.ndarray
    mean: np.ndarray
    alive: np.ndarray
    entries: list[Entry]
    rho: float

    def __post_init__(self) -> None:
        self.all = all_paths(self.mdp)
        self.paths = [p for p in self.all if self.alive[list(p)].all()]
        self.most = most_choices(self.mdp)
        self.noisy = (self.sigma > 0) & ~self.mdp.is_known

    def value(self, path: tuple[int, ...]) -> float:
        return float(self.mean[list(path)].sum())

    def arc_widths(self, entry: Entry, slopes: np.ndarray, side: int) -> np.ndarray:
        """w of every arc for every slope, [slopes, N], on one side of the pair; 0 where there is no noise."""
        wide = np.zeros((len(slopes), self.mdp.n_arcs))
        for e in np.flatnonzero(self.noisy):
            n, c = int(self.visits[e]), float(entry.c[side, e])
            a = self.sigma[e] * np.sqrt(n + c) / n
            extra = np.log(1 + n / c) / 2
            if entry.kind == "half-normal":
                wide[:, e] = slopes * (h_star(a / slopes) + extra)
            else:  # shifted
                y = self.sigma[e] / (n * slopes)
                wide[:, e] = slopes * (n * y**2 / 2 + c * (entry.tilt[e] - y) ** 2 / 2 + extra)
        return wide

    def union(self, entry: Entry, p: tuple[int, ...], q: tuple[int, ...]) -> float:
        """What the pair pays for delta, the entry's weight and the prior; by excursions, each for itself."""
        if entry.prior == "excursion":
            each = [
                entry.cost - np.log(excursion_prior(self.mdp, x, self.most)) for _, _, x in excursions(self.mdp, p, q)
            ]
            return float(sum(each))
        if entry.prior == "detour":
            return float(entry.cost - np.log(detour_prior(self.mdp, p, q, self.rho, self.most)))
        return float(entry.cost - np.log(1 / max(1, len(self.all) - 1)))

    def single_union(self, entry: Entry, stretch: Stretch) -> float:
        """The most that any pair may pay that differs in this stretch alone: the best path is not known."""
        stage, of_q, of_p = stretch
        if entry.prior == "excursion":
            return float(entry.cost - np.log(excursion_prior(self.mdp, of_p, self.most)))
        end = stage + len(of_q)
        pairs = [(r[:stage] + of_p + r[end:], r) for r in self.all if r[stage:end] == of_q]
        return max(self.union(entry, p, q) for p, q in pairs)

    def g(self, wide: list[np.ndarray], of_q: tuple[int, ...], of_p: tuple[int, ...], union: np.ndarray) -> np.ndarray:
        """The bound on the difference of two stretches for every slope."""
        widths = wide[0][:, list(of_q)].sum(axis=1) + wide[1][:, list(of_p)].sum(axis=1)
        return np.asarray(self.value(of_q) - self.value(of_p) + widths + union)

    def is_quiet(self, *stretches: tuple[int, ...]) -> bool:
        return not any(self.noisy[list(arcs)].any() for arcs in stretches)

    def bounds(
        self, entry: Entry, slopes: np.ndarray, p: tuple[int, ...], exact: bool = True
    ) -> dict[tuple[int, ...], np.ndarray]:
        """G(q | p) of every q != p for every slope; `exact` takes the limit of slope 0 where nothing is uncertain."""
        found, wide = {}, [self.arc_widths(entry, slopes, side) for side in (0, 1)]
        for q in self.paths:
            if q != p:
                of_q, of_p = (tuple(sorted(set(x) - set(y))) for x, y in ((q, p), (p, q)))
                g = self.g(wide, of_q, of_p, slopes * self.union(entry, p, q))
                quiet = exact and self.is_quiet(of_q, of_p)
                found[q] = np.full(len(slopes), self.value(of_q) - self.value(of_p)) if quiet else g
        return found

    def single_bounds(
        self, entry: Entry, slopes: np.ndarray, p: tuple[int, ...], exact: bool = True
    ) -> dict[Stretch, np.ndarray]:
        """G of every excursion off p for every slope."""
        found, wide = {}, [self.arc_widths(entry, slopes, side) for side in (0, 1)]
        for stretch in {x for q in self.paths for x in excursions(self.mdp, p, q)}:
            _, of_q, of_p = stretch
            g = self.g(wide, of_q, of_p, slopes * self.single_union(entry, stretch))
            quiet = exact and self.is_quiet(of_q, of_p)
            found[stretch] = np.full(len(slopes), self.value(of_q) - self.value(of_p)) if quiet else g
        return found

    def best_bounds(self, p: tuple[int, ...], slopes: list[np.ndarray]) -> dict[tuple[int, ...], float]:
        """The least G(q | p) over all entries and the slopes listed for each."""
        best = {q: np.inf for q in self.paths if q != p}
        for entry, row in zip(self.entries, slopes):
            for q, g in self.bounds(entry, row, p).items():
                best[q] = min(best[q], float(g.min()))
        return best

    def best_single_bounds(self, p: tuple[int, ...], slopes: list[np.ndarray]) -> dict[Stretch, float]:
        """The least G of each excursion over all entries and the slopes listed for each."""
        best: dict[Stretch, float] = {}
        for entry, row in zip(self.entries, slopes):
            for stretch, g in self.single_bounds(entry, row, p).items():
                best[stretch] = min(best.get(stretch, np.inf), float(g.min()))
        return best

    def gap(self, p: tuple[int, ...], slopes: list[np.ndarray]) -> float:
        """The least epsilon that the rows prove: by excursions 0 if each may be no gain."""
        if self.entries[0].prior == "excursion" and max(self.best_single_bounds(p, slopes).values(), default=0.0) <= 0:
            return 0.0
        return max(self.best_bounds(p, slopes).values(), default=0.0)
