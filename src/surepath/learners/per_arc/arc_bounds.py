"""The interval of an arc: its width by the visits, and where sums and bounds start to count.

Large rewards that differ little lose nothing, by two subtractions, neither of which changes a difference between paths:

origin     of an arc: its first gain. SUMS adds up gain - origin, numbers of the size of the noise, so a million gains
           near 1e9 are added without loss. Where the first gain lies within 64 sigma of 0 nothing can be lost, and
           the origin is 0: ordinary rewards are added up as they are, and equal means stay equal.
reference  of a stage: the number nearest to 0 among the centres of its arcs (origins, known gains), 0 when they lie on
           both sides. Bounds are relative to it: each path has one arc of each stage, so all values shift alike.

A reference moves only when a new arc would be further from it than from 0; then the bounds of its stage are written
again. The widths called `empirical` are made for rewards near 0 and keep the reference 0.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, hot_kernel, inner_kernel
from surepath.kernels.widths import base_width, origin_of
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import BIG, Rules, State


@hot_kernel
def arc_width(rules: Rules, state: State, e: int | np.uint64, n: int) -> float:
    """Compute the width of arc e after n >= 1 visits."""
    if n < len(state.table):
        base = state.table[np.uint64(n)]
    else:
        base = base_width(rules.widths, float(n), rules.arcs, rules.delta, rules.prior)
    return float(min(state.arc[at.SIGMA, e] * base, rules.cap))


@folded_kernel
def width_of(rules: Rules, state: State, e: int) -> float:
    """Compute the width of arc e, BIG where it is infinite."""
    if state.flag[at.IS_KNOWN, e]:
        return 0.0
    n = state.number[at.VISITS, e]
    if n > 0:
        return arc_width(rules, state, e, n)
    return BIG if rules.cap == np.inf else rules.cap


@inner_kernel
def write_bounds(rules: Rules, state: State, e: int | np.uint64) -> None:
    """Write the interval of arc e, visited or known, from its sum and its stage's reference."""
    arc, n = state.arc, state.number[at.VISITS, e]
    width, mean = 0.0, arc[at.BASE, e]
    if not state.flag[at.IS_KNOWN, e]:
        width, mean = arc_width(rules, state, e, n), arc[at.BASE, e] + arc[at.SUMS, e] / n
    arc[at.TOP, e] = mean + width
    arc[at.LOWER, e] = mean - width
    if state.flag[at.PASSABLE, e]:
        arc[at.WIDTH, e] = width
        arc[at.UPPER, e] = mean + width


@folded_kernel
def forget_measures(state: State) -> None:
    """Discard values and measures after bounds were written anew."""
    state.tally[at.FRESH_FLOOR] = 0
    state.tally[at.FRESH_CLEAR] = 0
    state.tally[at.FRESH_BEST] = 0
    state.tally[at.FRESH_SPREAD] = 0
    state.real[at.RETURN_SLACK] = -1.0
    state.real[at.VALUE_SLACK] = -np.inf
    state.real[at.FLOOR_SEEN] = np.inf


@inner_kernel
def refer(graph: Layers, rules: Rules, state: State, h: int) -> None:
    """Choose the reference of stage h anew and write the bounds of its arcs."""
    arc, known, visits = state.arc, state.flag[at.IS_KNOWN], state.number[at.VISITS]
    first, last = graph.first[graph.stage_node[h]], graph.first[graph.stage_node[h + 1]]
    low, high = np.inf, -np.inf
    for e in range(first, last):
        if known[e] or visits[e] > 0:
            low = min(low, arc[at.CENTRE, e])
            high = max(high, arc[at.CENTRE, e])
    reference = 0.0
    if rules.cap == np.inf:
        if low > high:
            reference = np.inf
        elif low > 0.0:
            reference = low
        elif high < 0.0:
            reference = high
    state.stage[at.REFERENCE, h] = reference
    for e in range(first, last):
        if known[e] or visits[e] > 0:
            arc[at.BASE, e] = arc[at.CENTRE, e] - reference
            write_bounds(rules, state, e)
            state.flag[at.APART, e] = known[e] or arc[at.ORIGIN, e] != 0.0 or arc[at.BASE, e] != 0.0
        elif reference < np.inf:
            arc[at.BASE, e] = 0.0 - reference
    forget_measures(state)


@folded_kernel
def find_origin(graph: Layers, rules: Rules, state: State, h: int, e: np.uint64, gain: float) -> None:
    """Set the origin of arc e of stage h, visited for the first time, by this gain."""
    arc = state.arc
    centre = origin_of(gain, arc[at.SIGMA, e])
    arc[at.ORIGIN, e] = centre
    arc[at.CENTRE, e] = centre
    arc[at.BASE, e] = centre - state.stage[at.REFERENCE, h]
    state.flag[at.APART, e] = centre != 0.0 or arc[at.BASE, e] != 0.0
    if abs(arc[at.BASE, e]) > abs(centre):
        refer(graph, rules, state, h)
