"""Taking one arc out of the active sets, and what follows from it."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import inner_kernel
from surepath.learners.per_arc.cached_values import width_of
from surepath.learners.per_arc.state import (
    ACTIVE,
    CLOSED,
    CROWDED,
    FRESH_BEST,
    FRESH_CLEAR,
    FRESH_SPREAD,
    INFINITE,
    KNOWN,
    LOW,
    N_ACTIVE,
    PASSABLE,
    PASSABLE_INFINITE,
    PERIOD,
    SCRATCH,
    TOP,
    UNSEEN_ACTIVE,
    UPPER,
    VISITS,
    WIDTH,
    Rules,
    State,
)


@inner_kernel
def remove(rules: Rules, state: State, node: int, e: int) -> int:
    """Make arc e of this node inactive; 0 when it stays because `keep_last` is on and it is the last of its state."""
    degree, tally = state.degree, state.tally
    if rules.keep_last == 1 and degree[node] == 1:
        return 0
    state.flag[ACTIVE, e] = False
    degree[node] -= 1
    if degree[node] == 1:
        tally[CROWDED] -= 1
    tally[N_ACTIVE] -= 1
    tally[FRESH_CLEAR] = 0
    if not state.flag[KNOWN, e]:
        if state.number[VISITS, e] < tally[PERIOD]:
            tally[LOW] -= 1
        if state.number[VISITS, e] == 0:
            tally[UNSEEN_ACTIVE] -= 1
    if state.number[INFINITE, e] > 0:
        state.number[INFINITE, e] = 1
    return 1


@inner_kernel
def refresh_passable(graph: Layers, rules: Rules, state: State) -> None:
    """PASSABLE = arcs on a path of some active policy: active arcs, or all arcs of a state where none is active."""
    first, target, reached = graph.first, graph.target, state.node[SCRATCH]
    arc, nodes, infinite = state.arc, len(first) - 1, 0
    for i in range(1, nodes + 1):
        reached[i] = 0.0
    reached[0] = 1.0
    for i in range(nodes):
        for e in range(first[i], first[i + 1]):
            ok = reached[i] == 1.0 and (state.flag[ACTIVE, e] or state.degree[i] == 0) and not state.flag[CLOSED, e]
            if ok:
                reached[target[e]] = 1.0
            if state.flag[PASSABLE, e] and not ok:
                arc[WIDTH, e] = -np.inf
                arc[UPPER, e] = -np.inf
            elif ok and not state.flag[PASSABLE, e]:
                arc[UPPER, e] = arc[TOP, e]
                arc[WIDTH, e] = width_of(rules, state, e)
            state.flag[PASSABLE, e] = ok
            if ok and state.number[INFINITE, e] > 0:
                infinite += 1
    state.tally[PASSABLE_INFINITE] = infinite
    state.tally[FRESH_BEST] = 0
    state.tally[FRESH_SPREAD] = 0
