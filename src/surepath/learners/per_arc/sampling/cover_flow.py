"""Find the cover of a period as a minimum flow; outside the loop of episodes, which stops and asks for it."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Graph
from surepath.kernels.flow.minimum import minimum_flow
from surepath.kernels.jit import kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import State


@kernel
def renew_cover(graph: Graph, state: State) -> None:
    """Find the cover of the period that has just begun; none where options were excluded, as it might use them."""
    state.tally[at.COVER_STALE] = 0
    if state.tally[at.N_CLOSED] > 0:
        state.tally[at.COVER_LEFT] = 0
        return
    n = len(graph.target)
    demand, cut = np.zeros(n, dtype=np.int64), np.zeros(len(graph.first) - 1, dtype=np.bool_)
    for e in range(n):
        low = state.number[at.VISITS, e] < state.tally[at.PERIOD]
        if low and state.flag[at.STARTED, e] and not state.flag[at.KNOWN, e]:
            demand[e] = 1
    state.tally[at.COVER_LEFT] = minimum_flow(graph, demand, state.number[at.LEFT], cut)
