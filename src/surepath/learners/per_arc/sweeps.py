"""Passes over the graph: values from its end to its start, then a path from its start to its end.

Plain passes take weights that are -inf where an arc cannot be used: there is no mask to read. Counting passes take over
while some width is infinite, with infinities counted apart from the finite part: a path's weight is then the pair
(number of infinities, finite part), compared in that order. An infinite arc adds to the finite part what `rest` has for
it: 0 for widths, 0 less the reference of its stage for bounds. `sign` = 1.0 prefers many infinities (upper values,
diameters), -1.0 prefers few (lower values). The plain passes order paths by the count alone, which is enough for every
question but which path to walk.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, hot_kernel, inner_kernel

UNUSABLE = -np.inf  # in place of a count: the arc cannot be used


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


@folded_kernel
def pair(weight: float, infinite: int, rest: float, sign: float, value: float, count: float) -> tuple[float, float]:
    """Return finite part and count of one arc joined to what follows; the count is UNUSABLE if it cannot be used."""
    if count == UNUSABLE:
        return -np.inf, UNUSABLE
    if infinite > 0 and sign * weight > 0.0:  # a lower bound is -inf there, an upper one -inf where none may pass
        return rest + value, count + sign * infinite
    if weight == -np.inf:
        return -np.inf, UNUSABLE
    return weight + value, count


@inner_kernel
def backward_counted(
    graph: Layers,
    weight: FloatArray,
    infinite: IntArray,
    rest: FloatArray,
    sign: float,
    value: FloatArray,
    count: FloatArray,
) -> None:
    """Compute (count[i], value[i]), the largest pair of a path from node i to the sink."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    value[sink] = 0.0
    count[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best, most = -np.inf, UNUSABLE
        for e in range(first[i], first[i + 1]):
            x, c = pair(weight[e], infinite[e], rest[e], sign, value[target[e]], count[target[e]])
            if c > most or (c == most and x > best):
                best, most = x, c
        value[i] = best
        count[i] = most


@inner_kernel
def walk_counted(
    graph: Layers,
    weight: FloatArray,
    infinite: IntArray,
    rest: FloatArray,
    sign: float,
    value: FloatArray,
    count: FloatArray,
    visits: IntArray,
    least_played: int,
    path: IntArray,
) -> None:
    """Follow the largest pair from the start; ties go to the lowest arc, or to the least played one."""
    first, target = graph.first, graph.target
    node = np.uint32(0)
    for h in range(len(path)):
        chosen = first[node]
        j = target[chosen]
        best, most = pair(weight[chosen], infinite[chosen], rest[chosen], sign, value[j], count[j])
        for e in range(chosen + 1, first[node + 1]):
            x, c = pair(weight[e], infinite[e], rest[e], sign, value[target[e]], count[target[e]])
            fewer = least_played * visits[e] < least_played * visits[chosen]  # no branch: the loop is compiled once
            if c > most or (c == most and (x > best or (x == best and fewer))):
                best, most, chosen = x, c, e
        path[h] = chosen
        node = target[chosen]
