"""One episode of a learner made of rules: take the rewards in, update the bounds, begin periods."""

from __future__ import annotations

import numpy as np

from surepath._types import BoolArray, IntArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.arc_bounds import arc_width, find_origin
from surepath.learners.per_arc.covers import follow_cover
from surepath.learners.per_arc.elimination.slack import note
from surepath.learners.per_arc.state import Rules, State


@folded_kernel
def take_in(graph: Layers, rules: Rules, state: State) -> None:
    """Count the row PATH as played: sum, mean, width and interval of its arcs (line 6 of Algorithm 1)."""
    tally, arc = state.tally, state.arc
    flag, number = state.flag, state.number
    for h in range(state.path.shape[1]):
        e = np.uint64(state.path[at.PATH, h])
        n = number[at.VISITS, e] + 1
        number[at.VISITS, e] = n
        if flag[at.IS_KNOWN, e]:
            continue
        gain = state.stage[at.GAIN, h]
        if n == 1:
            first_visit(tally, flag, number, e)
            find_origin(graph, rules, state, h, e, gain)
        total = arc[at.SUMS, e] + (gain - arc[at.ORIGIN, e])
        arc[at.SUMS, e] = total
        width = arc_width(rules, state, e, n)
        mean = arc[at.BASE, e] + total / n
        arc[at.TOP, e] = mean + width
        arc[at.LOWER, e] = mean - width
        if flag[at.PASSABLE, e]:
            arc[at.WIDTH, e] = width
            arc[at.UPPER, e] = mean + width
        if n == tally[at.PERIOD] and flag[at.ACTIVE, e]:
            tally[at.LOW] -= 1
        note(state, h, e, mean + width, mean - width)
    tally[at.FRESH_FLOOR] = 0
    tally[at.FRESH_CLEAR] = 0
    tally[at.FRESH_BEST] = 0
    tally[at.FRESH_SPREAD] = 0


@inner_kernel
def first_visit(tally: IntArray, flag: BoolArray, number: IntArray, e: np.uint64) -> None:
    """Count an arc that is visited for the first time: its width is finite from now on."""
    tally[at.UNSEEN] -= 1
    if flag[at.ACTIVE, e]:
        tally[at.UNSEEN_ACTIVE] -= 1
    if number[at.INFINITE, e] > 0:
        number[at.INFINITE, e] = 0
        if flag[at.PASSABLE, e]:
            tally[at.PASSABLE_INFINITE] -= 1


@inner_kernel
def roll_period(tally: IntArray, visits: IntArray, flag: BoolArray) -> None:
    """Start the next period when every active arc has reached k visits: k_t = 1 + min of n^{t-1} over active arcs."""
    least, low = -1, 0
    for e in range(len(visits)):
        if flag[at.ACTIVE, e] and not flag[at.IS_KNOWN, e]:
            if least < 0 or visits[e] < least:
                least, low = visits[e], 0
            low += 1 if visits[e] == least else 0
    if least < 0:
        return
    tally[at.PERIOD] = least + 1
    tally[at.COVER_STALE] = 1
    tally[at.LOW] = low
    for e in range(len(visits)):
        flag[at.STARTED, e] = flag[at.ACTIVE, e]


@folded_kernel
def spend_cover(graph: Layers, state: State) -> None:
    """Use up a path of the cover after an odd episode."""
    tally = state.tally
    if tally[at.EPISODES] % 2 == 1 and tally[at.COVER_LEFT] > 0:
        follow_cover(graph, state, np.bool_(True))
