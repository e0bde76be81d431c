"""A whole run compiled (choose, draw, absorb, test, until every epsilon is settled), and its single steps."""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Layers, Reality
from surepath.kernels.jit import bare_kernel, inner_kernel
from surepath.learners import tasks
from surepath.learners.per_arc import sampling
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.draw_ahead import draw_more, draw_slowly
from surepath.learners.per_arc.elimination import drop_marked, is_due
from surepath.learners.per_arc.episode import conclude, prepare, roll_period, take_in
from surepath.learners.per_arc.layout import set_up
from surepath.learners.per_arc.recommendation import certified_gap
from surepath.learners.per_arc.sampling import STATIC_MAX_COVERAGE
from surepath.learners.per_arc.sprint import may_sprint, sprint
from surepath.learners.per_arc.state import Rules, State
from surepath.learners.per_arc.stopping import verdict
from surepath.learners.record import BUDGET, GO_ON, RunRecord
from surepath.model.rewards import GAUSSIAN

_choose = sampling.choose

# What `play` answers when static max-coverage must find a cover first; see `run_with_covers.py`.
NEEDS_COVER = -2.0


@inner_kernel
def settle(graph: Layers, rules: Rules, state: State, record: RunRecord, reason: np.int64) -> None:
    """Record the answer for the next epsilon."""
    place = state.tally[at.SETTLED]
    proven = certified_gap(graph, rules, state)
    record.tau[place] = state.tally[at.EPISODES]
    record.reason[place] = reason
    for h in range(state.path.shape[1]):
        record.path[place, h] = state.path[at.ADVICE, h]
    record.eliminated[place] = state.arc.shape[1] - state.tally[at.N_ACTIVE]
    record.gap[place] = proven
    state.tally[at.SETTLED] += 1


@bare_kernel
def play(
    graph: Layers,
    rules: Rules,
    state: State,
    reality: Reality,
    rng: np.random.Generator,
    task: int,
    limit: int,
    epsilons: FloatArray,
    record: RunRecord,
) -> float:
    """Play a whole run, or one step of it: the one entry point from Python.

    SET_UP prepares the state. ASK leaves the path to play in PATH. TELL takes in the episode in PATH and GAIN and
    returns the verdict for epsilons[0]; TEST returns it again; DROP takes the MARKED arcs out of the active sets.
    ADVISE leaves the recommended path in ADVICE and returns the certified gap. RUN sets up if need be and plays until
    every epsilon (in decreasing order) is settled or `limit` episodes are played, and may be called again to go on;
    FINISH is RUN with what is not settled at the limit recorded as censored.

    One kernel for all of them, because each entry point takes seconds to compile and because so the steps
    cannot differ from the run.
    """
    tally = state.tally
    if tally[at.PERIOD] == 0:
        set_up(graph, rules, state)
    if task == tasks.SET_UP:
        return 0.0
    if task == tasks.ADVISE:
        return certified_gap(graph, rules, state)
    if task == tasks.DROP:
        drop_marked(graph, rules, state)
        if tally[at.LOW] == 0:
            roll_period(state)
        return 0.0
    while task <= tasks.TEST or (tally[at.EPISODES] < limit and tally[at.SETTLED] < len(epsilons)):
        if task >= tasks.RUN and may_sprint(rules, state):
            if not sprint(graph, rules, state, reality, rng, limit, epsilons[tally[at.SETTLED]]):
                continue
            conclude(graph, rules, state, is_due(rules, state), np.bool_(False))
        elif task != tasks.TEST:
            if task != tasks.TELL:
                if rules.sampling == STATIC_MAX_COVERAGE and tally[at.COVER_STALE] == 1:
                    return NEEDS_COVER
                _choose(graph, rules, state)
            if task == tasks.ASK:
                return 0.0
            if task >= tasks.RUN:
                for h in range(state.path.shape[1]):
                    e = np.uint64(state.path[at.PATH, h])
                    if reality.plain == 1 and reality.kind[e] == GAUSSIAN:
                        if tally[at.LEFT_AHEAD] == 0:
                            draw_more(state, rng)
                        z = state.ahead[len(state.ahead) - tally[at.LEFT_AHEAD]]
                        tally[at.LEFT_AHEAD] -= 1
                        state.stage[at.GAIN, h] = reality.sign * (reality.a[e] + reality.b[e] * z)
                    else:
                        state.stage[at.GAIN, h] = draw_slowly(reality, e, rng)
            tally[at.EPISODES] += 1
            due, marked = prepare(graph, rules, state)
            take_in(graph, rules, state)
            conclude(graph, rules, state, due, marked)
        while True:
            reason = verdict(graph, rules, state, epsilons[tally[at.SETTLED]])
            if task <= tasks.TEST:
                return float(reason)
            if reason == GO_ON:
                break
            settle(graph, rules, state, record, np.int64(reason))
            if tally[at.SETTLED] == len(epsilons):
                break
    while task == tasks.FINISH and tally[at.SETTLED] < len(epsilons):
        settle(graph, rules, state, record, np.int64(BUDGET))
    return 0.0
