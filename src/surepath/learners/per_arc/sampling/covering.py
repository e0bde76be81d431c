"""Find a path with most undersampled arcs; used by three sampling rules."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import Whole, folded_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import BIG, State


@folded_kernel
def lacks(state: State, judged: Whole, closed: bool, e: int) -> float:
    """Return 1 where arc e is undersampled, judged on this row of flags; far below 0 where it has left the graph."""
    if closed and state.flag[at.CLOSED, e]:
        return -BIG
    low = state.number[at.VISITS, e] < state.tally[at.PERIOD]
    return 1.0 if low and state.flag[judged, e] and not state.flag[at.KNOWN, e] else 0.0


@folded_kernel
def cover(graph: Layers, state: State, judged: Whole) -> None:
    """Write a path with most undersampled arcs into the row PATH; `judged` is ACTIVE or STARTED. Ties: lowest arc."""
    first, target, value = graph.first, graph.target, state.node[at.SCRATCH]
    sink, closed = len(first) - 1, state.tally[at.N_CLOSED] > 0
    value[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            best = max(best, lacks(state, judged, closed, e) + value[target[e]])
        value[i] = best
    node = np.uint32(0)
    for h in range(state.path.shape[1]):
        best, chosen = -np.inf, first[node]
        for e in range(first[node], first[node + 1]):
            x = lacks(state, judged, closed, e) + value[target[e]]
            if x > best:
                best, chosen = x, e
        state.path[at.PATH, h] = chosen
        node = target[chosen]
