"""Compute widths, and the values that rules read: brought up to date on demand and kept in the state.

BEST      largest upper value over active policies; BIG or more where an infinity is in it
SPREAD    largest sum of widths over active policies; twice that of the start is the diameter
FLOOR     largest lower value over ALL policies; -inf where every path has an unvisited arc
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import Whole, folded_kernel, hot_kernel, optional_kernel
from surepath.kernels.widths import base_width
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import BIG, Rules, State
from surepath.learners.per_arc.sweeps import backward_masked
from surepath.learners.processes.intervals import most_sum, square_of


@hot_kernel
def visited_width(rules: Rules, state: State, e: int | np.uint64, n: int) -> float:
    """Compute the width of arc e after n >= 1 visits."""
    if n < len(state.table):
        base = state.table[np.uint64(n)]
    else:
        base = base_width(rules.widths, float(n), rules.arcs, rules.delta, rules.prior)
    return float(min(state.arc[at.SIGMA, e] * base, rules.cap))


@hot_kernel
def arc_width(rules: Rules, state: State, e: int | np.uint64, n: int) -> float:
    """Compute the width of arc e after n >= 1 visits; where its noise is learned, the least of three that hold."""
    return float(learned_width(state.most, state.arc, e, n, visited_width(rules, state, e, n)))


@optional_kernel
def learned_width(most: FloatArray | None, arc: FloatArray, e: int | np.uint64, n: int, width: float) -> float:
    """Narrow the width of arc e after n >= 1 visits by what its rewards say about their noise."""
    if most is None:
        return width
    span = arc[at.SPAN, e]
    if span > 0.0:
        width = min(width, span * min(1.0, most_sum(most, n, arc[at.SQUARES, e]) / n))
    return width


@optional_kernel
def learn_noise(most: FloatArray | None, arc: FloatArray, e: int | np.uint64, n: int, gain: float) -> None:
    """Add to V the square of the n-th gain of arc e less what the gains before it, already summed, say it will be."""
    if most is None:
        return
    least, span, mean = arc[at.LEAST, e], arc[at.SPAN, e], 0.0
    if span > 0.0:
        if n > 1:
            mean = (arc[at.ORIGIN, e] + arc[at.SUMS, e] / (n - 1) - least) / span
        arc[at.SQUARES, e] += square_of((gain - least) / span, n - 1, mean)


@folded_kernel
def width_of(rules: Rules, state: State, e: int) -> float:
    """Compute the width of arc e, BIG where it is infinite."""
    if state.flag[at.KNOWN, e]:
        return 0.0
    n = state.number[at.VISITS, e]
    if n > 0:
        return arc_width(rules, state, e, n)
    return BIG if rules.cap == np.inf else rules.cap


@hot_kernel
def refresh_values(graph: Layers, state: State, fresh: Whole, weight: Whole, value: Whole) -> None:
    """Compute a row of State.node from a row of State.arc, unless the place `fresh` of the tally says it is current."""
    if state.tally[fresh] == 0:
        backward_masked(graph, state.arc[weight], state.node[value])
        state.tally[fresh] = 1


@folded_kernel
def best_values(graph: Layers, state: State) -> None:
    """Bring BEST up to date."""
    refresh_values(graph, state, np.int64(at.FRESH_BEST), np.int64(at.UPPER), np.int64(at.BEST))


@folded_kernel
def floor_values(graph: Layers, state: State) -> None:
    """Bring FLOOR up to date."""
    refresh_values(graph, state, np.int64(at.FRESH_FLOOR), np.int64(at.LOWER), np.int64(at.FLOOR))
