"""Gaps by listing every path, and every path from every node."""

from __future__ import annotations

import numpy as np

from surepath.model.mdp import MDP
from tests.naive.paths import all_paths


def returns(mdp: MDP, gains: np.ndarray) -> dict[tuple[int, ...], float]:
    """The return of every path."""
    return {path: float(sum(gains[e] for e in path)) for path in all_paths(mdp)}


def return_gaps(mdp: MDP, gains: np.ndarray) -> np.ndarray:
    """Best return of all less best return through each arc."""
    table = returns(mdp, gains)
    best = max(table.values())
    return np.array([best - max(v for p, v in table.items() if e in p) for e in range(mdp.n_arcs)])


def to_go(mdp: MDP, gains: np.ndarray, node: int) -> float:
    """Best gain from a node to the end, by recursion."""
    if node == mdp.n_nodes:
        return 0.0
    arcs = range(int(mdp.first[node]), int(mdp.first[node + 1]))
    return max(float(gains[e]) + to_go(mdp, gains, int(mdp.target[e])) for e in arcs)


def value_gaps(mdp: MDP, gains: np.ndarray) -> np.ndarray:
    """What each action costs from its state on."""
    return np.array(
        [
            to_go(mdp, gains, int(mdp.source[e])) - gains[e] - to_go(mdp, gains, int(mdp.target[e]))
            for e in range(mdp.n_arcs)
        ]
    )
