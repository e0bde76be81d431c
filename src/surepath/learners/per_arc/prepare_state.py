"""Prepare a state before the first episode."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.arc_bounds import forget_measures, refer, write_bounds
from surepath.learners.per_arc.elimination.remove import refresh_passable
from surepath.learners.per_arc.state import BIG, NO_PERIODS, Rules, State


@inner_kernel
def lay_out(graph: Layers, rules: Rules, state: State) -> None:
    """Compute everything that follows from visits, sums, bases, active arcs and the period."""
    arc, flag, number = state.arc, state.flag, state.number
    tally, horizon = state.tally, state.path.shape[1]
    unseen, unseen_active, low = 0, 0, 0
    active, crowded = 0, 0
    for i in range(len(graph.first) - 1):
        degree = 0
        for e in range(graph.first[i], graph.first[i + 1]):
            flag[at.PASSABLE, e] = False
            arc[at.WIDTH, e] = -np.inf
            arc[at.UPPER, e] = -np.inf
            arc[at.TOP, e] = -np.inf
            arc[at.LOWER, e] = -np.inf
            number[at.INFINITE, e] = 0
            flag[at.APART, e] = flag[at.IS_KNOWN, e] or arc[at.ORIGIN, e] != 0.0 or arc[at.BASE, e] != 0.0
            degree += 1 if flag[at.ACTIVE, e] else 0
            if flag[at.IS_KNOWN, e] or number[at.VISITS, e] > 0:
                write_bounds(rules, state, e)
            else:
                unseen += 1
                unseen_active += 1 if flag[at.ACTIVE, e] else 0
                arc[at.TOP, e] = min(BIG, rules.cap)
                if rules.cap < np.inf:
                    arc[at.LOWER, e] = -rules.cap
                else:
                    number[at.INFINITE, e] = horizon + 1 if flag[at.ACTIVE, e] else 1
            if flag[at.ACTIVE, e] and not flag[at.IS_KNOWN, e] and number[at.VISITS, e] < tally[at.PERIOD]:
                low += 1
        state.degree[i] = degree
        active += degree
        crowded += 1 if degree > 1 else 0
    tally[at.UNSEEN] = unseen
    tally[at.UNSEEN_ACTIVE] = unseen_active
    tally[at.N_ACTIVE] = active
    tally[at.CROWDED] = crowded
    tally[at.LOW] = low if rules.periods != NO_PERIODS else 1  # then no period ever ends
    refresh_passable(graph, rules, state)
    forget_measures(state)


@folded_kernel
def set_up(graph: Layers, rules: Rules, state: State) -> None:
    """Prepare a run, whatever was played with these arrays before; CENTRE holds the gains of known arcs."""
    tally, arc = state.tally, state.arc
    flag, stage = state.flag, state.stage
    for e in range(len(graph.target)):
        flag[at.ACTIVE, e] = True
        flag[at.STARTED, e] = True
        flag[at.MARKED, e] = False
        state.number[at.VISITS, e] = 0
        state.number[at.FLOW_LEFT, e] = 0
        arc[at.SUMS, e] = 0.0
        arc[at.ORIGIN, e] = 0.0
        arc[at.BASE, e] = 0.0
        arc[at.CENTRE, e] = arc[at.CENTRE, e] if flag[at.IS_KNOWN, e] else 0.0
        arc[at.TOP_SEEN, e] = 0.0
        arc[at.LOWER_SEEN, e] = 0.0
    tally[at.EPISODES] = 0
    tally[at.CHECKED] = 0
    tally[at.COVER_LEFT] = 0
    tally[at.SETTLED] = 0
    tally[at.MEASURED] = 0
    tally[at.EAGER] = 0
    state.real[at.USED] = 0.0
    state.real[at.LIFTED] = 0.0
    state.real[at.GUARD] = 0.0
    tally[at.PERIOD] = 1 if rules.periods != NO_PERIODS else -1  # nothing is below -1 visits
    tally[at.NEXT_TIME] = 1
    tally[at.COVER_STALE] = 1
    for h in range(state.path.shape[1]):
        stage[at.FALLEN, h] = 0.0
        stage[at.RISEN, h] = 0.0
        stage[at.CLEAR_SEEN, h] = 0.0
        refer(graph, rules, state, h)
    lay_out(graph, rules, state)
