"""The residual graph of a flow problem on the layered graph, in whole numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import Int32Array, IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.jit import kernel


class Residual(NamedTuple):
    """State of one flow problem. Arrays over nodes have n_nodes + 1 entries, the last for the sink.

    There is a residual arc along e while extra[e] < capacity[e], and one against it while extra[e] > 0.
    """

    in_first: IntArray  # [n + 1] the arcs that enter node i are in_arc[in_first[i] : in_first[i + 1]]
    in_arc: Int32Array  # [N]
    in_source: Int32Array  # [N] node that in_arc[j] leaves
    goal: Int32Array  # [N] node that an arc enters; short integers halve the memory that a sweep touches
    capacity: IntArray  # [N] most extra flow an arc may carry; empty when unlimited
    extra: IntArray  # [N] extra flow
    excess: IntArray  # [n] supply still to move where positive, deficit still to fill where negative
    label: Int32Array  # [n] lower bound on the residual distance to a deficit, whose own label is 1; n + 1: none


@kernel
def residual_of(graph: Graph) -> Residual:
    """Allocate the state of a problem with no extra flow, unlimited capacities and nothing to move."""
    target, source = graph.target, graph.source
    n, n_arcs = len(graph.first), len(graph.target)
    in_first = np.zeros(n + 1, dtype=np.int64)
    in_arc = np.empty(n_arcs, dtype=np.int32)
    in_source = np.empty(n_arcs, dtype=np.int32)
    for e in range(n_arcs):
        in_first[target[e] + 1] += 1
    for i in range(n):
        in_first[i + 1] += in_first[i]
    place = in_first.copy()
    for e in range(n_arcs):
        j = place[target[e]]
        in_arc[j] = e
        in_source[j] = source[e]
        place[target[e]] += 1
    capacity = np.empty(0, dtype=np.int64)
    extra = np.zeros(n_arcs, dtype=np.int64)
    excess = np.zeros(n, dtype=np.int64)
    label = np.zeros(n, dtype=np.int32)
    return Residual(in_first, in_arc, in_source, target.astype(np.int32), capacity, extra, excess, label)
