"""Challenger's mathematics by listing every path: G of every pair, the priors as walks, the certified gap."""

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
    """Probability of each path when all are alike."""
    return 1 / len(all_paths(mdp))


def detour_prior(mdp: MDP, p: tuple[int, ...], q: tuple[int, ...], rho: float) -> float:
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
    return chance


@dataclass
class Entry:
    """One entry of the grid of priors: c of every arc, cost = log(1/delta) + log(1/weight), the prior's kind.

    c is [2, N]: of an arc as part of the challenger, and as part of the incumbent.
    """

    c: np.ndarray
    cost: float
    prior: str


@dataclass
class Twin:
    """Everything that G needs, in plain numbers."""

    mdp: MDP
    sigma: np.ndarray
    visits: np.ndarray
    mean: np.ndarray
    alive: np.ndarray
    entries: list[Entry]
    widths: str
    rho: float

    def __post_init__(self) -> None:
        self.paths = [p for p in all_paths(self.mdp) if self.alive[list(p)].all()]

    def value(self, path: tuple[int, ...]) -> float:
        return float(self.mean[list(path)].sum())

    def arc_widths(self, entry: Entry, slopes: np.ndarray, side: int) -> np.ndarray:
        """w of every arc for every slope, [slopes, N], on one side of the pair; 0 where there is no noise."""
        wide = np.zeros((len(slopes), self.mdp.n_arcs))
        for e in np.flatnonzero((self.sigma > 0) & ~self.mdp.is_known):
            n, c = int(self.visits[e]), float(entry.c[side, e])
            a = self.sigma[e] * np.sqrt(n + c) / n
            extra = np.log(1 + n / c) / 2
            if self.widths == "one-sided":
                wide[:, e] = slopes * (h_star(a / slopes) + extra)
            elif self.widths == "two-sided":
                wide[:, e] = slopes * ((a / slopes) ** 2 / 2 + extra)
            else:
                wide[:, e] = a * np.sqrt(2 * (entry.cost + extra))
        return wide

    def bounds(self, entry: Entry, slopes: np.ndarray, p: tuple[int, ...]) -> dict[tuple[int, ...], np.ndarray]:
        """G(q | p) of every q != p for every slope."""
        wide = [self.arc_widths(entry, slopes, side) for side in (0, 1)]
        found = {}
        for q in self.paths:
            if q == p:
                continue
            apart = sorted(set(p) ^ set(q))
            of_q, of_p = sorted(set(q) - set(p)), sorted(set(p) - set(q))
            g = self.value(q) - self.value(p) + wide[0][:, of_q].sum(axis=1) + wide[1][:, of_p].sum(axis=1)
            if self.widths != "per-arc":
                kind = entry.prior
                chance = detour_prior(self.mdp, p, q, self.rho) if kind == "detour" else uniform_prior(self.mdp)
                g = g + slopes * (entry.cost - np.log(chance))
            if not any(self.sigma[e] > 0 and not self.mdp.is_known[e] for e in apart):
                g = np.full(len(slopes), self.value(q) - self.value(p))  # the limit of slope 0: nothing is uncertain
            found[q] = g
        return found

    def best_bounds(self, p: tuple[int, ...], slopes: list[np.ndarray]) -> dict[tuple[int, ...], float]:
        """The least G(q | p) over all entries and the slopes listed for each."""
        best = {q: np.inf for q in self.paths if q != p}
        for entry, row in zip(self.entries, slopes):
            for q, g in self.bounds(entry, row, p).items():
                best[q] = min(best[q], float(g.min()))
        return best
