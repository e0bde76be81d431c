"""Paths that leave a given path once and come back: which of them is hardest to tell from it?

Legend. p: the given path. An excursion leaves a node of p by an arc off p and ends at the first node of p (or the sink)
it meets. Each arc e has a cost a[e] >= 0 and a size b[e] >= 0; A and B are their sums along the excursion, and the
question is the least A^2 / B. A path that leaves p several times is never easier: with r the least ratio of its
excursions, (sum A_i)^2 >= r (sum sqrt(B_i))^2 >= r sum B_i.

For every k, A^2 / B >= 2 k A - k^2 B, with equality at k = A / B, and the right side is additive: one backward sweep
finds its least value. The largest over a grid of k bounds the ratio from below; the search closes what is left open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.jit import kernel


class Question(NamedTuple):
    """What excursions are searched for: the given path, the terms of A and B, and the grid of k."""

    node_on: BoolArray  # [n_nodes + 1] on the path; the sink counts as on it
    leaves: IntArray  # [L] arcs off the path that leave one of its nodes
    a: FloatArray  # [N]
    b: FloatArray  # [N]
    k: FloatArray  # [K] grid


@kernel
def sweep(graph: Graph, ask: Question, to_go: FloatArray, pick: IntArray) -> None:
    """Fill to_go [K, n + 1] with the least 2 k A - k^2 B from a node off the path on, pick with its first arc."""
    first, target = graph.first, graph.target
    for g in range(len(ask.k)):
        k = ask.k[g]
        for i in range(len(first) - 1, -1, -1):
            if ask.node_on[i]:
                to_go[g, i] = 0.0
                continue
            best = np.inf
            for e in range(first[i], first[i + 1]):
                x = 2.0 * k * ask.a[e] - k * k * ask.b[e] + to_go[g, target[e]]
                if x < best:
                    best = x
                    pick[g, i] = e
            to_go[g, i] = best


@kernel
def sweep_forward(graph: Graph, ask: Question, so_far: FloatArray, came: IntArray) -> None:
    """Fill so_far [K, n + 1] with the least 2 k A - k^2 B from the path to a node off it, came with the last arc."""
    first, target = graph.first, graph.target
    so_far[:] = np.inf
    for g in range(len(ask.k)):
        k = ask.k[g]
        for e in ask.leaves:
            x = 2.0 * k * ask.a[e] - k * k * ask.b[e]
            if x < so_far[g, target[e]]:
                so_far[g, target[e]] = x
                came[g, target[e]] = e
        for i in range(len(first) - 1):
            if not ask.node_on[i]:
                for e in range(first[i], first[i + 1]):
                    x = so_far[g, i] + 2.0 * k * ask.a[e] - k * k * ask.b[e]
                    if x < so_far[g, target[e]]:
                        so_far[g, target[e]] = x
                        came[g, target[e]] = e


@kernel
def candidates(graph: Graph, ask: Question, pick: IntArray, came: IntArray, paths: IntArray, ratio: FloatArray) -> None:
    """Find for each arc the best excursion through it on the grid: its arcs (then -1) and A^2 / B; paths [N, H].

    Arcs on the path and arcs that no excursion uses get ratio inf.
    """
    source, target = graph.source, graph.target
    trial = np.empty(paths.shape[1], dtype=np.int64)
    ratio[:] = np.inf
    leaving = np.zeros(len(ratio), dtype=np.bool_)
    for e in ask.leaves:
        leaving[e] = True
    for through in range(len(ratio)):
        if ask.node_on[source[through]] and not leaving[through]:
            continue
        for g in range(len(ask.k)):
            total_a, total_b, length = ask.a[through], ask.b[through], 1
            e = through
            while not ask.node_on[source[e]]:
                e = came[g, source[e]]
                total_a += ask.a[e]
                total_b += ask.b[e]
                length += 1
            last = through
            place = length
            while not ask.node_on[target[last]]:
                last = pick[g, target[last]]
                trial[place] = last
                place += 1
                total_a += ask.a[last]
                total_b += ask.b[last]
            found = total_a * total_a / total_b if total_b > 0 else np.inf
            if found < ratio[through]:
                ratio[through] = found
                paths[through, length:place] = trial[length:place]
                paths[through, place:] = -1
                e = through
                for back in range(length - 1, -1, -1):
                    paths[through, back] = e
                    if back > 0:
                        e = came[g, source[e]]


@kernel
def bound_from(ask: Question, to_go: FloatArray, node: int, a: float, b: float) -> float:
    """Return a lower bound on A^2 / B of every excursion that comes to a node with sums a and b."""
    best = 0.0
    for g in range(len(ask.k)):
        x = 2.0 * ask.k[g] * a - ask.k[g] * ask.k[g] * b + to_go[g, node]
        if x > best:
            best = x
    return best


@kernel
def search(
    graph: Graph, ask: Question, to_go: FloatArray, slack: float, limit: int, path: IntArray
) -> tuple[float, float]:
    """Find the least A^2 / B by branch and bound: (proven lower bound, ratio of the best excursion, left in path [H]).

    A branch is cut once its bound is within the relative slack of the best found; after `limit` nodes the bounds of
    what is open count as they are.
    """
    first, target = graph.first, graph.target
    horizon = len(path)
    best, floor = np.inf, np.inf
    trail = np.empty(horizon, dtype=np.int64)
    next_arc = np.empty(horizon + 1, dtype=np.int64)
    sum_a, sum_b = np.zeros(horizon + 1), np.zeros(horizon + 1)
    opened = 0
    order = np.empty(len(ask.leaves))
    for j in range(len(ask.leaves)):
        e = ask.leaves[j]
        order[j] = bound_from(ask, to_go, target[e], ask.a[e], ask.b[e])
    for j in np.argsort(order):
        if order[j] >= best * (1.0 - slack):
            floor = min(floor, order[j])
            continue
        e = ask.leaves[j]
        trail[0], sum_a[1], sum_b[1] = e, ask.a[e], ask.b[e]
        depth = 1
        if not ask.node_on[target[e]]:
            next_arc[1] = first[target[e]]
        while depth > 0:
            e = trail[depth - 1]
            node = target[e]
            if ask.node_on[node]:
                if sum_b[depth] > 0:
                    found = sum_a[depth] * sum_a[depth] / sum_b[depth]
                    if found < best:
                        best = found
                        path[:depth] = trail[:depth]
                        path[depth:] = -1
                depth -= 1
                continue
            f = next_arc[depth]
            if f == first[node + 1]:
                depth -= 1
                continue
            next_arc[depth] += 1
            a, b = sum_a[depth] + ask.a[f], sum_b[depth] + ask.b[f]
            low = bound_from(ask, to_go, target[f], a, b)
            opened += 1
            if low >= best * (1.0 - slack) or opened > limit:
                floor = min(floor, low)
                continue
            trail[depth], sum_a[depth + 1], sum_b[depth + 1] = f, a, b
            depth += 1
            if not ask.node_on[target[f]]:
                next_arc[depth] = first[target[f]]
    return min(floor, best), best
