"""Take one arc out of the active sets, and update what follows from it."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.arc_bounds import width_of
from surepath.learners.per_arc.state import Rules, State


@inner_kernel
def remove(rules: Rules, state: State, node: int, e: int) -> int:
    """Make arc e of this node inactive and return 1; 0 where `keep_last` keeps it, the last of its state."""
    degree, tally = state.degree, state.tally
    if rules.keep_last == 1 and degree[node] == 1:
        return 0
    state.flag[at.ACTIVE, e] = False
    degree[node] -= 1
    if degree[node] == 1:
        tally[at.CROWDED] -= 1
    tally[at.N_ACTIVE] -= 1
    tally[at.FRESH_CLEAR] = 0
    if not state.flag[at.IS_KNOWN, e]:
        if state.number[at.VISITS, e] < tally[at.PERIOD]:
            tally[at.LOW] -= 1
        if state.number[at.VISITS, e] == 0:
            tally[at.UNSEEN_ACTIVE] -= 1
    if state.number[at.INFINITE, e] > 0:
        state.number[at.INFINITE, e] = 1
    return 1


@inner_kernel
def refresh_passable(graph: Layers, rules: Rules, state: State) -> None:
    """Find the PASSABLE arcs, on a path of some active policy: active ones, or all of a state where none is active."""
    first, target, reached = graph.first, graph.target, state.node[at.SCRATCH]
    arc, nodes, infinite = state.arc, len(first) - 1, 0
    for i in range(1, nodes + 1):
        reached[i] = 0.0
    reached[0] = 1.0
    for i in range(nodes):
        for e in range(first[i], first[i + 1]):
            ok = reached[i] == 1.0 and (state.flag[at.ACTIVE, e] or state.degree[i] == 0)
            if ok:
                reached[target[e]] = 1.0
            if state.flag[at.PASSABLE, e] and not ok:
                arc[at.WIDTH, e] = -np.inf
                arc[at.UPPER, e] = -np.inf
            elif ok and not state.flag[at.PASSABLE, e]:
                arc[at.UPPER, e] = arc[at.TOP, e]
                arc[at.WIDTH, e] = width_of(rules, state, e)
            state.flag[at.PASSABLE, e] = ok
            if ok and state.number[at.INFINITE, e] > 0:
                infinite += 1
    state.tally[at.PASSABLE_INFINITE] = infinite
    state.tally[at.FRESH_BEST] = 0
    state.tally[at.FRESH_SPREAD] = 0
