"""Minimum flows on the layered graph, in whole numbers, and the paths they are made of.

For other kernels: `minimum_flow(graph, demand, flow, in_cut)` and `extract_cover(graph, flow, paths)`; both take plain
arrays and can be called from compiled code. Example with unit demands (a minimum policy cover):

    value = minimum_flow(graph, demand, flow, in_cut)  # demand int64 [N] in; flow int64 [N], in_cut bool [n_nodes] out
    paths = np.empty((value, horizon), np.int64)
    extract_cover(graph, flow, paths)  # one row per path; flow is used up

How. Write flow = demand + extra. A node where more demand comes in than goes out has a supply of extra; one where less
comes in has a deficit. Capacities are unlimited, so a supply reaches any deficit downstream, what no supply can fill
comes from the start, and what nobody wants runs on to the sink. Hence

    minimum flow value = demand out of the start + all deficits - the most that supplies can fill,

a maximum flow from supplies to deficits over arcs that never fill up: no starting flow is needed and no decreasing
path has to be removed. The nodes that can still reach an unfilled deficit (an arc against its direction counts where
extra > 0) are the maximum cut of the paper's appendix: they hold no supply, and no extra leaves them.

Real demands are scaled to whole numbers by the caller, so nothing here depends on rounding.
"""

from __future__ import annotations

import numpy as np

from surepath._types import BoolArray, IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.flow.push_relabel import fill_deficits, measure
from surepath.kernels.flow.residual import Residual, residual_of
from surepath.kernels.jit import kernel


@kernel
def set_excess(graph: Graph, demand: IntArray, excess: IntArray) -> None:
    """Write excess[i] = demand that enters node i less demand that leaves it; 0 at the start and at the sink."""
    source, target = graph.source, graph.target
    excess[:] = 0
    for e in range(len(target)):
        excess[target[e]] += demand[e]
        excess[source[e]] -= demand[e]
    excess[0] = 0
    excess[-1] = 0


@kernel
def run_off(graph: Graph, state: Residual) -> None:
    """Lead what is left of supplies to the sink, fetch what deficits lack from the start; capacities are unlimited."""
    first, target, source = graph.first, graph.target, graph.source
    extra, excess = state.extra, state.excess
    sink = len(first) - 1
    for i in range(1, sink):
        if excess[i] > 0:
            e = first[i]
            extra[e] += excess[i]
            excess[target[e]] += excess[i]
            excess[i] = 0
    for i in range(sink - 1, 0, -1):
        if excess[i] < 0:
            e = state.in_arc[state.in_first[i]]
            extra[e] -= excess[i]
            excess[source[e]] += excess[i]
            excess[i] = 0


@kernel
def minimum_flow(graph: Graph, demand: IntArray, flow: IntArray, in_cut: BoolArray) -> int:
    """Find the least flow with flow >= demand, unlimited capacities; return its value.

    Args:
        graph: The layered graph.
        demand: int64 [N], each 0 or more, their sum below 2**62.
        flow: int64 [N], written: a minimum flow, whole.
        in_cut: bool [n_nodes], written: the maximum cut, whose outgoing arcs' demands sum to the value.
    """
    state = residual_of(graph)
    set_excess(graph, demand, state.excess)
    fill_deficits(graph, state)
    n = len(state.label)
    for i in range(n - 1):
        in_cut[i] = state.label[i] <= n
    in_cut[0] = True
    run_off(graph, state)
    for e in range(len(demand)):
        flow[e] = demand[e] + state.extra[e]
    value = 0
    for e in range(graph.first[0], graph.first[1]):
        value += flow[e]
    return value


@kernel
def bounded_flow(graph: Graph, demand: IntArray, capacity: IntArray, flow: IntArray, in_cut: BoolArray) -> int:
    """Find the least flow with demand <= flow <= capacity; return its value, or -1 or -2 when there is none.

    In order: supplies fill deficits; the start fills the deficits that are left; supplies that are left run on to
    the sink. Each step keeps what the steps before it moved, and the start gives as little as it can, because it
    gives exactly what supplies cannot.

    in_cut marks on success the maximum cut; on -1 a set of nodes whose outgoing arcs demand more than its incoming
    arcs can carry; on -2 a set of nodes whose incoming arcs demand more than its outgoing arcs can carry.
    """
    state = residual_of(graph)
    state = Residual(*state[:4], capacity - demand, *state[5:])
    excess, label = state.excess, state.label
    n = len(label)
    set_excess(graph, demand, excess)
    fill_deficits(graph, state)
    for i in range(n - 1):
        in_cut[i] = label[i] <= n
    in_cut[0] = True
    # The start gives. Supplies that are left cannot reach a deficit, so they fill none of it.
    for i in range(1, n):
        excess[0] -= min(excess[i], 0)
    fill_deficits(graph, state)
    for i in range(n):
        if excess[i] < 0:
            for j in range(n - 1):
                in_cut[j] = label[j] <= n
            return -1
    # The sink takes.
    left = 0
    for i in range(n):
        left += excess[i]
    excess[n - 1] -= left
    fill_deficits(graph, state)
    if excess[n - 1] < 0:
        excess[0] = -1  # what is left reaches neither the sink nor, against the flow, the start
        measure(graph, state, np.empty(n, dtype=np.int32), np.int64(1))
        for i in range(n - 1):
            in_cut[i] = label[i] > n
        return -2
    value = 0
    for e in range(len(demand)):
        flow[e] = demand[e] + state.extra[e]
    for e in range(graph.first[0], graph.first[1]):
        value += flow[e]
    return value


@kernel
def extract_cover(graph: Graph, flow: IntArray, paths: IntArray) -> None:
    """Write the paths [value, H] whose counts add up to flow, which is used up: Algorithm 2 of the paper.

    Each path takes at every node the arc with most flow left; the lowest arc wins a tie.
    """
    first, target = graph.first, graph.target
    for row in range(paths.shape[0]):
        node = 0
        for h in range(paths.shape[1]):
            best = first[node]
            for e in range(first[node] + 1, first[node + 1]):
                if flow[e] > flow[best]:
                    best = e
            flow[best] -= 1
            paths[row, h] = best
            node = target[best]
