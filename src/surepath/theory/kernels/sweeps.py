"""Dynamic programs over the layered graph: one sweep over the nodes, up or down, O(N).

Every kernel but the last writes into arrays it is given. Weights are finite; -inf in a value means "no path",
and since +inf never enters, infinities of opposite sign cannot meet.
"""

from __future__ import annotations

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.jit import bare_kernel, kernel


@bare_kernel
def backward(graph: Graph, weight: FloatArray, passable: BoolArray, value: FloatArray) -> None:
    """Compute value[i], the largest weight of a path from node i to the sink over passable arcs; [n_nodes + 1]."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    value[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            if passable[e]:
                x = weight[e] + value[target[e]]
                if x > best:
                    best = x
        value[i] = best


@bare_kernel
def forward(graph: Graph, weight: FloatArray, passable: BoolArray, value: FloatArray) -> None:
    """Compute value[i], the largest weight of a path from the start to node i over passable arcs; [n_nodes + 1]."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    value[:] = -np.inf
    value[0] = 0.0
    for i in range(sink):
        here = value[i]
        if here == -np.inf:
            continue
        for e in range(first[i], first[i + 1]):
            if passable[e]:
                x = here + weight[e]
                if x > value[target[e]]:
                    value[target[e]] = x


@bare_kernel
def walk(graph: Graph, weight: FloatArray, passable: BoolArray, value: FloatArray, path: IntArray) -> None:
    """Follow the largest weight[e] + value[target[e]] from the start; the lowest arc wins a tie; path is [H]."""
    first, target = graph.first, graph.target
    node = 0
    for h in range(len(path)):
        best, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            if passable[e]:
                x = weight[e] + value[target[e]]
                if chosen < 0 or x > best:
                    best, chosen = x, e
        path[h] = chosen
        node = target[chosen]


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
