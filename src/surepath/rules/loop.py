"""A whole run compiled: choose, draw, absorb, test, until every epsilon is settled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import FloatArray, IntArray
from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph, Reality
from surepath.engine.draw import draw
from surepath.engine.state import ACTIVE, CHECKED, EPISODES, EPSILON_NEXT, Plan, State
from surepath.rules.recommendation import certified_gap
from surepath.rules.sampling import choose
from surepath.rules.steps import absorb, is_close, is_single
from surepath.rules.stopping import gap

# Why a run ended, as in learners.base.STOP_REASONS.
BUDGET, GAP, SINGLE = range(3)


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


@bare_kernel
def settle(graph: Graph, plan: Plan, state: State, record: Record, reason: int) -> None:
    """Note the answer for the next epsilon."""
    at = state.tally[EPSILON_NEXT]
    proven = certified_gap(graph, plan, state)
    record.tau[at] = state.tally[EPISODES]
    record.reason[at] = reason
    for h in range(len(state.advice)):
        record.path[at, h] = state.advice[h]
    record.eliminated[at] = len(state.active) - state.tally[ACTIVE]
    record.gap[at] = 0.0 if reason == SINGLE else proven
    state.tally[EPSILON_NEXT] += 1


@bare_kernel
def test(graph: Graph, plan: Plan, state: State, epsilons: FloatArray, record: Record) -> None:
    """Line 9 of Algorithm 1 for every epsilon not settled yet; they stand in decreasing order."""
    if state.tally[CHECKED] == 0:
        return
    size = gap(graph, plan, state)
    while state.tally[EPSILON_NEXT] < len(epsilons) and is_close(plan, size, epsilons[state.tally[EPSILON_NEXT]]):
        settle(graph, plan, state, record, GAP)
    if is_single(plan, state):
        while state.tally[EPSILON_NEXT] < len(epsilons):
            settle(graph, plan, state, record, SINGLE)


@bare_kernel
def run(
    graph: Graph,
    plan: Plan,
    state: State,
    reality: Reality,
    rng: np.random.Generator,
    limit: int,
    epsilons: FloatArray,
    record: Record,
) -> None:
    """Play until every epsilon is settled or `limit` episodes are played; call again to go on."""
    while state.tally[EPISODES] < limit and state.tally[EPSILON_NEXT] < len(epsilons):
        choose(graph, plan, state)
        for h in range(len(state.path)):
            state.gains[h] = draw(reality, state.path[h], rng)
        absorb(graph, plan, state)
        test(graph, plan, state, epsilons, record)


@bare_kernel
def close(graph: Graph, plan: Plan, state: State, epsilons: FloatArray, record: Record) -> None:
    """The budget is spent: what is not settled is recorded as censored."""
    while state.tally[EPSILON_NEXT] < len(epsilons):
        settle(graph, plan, state, record, BUDGET)
