"""Passes over weights that are -inf where an arc cannot be used: there is no mask to read."""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, hot_kernel


@hot_kernel
def backward_masked(graph: Layers, weight: FloatArray, value: FloatArray) -> None:
    """Compute value[i], the largest weight of a path from node i to the sink, -inf if there is none; [n_nodes + 1].

    The first two arcs of a node are outside the loop: nodes often have two, and setting up the unrolled loop that
    compilers make of it costs more than they do. Unsigned, so that no index needs a test for wrapping around.
    """
    first, target = graph.first, graph.target
    i, one, two = np.uint64(len(first) - 1), np.uint64(1), np.uint64(2)
    value[i] = 0.0
    stop = np.uint64(first[i])
    while i > np.uint64(0):
        i -= one
        start = np.uint64(first[i])
        best = -np.inf
        if start < stop:
            best = weight[start] + value[target[start]]
            if start + one < stop:
                best = max(best, weight[start + one] + value[target[start + one]])
                if start + two < stop:
                    for e in range(start + two, stop):
                        x = weight[e] + value[target[e]]
                        if x > best:
                            best = x
        value[i] = best
        stop = start


@folded_kernel
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
            elif x == best and least_played * visits[e] < least_played * visits[path[h]]:
                path[h] = e
        node = target[np.uint64(path[h])]
