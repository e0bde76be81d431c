"""Minimum flows on the layered graph, in whole numbers, by push-relabel.

For other kernels: `minimum_flow(graph, demand, flow, in_cut)` and `extract_cover(graph, flow, paths)`; both take plain
arrays and can be called from compiled code. Example with unit demands (a minimum policy cover):

    value = minimum_flow(graph, demand, flow, in_cut)     # demand int64 [N]; flow int64 [N] and in_cut bool [n_nodes] out
    paths = np.empty((value, horizon), np.int64)
    extract_cover(graph, flow, paths)                     # one row per path; flow is used up

How. Write flow = demand + extra. A node where more demand comes in than goes out has a supply of extra; one where less
comes in has a deficit. Capacities are unlimited, so supplies reach any deficit downstream, what no supply can fill
comes from the start, and what nobody wants runs on to the sink. Hence

    minimum flow value = demand out of the start + all deficits - the most that supplies can fill,

a maximum flow from supplies to deficits whose arcs never fill up: push-relabel needs no starting flow and no removal
of decreasing paths, one node's whole supply moves in one push, and labels are distances to a deficit. The nodes that
can still reach an unfilled deficit (an arc against its direction counts where extra > 0) are the maximum cut of the
paper's appendix: they hold no supply, and no extra leaves them.

Real demands are scaled to whole numbers by the caller, so nothing here depends on rounding.
"""

from __future__ import annotations

import numpy as np

from surepath._checks import BoolArray, IntArray
from surepath.engine._jit import kernel
from surepath.engine.arrays import Graph

UNLIMITED = np.int64(2**62)  # room of an arc without capacity; whole demands must sum below this


@kernel
def arcs_in(graph: Graph, in_first: IntArray, in_arc: IntArray) -> None:
    """The arcs that enter node i are in_arc[in_first[i] : in_first[i + 1]]; in_first is [n_nodes + 2]."""
    target = graph.target
    in_first[:] = 0
    for e in range(len(target)):
        in_first[target[e] + 1] += 1
    for i in range(len(in_first) - 1):
        in_first[i + 1] += in_first[i]
    place = in_first.copy()
    for e in range(len(target)):
        in_arc[place[target[e]]] = e
        place[target[e]] += 1


@kernel
def distances(
    graph: Graph,
    in_first: IntArray,
    in_arc: IntArray,
    room: IntArray,
    extra: IntArray,
    excess: IntArray,
    label: IntArray,
    queue: IntArray,
) -> int:
    """label[i] = residual distance to the nearest deficit (which has label 1), or len(label) when there is none.

    Residual arcs: along an arc while extra < room, against it while extra > 0. Returns how many nodes are reached.
    """
    first, target, source = graph.first, graph.target, graph.source
    n = len(label)
    tail = 0
    for i in range(n):
        if excess[i] < 0:
            label[i] = 1
            queue[tail] = i
            tail += 1
        else:
            label[i] = n
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        beyond = label[v] + 1
        for j in range(in_first[v], in_first[v + 1]):
            e = in_arc[j]
            u = source[e]
            if label[u] == n and extra[e] < room[e]:
                label[u] = beyond
                queue[tail] = u
                tail += 1
        if v < n - 1:
            for e in range(first[v], first[v + 1]):
                u = target[e]
                if label[u] == n and extra[e] > 0:
                    label[u] = beyond
                    queue[tail] = u
                    tail += 1
    return tail


@kernel
def fill_deficits(
    graph: Graph,
    in_first: IntArray,
    in_arc: IntArray,
    room: IntArray,
    extra: IntArray,
    excess: IntArray,
    label: IntArray,
) -> None:
    """Move as much supply (excess > 0) as possible to deficits (excess < 0) along residual arcs.

    First-in-first-out push-relabel with a current arc per node and periodic exact labels; arrays over nodes have
    n_nodes + 1 entries, the last for the sink. On return label says which nodes still reach a deficit: label < n.
    """
    first, target, source = graph.first, graph.target, graph.source
    n = len(label)
    queue = np.empty(n, dtype=np.int64)
    waiting = np.zeros(n, dtype=np.bool_)
    current = np.empty(n, dtype=np.int64)  # next residual arc to try: out-arcs first, then in-arcs
    while True:
        reached = distances(graph, in_first, in_arc, room, extra, excess, label, queue)
        if reached == 0:
            return
        head, count = 0, 0
        for i in range(n):
            current[i] = 0
            waiting[i] = False
        for i in range(n):
            if excess[i] > 0 and label[i] < n:
                queue[count] = i
                waiting[i] = True
                count += 1
        if count == 0:
            return
        work, limit = 0, 4 * n + len(target)
        while count > 0 and work < limit:
            v = queue[head]
            head += 1
            if head == n:
                head = 0
            count -= 1
            waiting[v] = False
            outs = first[v + 1] - first[v] if v < n - 1 else 0
            ins = in_first[v + 1] - in_first[v]
            while excess[v] > 0:
                if current[v] == outs + ins:
                    lowest = n
                    for j in range(outs + ins):
                        if j < outs:
                            e = first[v] + j
                            if extra[e] < room[e]:
                                lowest = min(lowest, label[target[e]])
                        else:
                            e = in_arc[in_first[v] + j - outs]
                            if extra[e] > 0:
                                lowest = min(lowest, label[source[e]])
                    work += outs + ins + 12
                    current[v] = 0
                    if lowest + 1 >= n:
                        label[v] = n
                        break
                    label[v] = lowest + 1
                j = current[v]
                if j < outs:
                    e = first[v] + j
                    u = target[e]
                    free = room[e] - extra[e]
                else:
                    e = in_arc[in_first[v] + j - outs]
                    u = source[e]
                    free = extra[e]
                if free > 0 and label[v] == label[u] + 1:
                    amount = min(excess[v], free)
                    extra[e] += amount if j < outs else -amount
                    excess[v] -= amount
                    before = excess[u]
                    excess[u] += amount
                    if before <= 0 and excess[u] > 0 and not waiting[u]:
                        waiting[u] = True
                        place = head + count
                        queue[place if place < n else place - n] = u
                        count += 1
                    if amount < free:
                        break
                current[v] += 1


@kernel
def balance(graph: Graph, amount: IntArray, excess: IntArray) -> None:
    """excess[i] = amount that enters node i less amount that leaves it; the start and the sink are set to 0."""
    source, target = graph.source, graph.target
    excess[:] = 0
    for e in range(len(target)):
        excess[target[e]] += amount[e]
        excess[source[e]] -= amount[e]
    excess[0] = 0
    excess[-1] = 0


@kernel
def run_off(graph: Graph, in_first: IntArray, in_arc: IntArray, extra: IntArray, excess: IntArray) -> None:
    """Unlimited room: lead what is left of supplies on to the sink, and fetch what deficits lack from the start."""
    first, target, source = graph.first, graph.target, graph.source
    sink = len(first) - 1
    for i in range(1, sink):
        if excess[i] > 0:
            e = first[i]
            extra[e] += excess[i]
            if target[e] < sink:
                excess[target[e]] += excess[i]
            excess[i] = 0
    for i in range(sink - 1, 0, -1):
        if excess[i] < 0:
            e = in_arc[in_first[i]]
            extra[e] -= excess[i]
            if source[e] > 0:
                excess[source[e]] += excess[i]
            excess[i] = 0


@kernel
def minimum_flow(graph: Graph, demand: IntArray, flow: IntArray, in_cut: BoolArray) -> int:
    """The least flow with flow >= demand, unlimited capacities; returns its value.

    Args:
        graph: The layered graph.
        demand: int64 [N], each 0 or more, their sum below 2**62.
        flow: int64 [N], written: a minimum flow, whole.
        in_cut: bool [n_nodes], written: the maximum cut, whose outgoing arcs' demands sum to the value.
    """
    n = len(graph.first)  # nodes with the sink
    in_first = np.empty(n + 1, dtype=np.int64)
    in_arc = np.empty(len(demand), dtype=np.int64)
    arcs_in(graph, in_first, in_arc)
    room = np.full(len(demand), UNLIMITED)
    excess = np.empty(n, dtype=np.int64)
    label = np.empty(n, dtype=np.int64)
    balance(graph, demand, excess)
    flow[:] = 0
    fill_deficits(graph, in_first, in_arc, room, flow, excess, label)
    for i in range(n - 1):
        in_cut[i] = label[i] < n
    in_cut[0] = True
    run_off(graph, in_first, in_arc, flow, excess)
    value = 0
    for e in range(len(demand)):
        flow[e] += demand[e]
    for e in range(graph.first[0], graph.first[1]):
        value += flow[e]
    return value


@kernel
def extract_cover(graph: Graph, flow: IntArray, paths: IntArray) -> None:
    """Algorithm 2 of the paper: len(paths) paths whose counts add up to flow, which is used up; paths is [value, H].

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
