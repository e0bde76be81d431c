"""Coverage: play the policy that visits most undersampled arcs, in every episode.

    pi^t in argmax over ALL policies of sum_h 1{ (s_h, a_h) in A, n^{t-1}(s_h, a_h) < k_t },
    k_t = 1 + min of n^{t-1} over active arcs

with A the arcs active now: this is how the authors ran max-coverage. Eliminated arcs may be played on the way. Arcs
with a known reward are never undersampled. Ties: lowest arc.
"""

from __future__ import annotations

import numpy as np

from surepath._types import BoolArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import hot_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import BIG, Rules, State


@hot_kernel
def lacks(state: State, judged: BoolArray, closed: bool, e: int) -> float:
    """1 where arc e is undersampled, judged on these active sets; far below 0 where it has left the graph."""
    if closed and state.flag[at.CLOSED, e]:
        return -BIG
    low = state.number[at.VISITS, e] < state.tally[at.PERIOD]
    return 1.0 if low and judged[e] and not state.flag[at.KNOWN, e] else 0.0


@hot_kernel
def cover(graph: Layers, state: State, judged: BoolArray) -> None:
    """Write a path with most undersampled arcs, judged on these active sets, into the row PATH."""
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


@hot_kernel
def choose(graph: Layers, rules: Rules, state: State) -> bool:
    """Write the path to play into the row PATH; always its own turn."""
    cover(graph, state, state.flag[at.ACTIVE])
    return True
