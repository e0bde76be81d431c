"""Allow for what rounding can have done to a bound, so that it never turns into a proof.

Sampling, and the first test of every rule, use bounds and values as they come out. Where such a test says that an arc
can be eliminated or that the learner can stop, it is repeated with every upper bound raised and every lower bound
lowered by `slop`, and only that answer counts. Rounding can then delay a decision and never make one.

A computed sum of H numbers x differs from the true one by less than H u sum |x| (u = 2^-53), whatever the order, so
H u |x| is the share of one arc. What the bound itself is made of adds a few u: origin minus reference, sum over
visits, mean plus width; the sum of n gains is off by n u times its largest partial sum at most; and each reward comes
rounded, by u times its size. A bound that is no number counts as no bound.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, hot_kernel, inner_kernel
from surepath.kernels.widths import UNIT
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import BIG, HALF_BIG, State


@hot_kernel
def slop(arc: FloatArray, horizon: int, e: int | np.uint64) -> float:
    """Bound what rounding can have moved the bounds of arc e, with its share in the sum over a path."""
    size = abs(arc[at.TOP, e]) + abs(arc[at.LOWER, e]) + abs(arc[at.BASE, e])
    return float(UNIT * ((2.0 * horizon + 8.0) * size + abs(arc[at.ORIGIN, e]) + 2.0 * abs(arc[at.SUMS, e])))


@folded_kernel
def safe_upper(state: State, e: int | np.uint64, bound: float) -> float:
    """Raise an upper bound of arc e (UPPER or TOP) to hold in spite of rounding; -inf stays, none stays BIG."""
    if bound == -np.inf:
        return -np.inf
    return bound + slop(state.arc, state.path.shape[1], e) if bound < HALF_BIG else BIG


@folded_kernel
def safe_lower(state: State, e: int | np.uint64) -> float:
    """Lower the lower bound of arc e so that it holds in spite of rounding; -inf where there is none."""
    bound = state.arc[at.LOWER, e]
    return bound - slop(state.arc, state.path.shape[1], e) if bound > -HALF_BIG else -np.inf


@inner_kernel
def safe_best(graph: Layers, state: State, bound: FloatArray, value: FloatArray) -> None:
    """Compute value[i], the largest upper value from node i to the sink, allowing for rounding; bound: UPPER or TOP."""
    first, target = graph.first, graph.target
    value[len(first) - 1] = 0.0
    for i in range(len(first) - 2, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            best = max(best, safe_upper(state, e, bound[e]) + value[target[e]])
        value[i] = best


@inner_kernel
def safe_floor(graph: Layers, state: State, value: FloatArray) -> None:
    """Compute value[i], the largest lower value from node i to the sink over all policies, rounding allowed for."""
    first, target = graph.first, graph.target
    value[len(first) - 1] = 0.0
    for i in range(len(first) - 2, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            best = max(best, safe_lower(state, e) + value[target[e]])
        value[i] = best
