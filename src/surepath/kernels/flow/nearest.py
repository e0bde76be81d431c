"""A greedy start for push-relabel: every deficit is served from the nearest supplies, some rounds long.

Measured on layered graphs of a million arcs, 40 rounds saved up to a third of the time of push-relabel alone on whole
demands, and cost up to a fifth more where demands vary over orders of magnitude.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import Int32Array, IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.flow.residual import Residual
from surepath.kernels.jit import kernel

NEAREST_ROUNDS = 40
STRIKES = 2  # a deficit that got nothing this often in a row is left to push-relabel


class Nearest(NamedTuple):
    """Working memory of the greedy start, one entry a node."""

    root: Int32Array  # deficit whose tree holds the node, or -1
    via: Int32Array  # residual arc towards it: e along, ~e against
    want: IntArray  # what a deficit still lacks
    take: IntArray  # supply on its way through the node
    strikes: Int32Array  # rounds in which a deficit got nothing


@kernel
def serve_nearest(graph: Graph, state: Residual, queue: Int32Array, work: Nearest) -> int:
    """Make one round of a greedy start: every deficit grows a tree against the residual arcs until it is served.

    Supplies are taken where a tree first meets them and led along it, farthest first, so that they merge on the way.
    A tree stops growing once its deficit is served. A deficit that gets nothing STRIKES times is left to push-relabel.
    Returns how many deficits took part.
    """
    first, source = graph.first, graph.source
    in_first, in_arc, in_source, target, capacity, extra, excess, _ = state
    root, via, want, take, strikes = work
    limited = len(capacity) > 0
    n = len(excess)
    tail = 0
    for i in range(n):
        root[i] = -1
        take[i] = 0
        if excess[i] < 0 and strikes[i] < STRIKES:
            root[i] = i
            want[i] = -excess[i]
            queue[tail] = i
            tail += 1
    taking = tail
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        r = root[v]
        if want[r] == 0:
            continue
        for j in range(in_first[v], in_first[v + 1]):
            u = in_source[j]
            if root[u] == -1 and (not limited or extra[in_arc[j]] < capacity[in_arc[j]]):
                root[u] = r
                via[u] = in_arc[j]
                queue[tail] = u
                tail += 1
                if excess[u] > 0:
                    take[u] = min(excess[u], want[r])
                    want[r] -= take[u]
                    if want[r] == 0:
                        break
        if v < n - 1 and want[r] > 0:
            for e in range(first[v], first[v + 1]):
                if extra[e] > 0 and root[target[e]] == -1:
                    u = target[e]
                    root[u] = r
                    via[u] = ~e
                    queue[tail] = u
                    tail += 1
                    if excess[u] > 0:
                        take[u] = min(excess[u], want[r])
                        want[r] -= take[u]
                        if want[r] == 0:
                            break
    for place in range(tail - 1, taking - 1, -1):
        u = queue[place]
        amount = take[u]
        if amount == 0:
            continue
        e = via[u]
        if e >= 0:
            ahead = target[e]
            if limited:
                amount = min(amount, capacity[e] - extra[e])
            extra[e] += amount
        else:
            e = ~e
            ahead = source[e]
            amount = min(amount, extra[e])
            extra[e] -= amount
        excess[u] -= amount
        excess[ahead] += amount
        take[ahead] += amount
    for place in range(taking):
        r = queue[place]
        strikes[r] = 0 if take[r] > 0 else strikes[r] + 1
    return taking


@kernel
def start_greedily(graph: Graph, state: Residual, queue: Int32Array) -> None:
    """Serve deficits from the nearest supplies, until no deficit gets any or the rounds are over."""
    n = len(state.excess)
    work = Nearest(
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(n, np.int32),
    )
    for _ in range(NEAREST_ROUNDS):
        if serve_nearest(graph, state, queue, work) == 0:
            return
