"""Stage pairs by listing every path and excursion: the prior, S0 and S with all slopes tried, the bound of a pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surepath.model.mdp import MDP
from tests.naive.challenger import h_star, most_choices
from tests.naive.paths import all_paths

SLOPES = np.geomspace(1e-2, 1e3, 601)


def stage_prior(mdp: MDP, y: int, x: int, most: int) -> float:
    """pi(y | q) for an arc y off q, x the arc of q in its stage."""
    others = mdp.n_arcs - mdp.horizon
    share = 0.5 / others
    if mdp.source[x] == mdp.source[y]:
        node = int(mdp.source[x])
        share += 0.5 / (most * (int(mdp.first[node + 1] - mdp.first[node]) - 1))
    return share


@dataclass
class StageTwin:
    """Everything that the bounds need, in plain numbers; c is [entries, 2, N], weights sum to at most 1.

    `mean` is that of the `visits` rewards seen; `ends` the least and the most reward that may be `missing`.
    """

    mdp: MDP
    delta: float
    sigma: np.ndarray
    visits: np.ndarray
    mean: np.ndarray
    alive: np.ndarray
    c: np.ndarray
    weights: np.ndarray
    missing: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]
    total: float = 0.0  # sigma of the sum of a trial's scores; then plans share no step
    of_plans: tuple[int, ...] = ()  # the entries that are about totals

    def __post_init__(self) -> None:
        self.paths = [p for p in all_paths(self.mdp) if self.alive[list(p)].all()]
        self.most = most_choices(self.mdp)

    def difference(self, x: int, y: int) -> float:
        """The largest difference of means, of x on q and y on p, that the missing rewards allow."""
        total = 0.0
        for sign, arc, end in ((1, x, self.ends[1]), (-1, y, self.ends[0])):
            n, m = int(self.visits[arc]), int(self.missing[arc])
            total += sign * float((n * self.mean[arc] + (m * end[arc] if m else 0.0)) / (n + m))
        return total

    def width(self, entry: int, side: int, arc: int, k: np.ndarray) -> np.ndarray:
        """W(k), on q's side (0) or p's (1)."""
        if self.sigma[arc] == 0:
            return np.zeros_like(k)
        n, c = int(self.visits[arc] + self.missing[arc]), float(self.c[entry, side, arc])
        a = self.sigma[arc] * np.sqrt(n + c) / n
        return np.asarray(k * (h_star(a / k) + np.log(1 + n / c) / 2))

    def pair(self, x: int, y: int, kappa: float | None) -> float:
        """The bound on mu_x - mu_y without what was kept: S0, or S for one kappa without kappa / delta."""
        difference = self.difference(x, y)
        if self.sigma[x] == 0 and self.sigma[y] == 0:
            return difference
        scale = max(self.sigma[e] / np.sqrt(self.visits[e]) for e in (x, y))
        k, best = SLOPES * scale, np.inf
        for entry, weight in enumerate(self.weights):
            if entry in self.of_plans:
                continue
            share = np.log(1 / (stage_prior(self.mdp, y, x, self.most) * weight))
            per = share + (np.log(1 / self.delta) if kappa is None else np.log(k / kappa) - 1)
            total = self.width(entry, 0, x, k) + self.width(entry, 1, y, k) + k * per
            best = min(best, float(total.min()))
        return min(difference + best, float(self.ends[1][x] - self.ends[0][y]))

    def totals(self, q: tuple[int, ...], p: tuple[int, ...]) -> float:
        """The bound on V(q) - V(p) by the totals of the trials that played q, and of those that played p."""
        counts = [{int(self.visits[e] + self.missing[e]) for e in plan if self.sigma[e] > 0} for plan in (q, p)]
        if len(counts[0]) != 1 or len(counts[1]) != 1:
            return np.inf
        k, best = SLOPES * self.total / np.sqrt(min(*counts[0], *counts[1])), np.inf
        for entry in self.of_plans:
            cost = np.log((len(all_paths(self.mdp)) - 1) / (self.delta * self.weights[entry]))
            for side, plan, (n,) in zip((0, 1), (q, p), counts):
                c = float(self.c[entry, side, plan[0]])
                cost = cost + h_star(self.total * np.sqrt(n + c) / n / k) + np.log(1 + n / c) / 2
            best = min(best, float((k * cost).min()))
        return best + sum(self.difference(x, y) for x, y in zip(q, p))
