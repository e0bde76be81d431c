"""Changes of a learner between its episodes: a state is loaded, arcs are excluded, plays are under way.

A kernel of its own, compiled only when one of these happens, so that `play` stays as small as a run needs it.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, pruned_kernel
from surepath.learners import tasks
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.elimination import eliminate, mark
from surepath.learners.per_arc.episode import roll_period, spend_cover, take_in
from surepath.learners.per_arc.prepare_state import lay_out
from surepath.learners.per_arc.sampling import STATIC_MAX_COVERAGE
from surepath.learners.per_arc.state import NO_PERIODS, Rules, State


@folded_kernel
def revive(graph: Layers, rules: Rules, state: State, full: int | None) -> None:
    """Make all arcs but those marked CLOSED active again and eliminate anew by what has been seen."""
    tally = state.tally
    for e in range(len(graph.target)):
        state.flag[at.ACTIVE, e] = not state.flag[at.CLOSED, e]
    tally[at.COVER_LEFT] = 0
    lay_out(graph, rules, state)
    if rules.periods != NO_PERIODS:
        roll_period(tally, state.number[at.VISITS], state.flag)
    eliminate(graph, rules, state, np.bool_(mark(graph, rules, state, full)), np.bool_(True), full)
    if tally[at.LOW] == 0:
        roll_period(tally, state.number[at.VISITS], state.flag)
    tally[at.CHECKED] = 1


@folded_kernel
def pretend(graph: Layers, rules: Rules, state: State, full: int | None) -> None:
    """Count the row PATH as if it had been played to its end with the means seen so far; nothing is eliminated."""
    tally, arc = state.tally, state.arc
    tally[at.PLAYED] = state.path.shape[1]
    for h in range(tally[at.PLAYED]):
        e = state.path[at.PATH, h]
        n = state.number[at.VISITS, e]
        state.stage[at.GAIN, h] = arc[at.ORIGIN, e] + arc[at.SUMS, e] / n if n > 0 else 0.0
    tally[at.EPISODES] += 1
    take_in(graph, rules, state)
    if full is not None and rules.sampling == STATIC_MAX_COVERAGE:
        spend_cover(graph, state)
    if tally[at.LOW] == 0:
        roll_period(tally, state.number[at.VISITS], state.flag)


@pruned_kernel
def perform(graph: Layers, rules: Rules, state: State, task: int, full: int | None) -> None:
    """Perform one task. REFRESH: derive what follows from a loaded state.  REVIVE, PRETEND: see `revive`, `pretend`.

    `full` as in `play`.
    """
    if task == tasks.REFRESH:
        lay_out(graph, rules, state)
    elif task == tasks.REVIVE:
        revive(graph, rules, state, full)
    else:
        pretend(graph, rules, state, full)
