"""Coverage: play the policy that visits most undersampled arcs, in every episode.

    pi^t in argmax over ALL policies of sum_h 1{ (s_h, a_h) in A, n^{t-1}(s_h, a_h) < k_t },
    k_t = 1 + min of n^{t-1} over active arcs

with A the arcs active now: this is how the authors ran max-coverage. Eliminated arcs may be played on the way. Arcs
with a known reward are never undersampled. Ties: lowest arc.
"""

from __future__ import annotations

import numpy as np

from surepath._checks import BoolArray
from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import PERIOD, Plan, State


@bare_kernel
def cover(graph: Graph, state: State, judged: BoolArray) -> None:
    """Write a path with most undersampled arcs of `judged` into state.path."""
    first, target, visits, value = graph.first, graph.target, state.visits, state.scratch
    k, sink = state.tally[PERIOD], len(graph.first) - 1
    value[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            x = value[target[e]]
            if judged[e] and visits[e] < k and not state.known[e]:
                x += 1.0
            if x > best:
                best = x
        value[i] = best
    node = 0
    for h in range(len(state.path)):
        best, chosen = -1.0, -1
        for e in range(first[node], first[node + 1]):
            x = value[target[e]]
            if judged[e] and visits[e] < k and not state.known[e]:
                x += 1.0
            if x > best:
                best, chosen = x, e
        state.path[h] = chosen
        node = target[chosen]


@bare_kernel
def choose(graph: Graph, plan: Plan, state: State) -> None:
    """Write the path to play into state.path."""
    cover(graph, state, state.active)
