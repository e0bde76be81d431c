"""Hold what a compiled learner needs: its rules (numbers that never change) and its state (arrays it writes).

Arrays of one shape are rows of one table, so that a state is a dozen arrays and not thirty: kernels take less time to
compile and to call. Rows and places have names, listed here once and read as `at.ACTIVE` after
`from surepath.learners.per_arc import state as at`. `new_state` is the only place that builds the arrays. Everything
is turned so that larger is better.

Infinities. An unvisited arc has width +infinity; in the tables it is written BIG, a power of two so large that finite
parts vanish beside it and so exact that sums of it count arcs. An arc that no active policy can use has weight -inf in
the rows WIDTH and UPPER. So +inf never occurs, and -inf + BIG is -inf: nothing can become NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.kernels.sweeps import Layers

BIG = 2.0**1000
HALF_BIG = 2.0**999

# Rows of State.arc, float [N_ARC, N].
SUMS, SIGMA, WIDTH, UPPER, LOWER, TOP, TOP_SEEN, LOWER_SEEN, ORIGIN, CENTRE, BASE = range(11)
N_ARC = 11
# SUMS: of gain - ORIGIN.  CENTRE: ORIGIN once visited, the gain where known.  BASE: CENTRE (0 where unvisited) less
# the reference of the stage: bounds are made of the mean BASE + SUMS / visits (see learners/per_arc/bounds.py).
# WIDTH and UPPER: -inf where no active policy passes.  TOP: the upper bound everywhere.  LOWER: -inf where unvisited.
# TOP_SEEN, LOWER_SEEN: TOP and LOWER when the arcs were last judged (see elimination.py).

# Rows of State.number, int [3, N].
VISITS, INFINITE, FLOW_LEFT = range(3)
# INFINITE: 0 where the width is finite; H + 1 on active arcs, 1 on others.  FLOW_LEFT: flow of the cover still to play.

# Rows of State.flag, bool [6, N].
IS_KNOWN, ACTIVE, PASSABLE, STARTED, MARKED, APART = range(6)
# PASSABLE: on a path of an active policy.  STARTED: active when the period began.  MARKED: to go by the value rule.
# APART: known, or with an origin or a base that is not 0.

# Rows of State.node, float [7, n_nodes + 1]: largest value from a node to the sink (FROM_START: from the start to it).
BEST, FROM_START, HIGHEST, FLOOR, SPREAD, SCRATCH, SCRATCH_TIE = range(7)
# BEST, FROM_START: upper, active policies.  HIGHEST: upper, all.  FLOOR: lower, all.  SPREAD: widths, active.
# SCRATCH is whatever the kernel at work needs; SCRATCH_TIE counts the infinities in it.


# Rows of State.path, int [2, H], and of State.stage, float [4, H].
PATH, ADVICE = range(2)
GAIN, FALLEN, RISEN, REFERENCE = range(4)
# FALLEN, RISEN: most that an upper bound fell, a lower bound rose since arcs were judged.
# REFERENCE: what bounds of the stage are relative to; infinite while there is nothing to refer to.

# Places in State.tally, int.
EPISODES = 0  # t, episodes absorbed
PERIOD = 1  # k of the current period; 0 before `set_up`, -1 when nobody needs it
LOW = 2  # active arcs to learn with fewer than k visits
UNSEEN = 3  # arcs to learn that were never visited
UNSEEN_ACTIVE = 4  # of these, the active ones
PASSABLE_INFINITE = 5  # passable arcs of infinite width
N_ACTIVE = 6  # active arcs
CROWDED = 7  # nodes with two active arcs or more
FRESH_FLOOR = 8  # 1 when the row FLOOR belongs to the current statistics
FRESH_BEST = 9
FRESH_SPREAD = 10
CHECKED = 11  # 1 when the stopping rule is due after this episode
COVER_LEFT = 12  # paths of this period's cover still to play
COVER_STALE = 13  # 1 when the period's cover is still to be found
SETTLED = 14  # how many epsilons are settled
LEFT_AHEAD = 15  # normal numbers drawn ahead and not used yet: the last so many of State.ahead
FRESH_CLEAR = 16  # 1 when HIGHEST and the place CLEAR belong to the current statistics and active sets
RUN_NUMBER = 17  # which run of the record is played, from 0
N_TALLY = 18

# Places in State.real, float.
USED = 0  # how far bounds can have closed in since arcs were judged
RETURN_SLACK = 1  # nothing can go by the return rule while USED stays below
CLEAR = 2  # least by which an active arc clears the lower value of its state
LIFTED = 3  # how far lower values can have risen since arcs were judged
FLOOR_SEEN = 4  # largest lower value then
GUARD = 5  # rounding allowance
N_REAL = 6


# Values of Rules.periods. With an elimination rule written in Python a period ends after its eliminations.
NO_PERIODS, PERIODS, PERIODS_AFTER_DROP = range(3)


class Rules(NamedTuple):
    """Hold a learner's choices as plain numbers: kernels dispatch on these integers."""

    sampling: int
    schedule: int
    every: int  # episodes between eliminations, for the schedule that counts
    stopping: int
    arcs: float  # N in the width
    delta: float
    cap: float  # largest width, finite for that of the authors' code
    authors: int  # 1: the habits of the authors' code, the preset `experiment`
    by_return: int = 0  # 1: the return-gap elimination rule is on
    by_value: int = 0  # 1: the value-based elimination rule is on
    least_played: int = 0  # 1: ties go to the least played action, else to the lowest arc
    periods: int = NO_PERIODS  # whether the sampling rule or the schedule needs to know the period


class State(NamedTuple):
    """Hold all arrays of one run; rows and places are named above."""

    arc: FloatArray  # [N_ARC, N]
    number: IntArray  # [3, N]
    flag: BoolArray  # [6, N]
    node: FloatArray  # [7, n_nodes + 1]
    degree: IntArray  # [n_nodes] active arcs of each node
    path: IntArray  # [2, H]
    stage: FloatArray  # [4, H]
    tally: IntArray  # [N_TALLY]
    real: FloatArray  # [N_REAL]
    ahead: FloatArray  # standard normal numbers drawn ahead
    table: FloatArray  # base width by number of visits


def new_state(
    graph: Layers, horizon: int, sigma: FloatArray, known: BoolArray, known_gain: FloatArray, table: FloatArray
) -> State:
    """Allocate the state of a learner that has seen nothing; `set_up` fills in what follows from the graph."""
    n, nodes = len(graph.target), len(graph.first) - 1
    state = State(
        arc=np.zeros((N_ARC, n)),
        number=np.zeros((3, n), dtype=np.int64),
        flag=np.zeros((6, n), dtype=np.bool_),
        node=np.zeros((7, nodes + 1)),
        degree=np.zeros(nodes, dtype=np.int64),
        path=np.zeros((2, horizon), dtype=np.int64),
        stage=np.zeros((4, horizon)),
        tally=np.zeros(N_TALLY, dtype=np.int64),
        real=np.zeros(N_REAL),
        ahead=np.zeros(max(128, 4 * horizon)),
        table=table,
    )
    state.arc[SIGMA] = sigma
    state.flag[IS_KNOWN] = known
    state.arc[CENTRE] = known_gain
    return state


def copies(state: State) -> State:
    """Copy a state; the table of widths never changes and is shared."""
    return State._make([*(array.copy() for array in state[:-1]), state.table])


def restore(state: State, before: State) -> None:
    """Write the arrays of an earlier copy back into a state, in place."""
    for array, old in zip(state[:-1], before[:-1], strict=True):
        array[...] = old
