"""Taking one arc out of the active sets, and what follows from it."""

from __future__ import annotations

from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph
from surepath.engine.state import (
    ACTIVE,
    CROWDED,
    FRESH_DIAMETER,
    FRESH_VALUE,
    INFINITE,
    LOW,
    PERIOD,
    UNSEEN_ACTIVE,
    Plan,
    State,
)


@bare_kernel
def remove(graph: Graph, plan: Plan, state: State, e: int) -> int:
    """Make arc e inactive; 0 when it must stay because it is the last of its state and `keep_last` is on."""
    node, tally = graph.source[e], state.tally
    if plan.keep_last == 1 and state.degree[node] == 1:
        return 0
    state.active[e] = False
    state.degree[node] -= 1
    if state.degree[node] == 1:
        tally[CROWDED] -= 1
    tally[ACTIVE] -= 1
    if not state.known[e]:
        if state.visits[e] < tally[PERIOD]:
            tally[LOW] -= 1
        if state.visits[e] == 0:
            tally[UNSEEN_ACTIVE] -= 1
    if state.infinite[e] > 0:
        state.infinite[e] = 1
    return 1


@bare_kernel
def refresh_passable(graph: Graph, state: State) -> None:
    """passable = arcs on a path of some active policy: active arcs, or all arcs of a state where none is active."""
    first, target, reached = graph.first, graph.target, state.scratch
    nodes, infinite = len(first) - 1, 0
    reached[:] = 0.0
    reached[0] = 1.0
    for i in range(nodes):
        for e in range(first[i], first[i + 1]):
            ok = reached[i] == 1.0 and (state.active[e] or state.degree[i] == 0)
            state.passable[e] = ok
            if ok:
                reached[target[e]] = 1.0
                if state.infinite[e] > 0:
                    infinite += 1
    state.tally[INFINITE] = infinite
    state.tally[FRESH_VALUE] = 0
    state.tally[FRESH_DIAMETER] = 0
