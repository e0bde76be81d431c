"""Dynamic programs over the layered graph: one sweep over the nodes, up or down, O(N).

Every kernel writes into arrays it is given. Weights are finite; -inf in a value means that no path goes through, and
since +inf never enters, infinities of opposite sign cannot meet.
"""

from __future__ import annotations

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.jit import bare_kernel, folded_kernel


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


@folded_kernel
def heaviest(graph: Graph, weight: FloatArray, passable: BoolArray, value: FloatArray, path: IntArray) -> None:
    """Find the path of largest weight over passable arcs, the lowest arc where two tie; fills value as `backward`."""
    backward(graph, weight, passable, value)
    walk(graph, weight, passable, value, path)
