"""Static max-coverage: a minimum policy cover per period, played on the odd episodes (appendix on algorithms).

When the period changes, every arc active then with fewer than k visits demands one visit, an integer minimum flow
over the FULL graph meets the demands, and its paths, a smallest set of policies that visits them all, are played one by
one on odd episodes. Even episodes play max-diameter. If the cover runs out while the period lasts, or once options
were excluded, the greedy rule of max-coverage takes over. Each path follows the arc with most flow left; ties: lowest
arc.

The flow is found by `renew`, outside the loop of episodes: `play` stops and asks for it.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Graph, Layers
from surepath.kernels.flow.minimum import minimum_flow
from surepath.kernels.jit import hot_kernel, inner_kernel, kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.sampling import coverage
from surepath.learners.per_arc.state import Rules, State

_cover = coverage.cover


@kernel
def renew(graph: Graph, state: State) -> None:
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


@inner_kernel
def next_of_cover(graph: Layers, state: State) -> None:
    """Write the next path of the cover into the row PATH."""
    left, node = state.number[at.LEFT], np.uint32(0)
    for h in range(state.path.shape[1]):
        chosen = graph.first[node]
        for e in range(chosen + 1, graph.first[node + 1]):
            if left[e] > left[chosen]:
                chosen = e
        state.path[at.PATH, h] = chosen
        node = graph.target[chosen]


@hot_kernel
def choose(graph: Layers, rules: Rules, state: State) -> bool:
    """Write the path to play into the row PATH, or return False: it is max-diameter's turn."""
    if state.tally[at.EPISODES] % 2 == 1:
        return False
    if state.tally[at.COVER_LEFT] > 0:
        next_of_cover(graph, state)
    else:
        _cover(graph, state, state.flag[at.STARTED])
    return True


@inner_kernel
def spend(graph: Layers, state: State) -> None:
    """After an odd episode: if it played the next path of the cover, that path is used up."""
    left, node = state.number[at.LEFT], np.uint32(0)
    for h in range(state.path.shape[1]):
        chosen = graph.first[node]
        for e in range(chosen + 1, graph.first[node + 1]):
            if left[e] > left[chosen]:
                chosen = e
        if state.path[at.PATH, h] != chosen:
            return
        node = graph.target[chosen]
    for h in range(state.path.shape[1]):
        left[state.path[at.PATH, h]] -= 1
    state.tally[at.COVER_LEFT] -= 1
