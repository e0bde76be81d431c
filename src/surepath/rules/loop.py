"""A whole run compiled (choose, draw, absorb, test, until every epsilon is settled), and its single steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import FloatArray, IntArray
from surepath.engine._jit import bare_kernel, inner_kernel
from surepath.engine.arrays import Layers, Reality
from surepath.engine.draw import draw_more, draw_slowly
from surepath.engine.state import (
    ADVICE,
    COVER_STALE,
    EPISODES,
    GAIN,
    LEFT_AHEAD,
    LOW,
    N_ACTIVE,
    PATH,
    PERIOD,
    SETTLED,
    Plan,
    State,
)
from surepath.model.rewards import GAUSSIAN
from surepath.rules import sampling
from surepath.rules.elimination import drop_marked, is_due
from surepath.rules.layout import set_up
from surepath.rules.recommendation import certified_gap
from surepath.rules.sampling import STATIC_MAX_COVERAGE
from surepath.rules.sprint import may_sprint, sprint
from surepath.rules.steps import conclude, prepare, roll_period, take_in
from surepath.rules.stopping import BUDGET, GO_ON, verdict

_choose = sampling.choose

# What `play` can be asked for.
ASK, TELL, TEST, SET_UP, ADVISE, DROP, RUN, FINISH = range(8)

# What it answers when static max-coverage must find a cover first; see `covered.py`.
NEEDS_COVER = -2.0


class Record(NamedTuple):
    """Where a run writes what it found, one entry per epsilon, largest first."""

    tau: IntArray  # [E]
    reason: IntArray  # [E]
    path: IntArray  # [E, H]
    eliminated: IntArray  # [E]
    gap: FloatArray  # [E]


def new_record(epsilons: int, horizon: int) -> Record:
    """An empty record."""
    return Record(
        np.zeros(epsilons, dtype=np.int64),
        np.zeros(epsilons, dtype=np.int64),
        np.zeros((epsilons, horizon), dtype=np.int64),
        np.zeros(epsilons, dtype=np.int64),
        np.zeros(epsilons),
    )


@inner_kernel
def settle(graph: Layers, plan: Plan, state: State, record: Record, reason: np.int64) -> None:
    """Note the answer for the next epsilon."""
    at = state.tally[SETTLED]
    proven = certified_gap(graph, plan, state)
    record.tau[at] = state.tally[EPISODES]
    record.reason[at] = reason
    for h in range(state.path.shape[1]):
        record.path[at, h] = state.path[ADVICE, h]
    record.eliminated[at] = state.arc.shape[1] - state.tally[N_ACTIVE]
    record.gap[at] = proven
    state.tally[SETTLED] += 1


@bare_kernel
def play(
    graph: Layers,
    plan: Plan,
    state: State,
    reality: Reality,
    rng: np.random.Generator,
    task: int,
    limit: int,
    epsilons: FloatArray,
    record: Record,
) -> float:
    """The one way in: a whole run, or one step of it.

    SET_UP prepares the state. ASK leaves the path to play in PATH. TELL takes in the episode in PATH and GAIN and
    returns the verdict for epsilons[0]; TEST returns it again; DROP takes the MARKED arcs out of the active sets.
    ADVISE leaves the recommended path in ADVICE and returns the certified gap. RUN sets up if need be and plays until
    every epsilon (in decreasing order) is settled or `limit` episodes are played, and may be called again to go on;
    FINISH is RUN with what is not settled at the limit recorded as censored.

    One kernel for all of them, because each way in from Python takes seconds to compile and because so the steps
    cannot differ from the run.
    """
    tally = state.tally
    if tally[PERIOD] == 0:
        set_up(graph, plan, state)
    if task == SET_UP:
        return 0.0
    if task == ADVISE:
        return certified_gap(graph, plan, state)
    if task == DROP:
        drop_marked(graph, plan, state)
        if tally[LOW] == 0:
            roll_period(state)
        return 0.0
    while task <= TEST or (tally[EPISODES] < limit and tally[SETTLED] < len(epsilons)):
        if task >= RUN and may_sprint(plan, state):
            if not sprint(graph, plan, state, reality, rng, limit, epsilons[tally[SETTLED]]):
                continue
            conclude(graph, plan, state, is_due(plan, state), np.bool_(False))
        elif task != TEST:
            if task != TELL:
                if plan.sampling == STATIC_MAX_COVERAGE and tally[COVER_STALE] == 1:
                    return NEEDS_COVER
                _choose(graph, plan, state)
            if task == ASK:
                return 0.0
            if task >= RUN:
                for h in range(state.path.shape[1]):
                    e = np.uint64(state.path[PATH, h])
                    if reality.plain == 1 and reality.kind[e] == GAUSSIAN:
                        if tally[LEFT_AHEAD] == 0:
                            draw_more(state, rng)
                        z = state.ahead[len(state.ahead) - tally[LEFT_AHEAD]]
                        tally[LEFT_AHEAD] -= 1
                        state.stage[GAIN, h] = reality.sign * (reality.a[e] + reality.b[e] * z)
                    else:
                        state.stage[GAIN, h] = draw_slowly(reality, e, rng)
            tally[EPISODES] += 1
            due, marked = prepare(graph, plan, state)
            take_in(graph, plan, state)
            conclude(graph, plan, state, due, marked)
        while True:
            reason = verdict(graph, plan, state, epsilons[tally[SETTLED]])
            if task <= TEST:
                return float(reason)
            if reason == GO_ON:
                break
            settle(graph, plan, state, record, np.int64(reason))
            if tally[SETTLED] == len(epsilons):
                break
    while task == FINISH and tally[SETTLED] < len(epsilons):
        settle(graph, plan, state, record, np.int64(BUDGET))
    return 0.0
