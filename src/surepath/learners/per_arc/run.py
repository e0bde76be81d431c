"""A whole run compiled (choose, draw, absorb, test, until every epsilon is settled), and its single steps."""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Layers, Reality
from surepath.kernels.jit import folded_kernel, pruned_kernel
from surepath.learners import tasks
from surepath.learners.per_arc import sampling
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.draw_ahead import draw_more, draw_slowly
from surepath.learners.per_arc.elimination import eliminate, is_due, mark
from surepath.learners.per_arc.episode import roll_period, spend_cover, take_in
from surepath.learners.per_arc.prepare_state import set_up
from surepath.learners.per_arc.sampling import COVERAGE, MAX_COVERAGE, STATIC_MAX_COVERAGE
from surepath.learners.per_arc.sprint import may_sprint, sprint
from surepath.learners.per_arc.state import PERIODS_AFTER_DROP, Rules, State
from surepath.learners.per_arc.stopping import DIAMETER, certified_gap, is_close, is_exact, is_within
from surepath.learners.runs import BUDGET, GAP, GO_ON, SINGLE, RunRecord
from surepath.model.rewards import GAUSSIAN

_choose = sampling.choose

# What `play` answers when static max-coverage must find a cover first; see `run_with_covers.py`.
NEEDS_COVER = -2.0


def is_lean(rules: Rules, betas: bool) -> bool:
    """Return whether rules are those of Algorithm 1, which need a part of `play` only: `full` is then None.

    They never sprint, eliminate by value or by a rule written in Python, follow a minimum cover, play random paths or
    stop by the optimal value. Left out as well are `betas`, beta laws of rewards.
    """
    sampling = rules.sampling in (MAX_COVERAGE, COVERAGE)
    others = rules.by_value == 0 and rules.stopping == DIAMETER and rules.periods != PERIODS_AFTER_DROP
    return sampling and others and not betas


@folded_kernel
def draw_rewards(state: State, reality: Reality, rng: np.random.Generator, full: int | None) -> None:
    """Draw a reward for each arc of the row PATH into the row GAIN."""
    tally = state.tally
    for h in range(state.path.shape[1]):
        e = np.uint64(state.path[at.PATH, h])
        if reality.plain == 1 and reality.kind[e] == GAUSSIAN:
            if tally[at.LEFT_AHEAD] == 0:
                draw_more(state, rng)
            z = state.ahead[len(state.ahead) - tally[at.LEFT_AHEAD]]
            tally[at.LEFT_AHEAD] -= 1
            state.stage[at.GAIN, h] = reality.sign * (reality.a[e] + reality.b[e] * z)
        else:
            state.stage[at.GAIN, h] = draw_slowly(reality, e, rng, full)


@folded_kernel
def settle(state: State, record: RunRecord, epsilons: int, reason: np.int64, gap: float) -> None:
    """Record the answer of this run for the next of its epsilons."""
    place = state.tally[at.RUN_NUMBER] * epsilons + state.tally[at.SETTLED]
    record.tau[place] = state.tally[at.EPISODES]
    record.reason[place] = reason
    for h in range(state.path.shape[1]):
        record.path[place, h] = state.path[at.ADVICE, h]
    record.eliminated[place] = state.arc.shape[1] - state.tally[at.N_ACTIVE]
    record.gap[place] = gap
    state.tally[at.SETTLED] += 1


@pruned_kernel
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
    full: int | None,
) -> float:
    """Play a whole run, or one step of one: the one entry point from Python.

    SET_UP prepares the state. ASK leaves the path to play in PATH. TELL takes in the episode in PATH and GAIN and
    returns the verdict for epsilons[0]; TEST returns it again; DROP takes the MARKED arcs out of the active sets.
    ADVISE leaves the recommended path in ADVICE and returns the certified gap. RUN sets up if need be and plays until
    every epsilon (in decreasing order) is settled or `limit` episodes are played, and may be called again to go on;
    FINISH is RUN with what is not settled at the limit recorded as censored.

    With `full` None, where `is_lean` says so, what is not needed is not compiled.

    One kernel for all of them, because each entry point takes seconds to compile and because so the steps
    cannot differ from the run. Every larger kernel is called from one place here: the compiler copies it into each.
    """
    tally = state.tally
    running, dropping = task >= tasks.RUN, task == tasks.DROP
    while True:
        if tally[at.PERIOD] == 0:
            set_up(graph, rules, state)
        if task == tasks.SET_UP:
            return 0.0
        if running and tally[at.SETTLED] == len(epsilons):
            return 0.0
        over = running and tally[at.EPISODES] >= limit
        if over and task == tasks.RUN:
            return 0.0
        if not over and task != tasks.TEST and task != tasks.ADVISE:
            due, marked = False, dropping
            if full is not None and running and may_sprint(rules, state):
                if not sprint(graph, rules, state, reality, rng, limit, epsilons[tally[at.SETTLED]], full):
                    continue
                due = is_due(rules, state)
            elif not dropping:
                if task != tasks.TELL:
                    if full is not None and rules.sampling == STATIC_MAX_COVERAGE and tally[at.COVER_STALE] == 1:
                        return NEEDS_COVER
                    _choose(graph, rules, state, full)
                if task == tasks.ASK:
                    return 0.0
                if running:
                    draw_rewards(state, reality, rng, full)
                tally[at.EPISODES] += 1
                due = is_due(rules, state)
                marked = due and mark(graph, rules, state, full)  # with the quantities of the previous episode
                take_in(graph, rules, state)
            if due or dropping:  # line 7 of Algorithm 1
                eliminate(graph, rules, state, np.bool_(marked), np.bool_(not dropping), full)
            if full is not None and rules.sampling == STATIC_MAX_COVERAGE and not dropping:
                spend_cover(graph, state)
            if tally[at.LOW] == 0 and (dropping or rules.periods != PERIODS_AFTER_DROP):
                roll_period(tally, state.number[at.VISITS], state.flag)
            if dropping:
                return 0.0
            tally[at.CHECKED] = 1 if due or rules.at_eliminations == 0 else 0
        while tally[at.SETTLED] < len(epsilons):  # line 9: GAP, SINGLE (one action at most in every state) or GO_ON
            epsilon, reason = epsilons[tally[at.SETTLED]], BUDGET if over else GO_ON
            asked = over or task == tasks.ADVISE
            close = not asked and is_close(graph, rules, state, epsilon, full)
            single = rules.single == 1 and tally[at.CROWDED] == 0 and tally[at.CHECKED] == 1
            if asked or close or single:
                gap = certified_gap(graph, rules, state)
                if task == tasks.ADVISE:
                    return gap
                proven = close and is_within(rules, gap, epsilon)
                if close and not proven and gap < np.inf and not epsilon > 0.0:
                    proven = is_exact(graph, rules, state)
                if proven:
                    reason = GAP
                elif single and not over:
                    reason = SINGLE
                if running and reason != GO_ON:
                    settle(state, record, len(epsilons), np.int64(reason), gap)
            if not running:
                return float(reason)
            if reason == GO_ON:
                break
