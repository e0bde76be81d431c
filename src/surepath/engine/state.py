"""What a compiled learner carries: its plan (numbers that never change) and its state (arrays it writes).

`new_state` is the only place that builds these arrays. Everything is turned so that larger is better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.engine._jit import bare_kernel
from surepath.engine.arrays import Graph, own

# Places in `State.tally`.
EPISODES = 0  # t, episodes absorbed
PERIOD = 1  # k of the current period
LOW = 2  # active arcs to learn with fewer than k visits
UNSEEN = 3  # arcs to learn that were never visited
UNSEEN_ACTIVE = 4  # of these, the active ones
INFINITE = 5  # passable arcs of infinite width
ACTIVE = 6  # active arcs
CROWDED = 7  # nodes with two active arcs or more
NEXT_TIME = 8  # next geometric elimination time
FRESH_LOW = 9  # 1 when `low` belongs to the current statistics
FRESH_DIAMETER = 10  # 1 when `spread` belongs to the current statistics and active sets
CHECKED = 11  # 1 when the stopping rule is due after this episode
COVER_SIZE = 12  # paths in the cover of this period
COVER_NEXT = 13  # the next one to play
EPSILON_NEXT = 14  # how many epsilons are settled
FRESH_VALUE = 15  # 1 when `best` belongs to the current statistics
UNBOUNDED = 16  # arcs of infinite width, passable or not
N_TALLY = 17


class Plan(NamedTuple):
    """A learner's choices as plain numbers: kernels dispatch on these integers."""

    sampling: int
    by_return: int  # 1: the return-gap elimination rule is on
    by_value: int  # 1: the value-based elimination rule is on
    schedule: int
    every: int  # episodes between eliminations, for the schedule that counts
    growth: float  # ratio of the geometric schedule
    sequential: int  # 1: value-based eliminations take effect before the return rule is judged
    keep_last: int  # 1: the last active action of a state never goes
    wait: int  # 1: nothing is eliminated before every active arc has a visit
    stopping: int
    strict: int  # 1: stop below epsilon, not at it
    at_eliminations: int  # 1: the stopping rule is tested at elimination times only
    single: int  # 1: also stop when every state has at most one active action
    recommendation: int
    widths_first: int  # 1: the optimistic rule plays on widths alone while some arc is unvisited
    least_played: int  # 1: ties go to the least played action, else to the lowest arc
    widths: int
    arcs: float  # N or M in the width
    delta: float
    prior: float  # c of the mixture width
    cap: float  # largest width, finite for the empirical one
    seed: int  # key of the uniform rule


class State(NamedTuple):
    """All arrays of one run."""

    sigma: FloatArray  # [N]
    known: BoolArray  # [N] reward known in advance
    table: FloatArray  # base width by number of visits
    visits: IntArray  # [N]
    sums: FloatArray  # [N]
    width: FloatArray  # [N] 0 where infinite, see `infinite`
    upper: FloatArray  # [N] mean + width
    lower: FloatArray  # [N] mean - width
    infinite: IntArray  # [N] 0 finite width; else its weight when infinities are counted: active arcs outweigh others
    finite: BoolArray  # [N] width is finite
    active: BoolArray  # [N]
    passable: BoolArray  # [N] on some path of an active policy
    started: BoolArray  # [N] active when the current period began
    marked: BoolArray  # [N] to go by the value rule
    everything: BoolArray  # [N] True
    degree: IntArray  # [n_nodes] active arcs of each node
    best: FloatArray  # [n_nodes + 1] largest upper value, active policies
    best_count: IntArray  # [n_nodes + 1] infinities in it
    reach: FloatArray  # [n_nodes + 1] largest upper value from the start to the node, active policies
    reach_count: IntArray  # [n_nodes + 1]
    top: FloatArray  # [n_nodes + 1] largest upper value, all policies
    top_count: IntArray  # [n_nodes + 1]
    low: FloatArray  # [n_nodes + 1] largest lower value, all policies
    spread: FloatArray  # [n_nodes + 1] largest sum of widths, active policies
    spread_count: IntArray  # [n_nodes + 1]
    scratch: FloatArray  # [n_nodes + 1]
    scratch_count: IntArray  # [n_nodes + 1]
    path: IntArray  # [H] path chosen
    gains: FloatArray  # [H] its rewards
    advice: IntArray  # [H] path recommended
    cover: IntArray  # [paths, H] cover of this period, static max-coverage only
    tally: IntArray  # [N_TALLY]


def new_state(
    graph: Graph, plan: Plan, sigma: FloatArray, known: BoolArray, known_gain: FloatArray, table: FloatArray
) -> State:
    """A state before the first episode."""
    n, nodes, horizon = len(graph.target), len(graph.first) - 1, len(graph.stage_node) - 1

    def floats(size: int) -> FloatArray:
        return np.zeros(size)

    def ints(size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    state = State(
        sigma=own(sigma, np.float64),
        known=own(known, np.bool_),
        table=table,
        visits=ints(n),
        sums=floats(n),
        width=floats(n),
        upper=floats(n),
        lower=floats(n),
        infinite=ints(n),
        finite=np.ones(n, dtype=np.bool_),
        active=np.ones(n, dtype=np.bool_),
        passable=np.ones(n, dtype=np.bool_),
        started=np.ones(n, dtype=np.bool_),
        marked=np.zeros(n, dtype=np.bool_),
        everything=np.ones(n, dtype=np.bool_),
        degree=ints(nodes),
        best=floats(nodes + 1),
        best_count=ints(nodes + 1),
        reach=floats(nodes + 1),
        reach_count=ints(nodes + 1),
        top=floats(nodes + 1),
        top_count=ints(nodes + 1),
        low=floats(nodes + 1),
        spread=floats(nodes + 1),
        spread_count=ints(nodes + 1),
        scratch=floats(nodes + 1),
        scratch_count=ints(nodes + 1),
        path=ints(horizon),
        gains=floats(horizon),
        advice=ints(horizon),
        cover=np.zeros((1, horizon), dtype=np.int64),
        tally=ints(N_TALLY),
    )
    set_up(graph, plan, state, known_gain)
    return state


@bare_kernel
def set_up(graph: Graph, plan: Plan, state: State, known_gain: FloatArray) -> None:
    """Fill the arrays of a run that has seen nothing."""
    nodes, horizon = len(graph.first) - 1, len(graph.stage_node) - 1
    tally = state.tally
    unseen = 0
    for e in range(len(graph.target)):
        if state.known[e]:
            state.upper[e] = known_gain[e]
            state.lower[e] = known_gain[e]
            continue
        unseen += 1
        if plan.cap < np.inf:
            state.width[e] = plan.cap
            state.upper[e] = plan.cap
            state.lower[e] = -plan.cap
        else:
            state.infinite[e] = horizon + 1
            state.finite[e] = False
            tally[INFINITE] += 1
            tally[UNBOUNDED] += 1
    tally[PERIOD] = 1
    tally[LOW] = unseen
    tally[UNSEEN] = unseen
    tally[UNSEEN_ACTIVE] = unseen
    tally[ACTIVE] = len(graph.target)
    tally[NEXT_TIME] = 1
    for i in range(nodes):
        state.degree[i] = graph.first[i + 1] - graph.first[i]
        if state.degree[i] > 1:
            tally[CROWDED] += 1
