"""The paper's formulas, one arc at a time, from gaps found by listing paths; for means in multiples of 1/2."""

from __future__ import annotations

from math import inf, log

import numpy as np

from surepath.model.mdp import MDP
from tests.naive.gaps import return_gaps


def stages(mdp: MDP) -> list[list[int]]:
    """The arcs of each stage."""
    return [list(range(int(mdp.stage_arc[h]), int(mdp.stage_arc[h + 1]))) for h in range(mdp.horizon)]


def theorem_1(mdp: MDP, means: np.ndarray, sigma: np.ndarray, epsilon: float, delta: float) -> list[float]:
    """Local lower bounds of Theorem 1."""
    gap = return_gaps(mdp, means)
    local = [0.0] * mdp.n_arcs
    for arcs in stages(mdp):
        near = [e for e in arcs if gap[e] <= epsilon]
        positive = [gap[e] for e in arcs if gap[e] > 0]
        least = (min(positive) if positive else inf) if len(near) == 1 else 0.0
        for e in arcs:
            top, bottom = sigma[e] ** 2 * max(0.0, log(1 / (4 * delta))) / 4, max(gap[e], least, epsilon)
            local[e] = 0.0 if top == 0 else (inf if bottom == 0 else top / bottom**2)
    return local


def upper_gap(mdp: MDP, means: np.ndarray, epsilon: float) -> list[float]:
    """max(gap, Delta_min, epsilon) of each arc."""
    gap = return_gaps(mdp, means)
    least = min((g for g in gap if g > 0), default=inf) if sum(g == 0 for g in gap) == mdp.horizon else 0.0
    return [max(g, least, epsilon) for g in gap]


def coverage_visits(mdp: MDP, means: np.ndarray, sigma: float, epsilon: float, delta: float) -> list[float]:
    """g of Theorem "formal" for sigma H not small against the gaps."""
    n, horizon = mdp.n_arcs, mdp.horizon
    confidence = log(16 * n**3 / delta)
    found = []
    for d in upper_gap(mdp, means, epsilon):
        extra = 8 * log(16 * sigma * horizon * confidence / d) if d < inf else 0.0
        found.append(32 * sigma**2 * horizon**2 / d**2 * (confidence + extra) + 2)
    return found
