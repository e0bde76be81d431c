"""The passes again for weights that may be infinite: an infinity is counted apart from the finite part.

A path's weight is the pair (number of infinities, finite part), compared in that order, so +inf never enters a sum.
`sign` = +1 prefers many infinities (upper values, diameters), -1 prefers few (lower values). Where no width is
infinite the plain passes give the same answers; `best_upper` and `best_spread` choose between the two.
"""

from __future__ import annotations

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph

NO_WAY = -(1 << 60)


@bare_kernel
def backward_counted(
    graph: Graph,
    weight: FloatArray,
    passable: BoolArray,
    infinite: IntArray,
    sign: int,
    value: FloatArray,
    count: IntArray,
) -> None:
    """(count[i], value[i]) = largest pair of a path from node i to the sink over passable arcs."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    value[sink] = 0.0
    count[sink] = 0
    for i in range(sink - 1, -1, -1):
        best, most = -np.inf, NO_WAY
        for e in range(first[i], first[i + 1]):
            j = target[e]
            if passable[e] and count[j] != NO_WAY:
                c = sign * infinite[e] + count[j]
                x = weight[e] + value[j]
                if c > most or (c == most and x > best):
                    best, most = x, c
        value[i] = best
        count[i] = most


@bare_kernel
def forward_counted(
    graph: Graph, weight: FloatArray, passable: BoolArray, infinite: IntArray, value: FloatArray, count: IntArray
) -> None:
    """(count[i], value[i]) = largest pair of a path from the start to node i over passable arcs."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    value[:] = -np.inf
    count[:] = NO_WAY
    value[0] = 0.0
    count[0] = 0
    for i in range(sink):
        if count[i] == NO_WAY:
            continue
        for e in range(first[i], first[i + 1]):
            if passable[e]:
                j = target[e]
                c = count[i] + infinite[e]
                x = value[i] + weight[e]
                if c > count[j] or (c == count[j] and x > value[j]):
                    value[j] = x
                    count[j] = c


@bare_kernel
def walk_counted(
    graph: Graph,
    weight: FloatArray,
    passable: BoolArray,
    infinite: IntArray,
    sign: int,
    value: FloatArray,
    count: IntArray,
    visits: IntArray,
    least: int,
    path: IntArray,
) -> None:
    """Follow the largest pair from the start; ties go to the lowest arc, or to the least played one if `least`."""
    first, target = graph.first, graph.target
    node = 0
    for h in range(len(path)):
        best, most, chosen = -np.inf, NO_WAY, -1
        for e in range(first[node], first[node + 1]):
            j = target[e]
            if passable[e] and count[j] != NO_WAY:
                c = sign * infinite[e] + count[j]
                x = weight[e] + value[j]
                tie = c == most and x == best and least == 1 and visits[e] < visits[chosen]
                if chosen < 0 or c > most or (c == most and x > best) or tie:
                    best, most, chosen = x, c, e
        path[h] = chosen
        node = target[chosen]


@bare_kernel
def walk_plain(
    graph: Graph,
    weight: FloatArray,
    passable: BoolArray,
    value: FloatArray,
    visits: IntArray,
    least: int,
    path: IntArray,
) -> None:
    """`walk` with the choice of tie rule."""
    first, target = graph.first, graph.target
    node = 0
    for h in range(len(path)):
        best, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            if passable[e]:
                x = weight[e] + value[target[e]]
                if chosen < 0 or x > best or (x == best and least == 1 and visits[e] < visits[chosen]):
                    best, chosen = x, e
        path[h] = chosen
        node = target[chosen]
