"""The passes of `passes.py` for weights that are -inf where an arc cannot be used: no mask to read."""

from __future__ import annotations

import numpy as np

from surepath._checks import FloatArray, IntArray
from surepath.engine._jit import hot_kernel, inner_kernel
from surepath.engine.arrays import Graph


@hot_kernel
def backward_masked(graph: Graph, weight: FloatArray, value: FloatArray) -> None:
    """value[i] = largest weight of a path from node i to the sink, -inf if there is none; value is [n_nodes + 1]."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    value[sink] = 0.0
    stop = first[sink]
    for i in range(sink - 1, -1, -1):
        start = first[i]
        best = -np.inf
        for e in range(start, stop):
            x = weight[e] + value[target[e]]
            if x > best:
                best = x
        value[i] = best
        stop = start


@inner_kernel
def forward_masked(graph: Graph, weight: FloatArray, value: FloatArray) -> None:
    """value[i] = largest weight of a path from the start to node i, -inf if there is none; value is [n_nodes + 1]."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    for i in range(1, sink + 1):
        value[i] = -np.inf
    value[0] = 0.0
    for i in range(sink):
        here = value[i]
        if here == -np.inf:
            continue
        for e in range(first[i], first[i + 1]):
            x = here + weight[e]
            if x > value[target[e]]:
                value[target[e]] = x


@hot_kernel
def walk_masked(
    graph: Graph, weight: FloatArray, value: FloatArray, visits: IntArray, least_played: int, path: IntArray
) -> None:
    """Follow the largest weight from the start; ties go to the lowest arc, or to the least played one."""
    first, target = graph.first, graph.target
    node = 0
    for h in range(len(path)):
        chosen = first[node]
        best = weight[chosen] + value[target[chosen]]
        for e in range(chosen + 1, first[node + 1]):
            x = weight[e] + value[target[e]]
            if x > best or (least_played == 1 and x == best and visits[e] < visits[chosen]):
                best, chosen = x, e
        path[h] = chosen
        node = target[chosen]
