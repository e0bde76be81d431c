"""Paths that cover undersampled arcs: arcs of an unknown reward with fewer visits than the period asks for.

`cover` finds one path through as many of them as possible. `renew_cover` finds the fewest paths through all of them, a
minimum flow, and `follow_cover` takes these paths one by one. Ties: lowest arc.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Graph, Layers
from surepath.kernels.flow.minimum import minimum_flow
from surepath.kernels.jit import Whole, folded_kernel, inner_kernel, kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import State


@folded_kernel
def lacks(state: State, judged: Whole, e: int) -> float:
    """Return 1 where arc e is undersampled, judged on this row of flags."""
    low = state.number[at.VISITS, e] < state.tally[at.PERIOD]
    return 1.0 if low and state.flag[judged, e] and not state.flag[at.IS_KNOWN, e] else 0.0


@folded_kernel
def cover(graph: Layers, state: State, judged: Whole) -> None:
    """Write a path with most undersampled arcs into the row PATH; `judged` is ACTIVE or STARTED."""
    first, target, value = graph.first, graph.target, state.node[at.SCRATCH]
    sink = len(first) - 1
    value[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            best = max(best, lacks(state, judged, e) + value[target[e]])
        value[i] = best
    node = np.uint32(0)
    for h in range(state.path.shape[1]):
        best, chosen = -np.inf, first[node]
        for e in range(first[node], first[node + 1]):
            x = lacks(state, judged, e) + value[target[e]]
            if x > best:
                best, chosen = x, e
        state.path[at.PATH, h] = chosen
        node = target[chosen]


@kernel
def renew_cover(graph: Graph, state: State) -> None:
    """Find the cover of the period that has just begun; called outside the loop of episodes, which asks for it."""
    state.tally[at.COVER_STALE] = 0
    n = len(graph.target)
    demand, cut = np.zeros(n, dtype=np.int64), np.zeros(len(graph.first) - 1, dtype=np.bool_)
    for e in range(n):
        low = state.number[at.VISITS, e] < state.tally[at.PERIOD]
        if low and state.flag[at.STARTED, e] and not state.flag[at.IS_KNOWN, e]:
            demand[e] = 1
    state.tally[at.COVER_LEFT] = minimum_flow(graph, demand, state.number[at.FLOW_LEFT], cut)


@inner_kernel
def follow_cover(graph: Layers, state: State, spend: bool | np.bool_) -> None:
    """Write the path along most flow into the row PATH; with `spend`, take it off the flow if PATH is that path."""
    left, node = state.number[at.FLOW_LEFT], np.uint32(0)
    for h in range(state.path.shape[1]):
        chosen = int(graph.first[node])
        for e in range(chosen + 1, int(graph.first[node + 1])):
            if left[e] > left[chosen]:
                chosen = e
        if spend and state.path[at.PATH, h] != chosen:
            return
        state.path[at.PATH, h] = chosen
        node = graph.target[chosen]
    if spend:
        for h in range(state.path.shape[1]):
            left[state.path[at.PATH, h]] -= 1
        state.tally[at.COVER_LEFT] -= 1
