"""Count the paths of small total cost: a dynamic program over nodes and budgets."""

from __future__ import annotations

import numpy as np

from surepath._types import IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.jit import kernel


@kernel
def log_paths_within(graph: Graph, cost: IntArray, budget: int) -> float:
    """Compute the logarithm of the number of paths from the start whose whole costs (0 or more) sum to at most budget.

    One backward sweep, O(N budget): count[i, b] = sum over arcs e of node i with cost[e] <= b of
    count[target, b - cost[e]], two stages in memory at a time.
    """
    first, target, stage_node = graph.first, graph.target, graph.stage_node
    horizon = len(stage_node) - 1
    ahead = np.zeros((1, budget + 1))
    for h in range(horizon - 1, -1, -1):
        low, high = stage_node[h], stage_node[h + 1]
        here = np.full((high - low, budget + 1), -np.inf)
        for i in range(low, high):
            for e in range(first[i], first[i + 1]):
                row = target[e] - high
                for b in range(cost[e], budget + 1):
                    x, y = here[i - low, b], ahead[row, b - cost[e]]
                    if y > x:
                        x, y = y, x
                    if y > -np.inf:
                        x += np.log1p(np.exp(y - x))
                    here[i - low, b] = x
        ahead = here
    return float(ahead[0, budget])
