"""The passes again while some width is infinite: infinities are counted apart from the finite part.

A path's weight is the pair (number of infinities, finite part), compared in that order. An infinite arc adds to the
finite part what `rest` has for it: 0 for widths, 0 less the reference of its stage for bounds. `sign` = 1.0 prefers
many infinities (upper values, diameters), -1.0 prefers few (lower values). The plain passes order paths by the count
alone, which is enough for every question but which path to walk.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, inner_kernel

NO_WAY = -np.inf


@folded_kernel
def pair(weight: float, infinite: int, rest: float, sign: float, value: float, count: float) -> tuple[float, float]:
    """Return finite part and count of one arc joined to what follows; the count is NO_WAY if it cannot be used."""
    if count == NO_WAY:
        return -np.inf, NO_WAY
    if infinite > 0 and sign * weight > 0.0:  # a lower bound is -inf there, an upper one -inf where none may pass
        return rest + value, count + sign * infinite
    if weight == -np.inf:
        return -np.inf, NO_WAY
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
        best, most = -np.inf, NO_WAY
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
