"""Allocations of unit flow that do well against a list of challengers: a smooth maximin, by quasi-Newton steps.

Legend. A challenger q is a set K of arcs with f_q(w) = half_q / sum over K of variance_e / w_e. Sought: the flow w of
value 1 with the largest -1/s log sum over q of f_q(w)^-s, which is within log(number of q) / s of log min f_q. A flow
is written as the share of each arc at its node, shares as the softmax of logits, so every point is a flow and no
constraint is left; stationary points are optimal because the problem is concave in w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.jit import kernel

REMEMBERED = 16  # pairs the quasi-Newton steps remember


class Challengers(NamedTuple):
    """Challenger q has the arcs arc[first[q] : first[q + 1]]."""

    first: IntArray  # [Q + 1]
    arc: IntArray
    half: FloatArray  # [Q] half its squared gap
    variance: FloatArray  # [N]


@kernel
def spread(graph: Graph, share: FloatArray, weight: FloatArray) -> None:
    """Write the unit flow that takes each arc of a node with its share, 1 in all at every node, into weight [N]."""
    first, target = graph.first, graph.target
    n = len(first) - 1
    mass = np.zeros(n + 1)
    mass[0] = 1.0
    for i in range(n):
        for e in range(first[i], first[i + 1]):
            weight[e] = max(mass[i] * share[e], 1e-140)
            mass[target[e]] += weight[e]


@kernel
def softmin(
    graph: Graph, game: Challengers, sharpness: float, logits: FloatArray, weight: FloatArray, out: FloatArray
) -> float:
    """Return minus the smooth minimum of log f_q at these logits; write its derivative to out, the flow to weight."""
    first, target = graph.first, graph.target
    n, count = len(first) - 1, len(game.half)
    share = np.empty(len(logits))
    for i in range(n):
        top, total = -np.inf, 0.0
        for e in range(first[i], first[i + 1]):
            top = max(top, logits[e])
        for e in range(first[i], first[i + 1]):
            share[e] = np.exp(logits[e] - top)
            total += share[e]
        for e in range(first[i], first[i + 1]):
            share[e] /= total
    spread(graph, share, weight)
    noise = game.variance / weight
    sums, height = np.empty(count), np.empty(count)
    least = np.inf
    for q in range(count):
        total = 0.0
        for j in range(game.first[q], game.first[q + 1]):
            total += noise[game.arc[j]]
        sums[q] = total
        height[q] = np.log(game.half[q]) - np.log(total)
        least = min(least, height[q])
    mass = 0.0
    for q in range(count):
        height[q] = np.exp(-sharpness * (height[q] - least))
        mass += height[q]
    slope = np.zeros(len(logits))
    for q in range(count):
        mix = height[q] / mass / sums[q]
        if height[q] > 1e-30:
            for j in range(game.first[q], game.first[q + 1]):
                slope[game.arc[j]] += mix
    slope *= noise / weight  # d log f_q / d w_e = variance_e / w_e^2 / sum
    value = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        total = 0.0
        for e in range(first[i], first[i + 1]):
            total += share[e] * (slope[e] + value[target[e]])
        value[i] = total
        for e in range(first[i], first[i + 1]):
            out[e] = -weight[e] * (slope[e] + value[target[e]] - total)
    return float(np.log(mass) / sharpness - least)


@kernel
def dot(x: FloatArray, y: FloatArray) -> float:
    """Compute the plain inner product: these vectors are short, and BLAS threads cost more than they give."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@kernel
def play(
    graph: Graph, game: Challengers, sharpness: float, steps: int, logits: FloatArray, weight: FloatArray
) -> float:
    """Minimise `softmin` by limited-memory BFGS with backtracking, in at most `steps` steps; logits [N] in and out."""
    n = len(logits)
    slope, trial_slope = np.empty(n), np.empty(n)
    trial, way = np.empty(n), np.empty(n)
    moved, turned = np.zeros((REMEMBERED, n)), np.zeros((REMEMBERED, n))
    curve, part = np.zeros(REMEMBERED), np.zeros(REMEMBERED)
    value = softmin(graph, game, sharpness, logits, weight, slope)
    kept, quiet = 0, 0
    for _ in range(steps):
        way[:] = slope
        for back in range(min(kept, REMEMBERED)):
            m = (kept - 1 - back) % REMEMBERED
            part[m] = dot(moved[m], way) / curve[m]
            for i in range(n):
                way[i] -= part[m] * turned[m, i]
        if kept > 0:
            m = (kept - 1) % REMEMBERED
            scale = curve[m] / dot(turned[m], turned[m])
            for i in range(n):
                way[i] *= scale
        for back in range(min(kept, REMEMBERED) - 1, -1, -1):
            m = (kept - 1 - back) % REMEMBERED
            change = part[m] - dot(turned[m], way) / curve[m]
            for i in range(n):
                way[i] += change * moved[m, i]
        descent = dot(slope, way)
        if not descent > 0.0:  # a bad memory: start it anew
            if kept == 0:
                break
            kept = 0
            continue
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(way[i]))
        length = min(1.0, 2.0 / largest)  # no logit moves by more than 2 at once
        found = np.inf
        for _ in range(30):
            for i in range(n):
                trial[i] = logits[i] - length * way[i]
            found = softmin(graph, game, sharpness, trial, weight, trial_slope)
            if found <= value - 1e-4 * length * descent:
                break
            length *= 0.4
        if not found < value:
            if kept == 0:
                break
            kept = 0
            continue
        m = kept % REMEMBERED
        for i in range(n):
            moved[m, i] = trial[i] - logits[i]
            turned[m, i] = trial_slope[i] - slope[i]
        curve[m] = dot(moved[m], turned[m])
        if curve[m] > 1e-12 * dot(turned[m], turned[m]):
            kept += 1
        quiet = quiet + 1 if value - found < 1e-9 else 0
        logits[:] = trial
        slope[:] = trial_slope
        value = found
        if quiet >= 8:
            break
    return softmin(graph, game, sharpness, logits, weight, slope)
