"""Design by enumeration: what a list of plays proves, and what it recommends."""

from __future__ import annotations

import numpy as np

from surepath import MDP
from tests.naive.paths import all_paths


def proven_gap(mdp: MDP, sigma: np.ndarray, visits: np.ndarray, delta: float) -> float:
    """The least epsilon for which a union over all wrong paths, each against each best path, stays below delta."""
    paths = all_paths(mdp)
    worst = 0.0
    for p in paths:
        for q in paths:
            apart = [e for e in set(p) ^ set(q) if sigma[e] > 0]
            worst = max(worst, sum(sigma[e] ** 2 / visits[e] if visits[e] else np.inf for e in apart))
    return float(np.sqrt(2 * worst * (np.log(len(paths)) + np.log(1 / delta))))


def best(mdp: MDP, mean: np.ndarray) -> float:
    """The largest sum of means of a path."""
    return max(sum(mean[e] for e in path) for path in all_paths(mdp))
