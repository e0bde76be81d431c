"""All plans of a graph, in lexicographic order of arcs, and the place of a plan among them."""

from __future__ import annotations

import numpy as np

from surepath._types import IntArray
from surepath.model.mdp import MDP


def list_plans(mdp: MDP) -> IntArray:
    """Return every plan, int [P, H], in lexicographic order of arcs."""
    paths, node = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for _ in range(mdp.horizon):
        low = mdp.first[node]
        degree = mdp.first[node + 1] - low
        row = np.repeat(np.arange(len(node)), degree)
        place = np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)
        arc = low[row] + place
        paths = np.column_stack([paths[row], arc])
        node = mdp.target[arc]
    return np.ascontiguousarray(paths)


def rank_of(mdp: MDP, after: IntArray, path: IntArray) -> int:
    """Return the number of a plan in the list; `after` counts the paths from each node to the sink."""
    rank = 0
    for arc in path.tolist():
        low = int(mdp.first[mdp.source[arc]])
        rank += int(after[mdp.target[low:arc]].sum())
    return rank
