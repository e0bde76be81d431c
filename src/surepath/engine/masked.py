"""The passes of `passes.py` for weights that are -inf where an arc cannot be used: no mask to read."""

from __future__ import annotations

import numpy as np

from surepath._checks import FloatArray, IntArray
from surepath.engine._jit import hot_kernel
from surepath.engine.arrays import Layers


@hot_kernel
def backward_masked(graph: Layers, weight: FloatArray, value: FloatArray) -> None:
    """value[i] = largest weight of a path from node i to the sink, -inf if there is none; value is [n_nodes + 1].

    One count of arcs runs down through all nodes: nodes have few arcs, and setting up a range for each costs more than
    going through it. Unsigned, so that no index needs to be looked at for wrapping around.
    """
    first, target = graph.first, graph.target
    i = np.uint64(len(first) - 1)
    value[i] = 0.0
    e = np.uint64(first[i])
    while i > np.uint64(0):
        i -= np.uint64(1)
        start = np.uint64(first[i])
        best = -np.inf
        while e > start:
            e -= np.uint64(1)
            x = weight[e] + value[target[e]]
            if x > best:
                best = x
        value[i] = best


@hot_kernel
def walk_masked(
    graph: Layers, weight: FloatArray, value: FloatArray, visits: IntArray, least_played: int, path: IntArray
) -> None:
    """Follow the largest weight from the start; ties go to the lowest arc, or to the least played one.

    The choice is written to the path at once, inside the branch: a store keeps the compiler from turning the branch
    into a conditional move, so the processor runs ahead on the likely path instead of waiting for each sum.
    """
    first, target = graph.first, graph.target
    node = np.uint32(0)
    for h in range(len(path)):
        start = first[node]
        path[h] = start
        best = weight[start] + value[target[start]]
        for e in range(start + 1, first[node + 1]):
            x = weight[e] + value[target[e]]
            if x > best:
                best = x
                path[h] = e
            elif least_played == 1 and x == best and visits[e] < visits[path[h]]:
                path[h] = e
        node = target[np.uint64(path[h])]
