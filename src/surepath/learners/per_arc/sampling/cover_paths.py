"""Follow the cover of a period, a minimum flow, path by path, and take off what was played."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import State


@inner_kernel
def follow_cover(graph: Layers, state: State, spend: bool | np.bool_) -> None:
    """Write the path along most flow into the row PATH; with `spend`, take it off the flow if PATH is that path."""
    left, node = state.number[at.LEFT], np.uint32(0)
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
