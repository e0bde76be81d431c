"""Graphs as arrays, the dynamic programs over them, and the drawing of rewards."""

from __future__ import annotations

from math import erfc
from typing import NamedTuple

import numpy as np

from surepath._checks import AnyArray, BoolArray, FloatArray, IntArray, Uint32Array
from surepath.kernels.jit import bare_kernel, folded_kernel, hot_kernel, inner_kernel
from surepath.model.mdp import MDP
from surepath.model.worlds import BERNOULLI, BETA, GAUSSIAN, KNOWN, TABLE, UNIFORM, Instance

# Arrays ---------------------------------------------------------------------------------------------------------------
# Kernels read these NamedTuples instead of long argument lists. A read-only or strided array would add a compiled
# signature, so nothing else builds kernel arguments.


class Graph(NamedTuple):
    """Hold the layered graph. Node n_nodes is the sink; nodes are in stage order, so a sweep is a dynamic program."""

    first: IntArray  # [n_nodes + 1] first arc of each node
    target: IntArray  # [N] node each arc leads to
    source: IntArray  # [N] node each arc leaves
    stage_node: IntArray  # [H + 1] first node of each stage


class Layers(NamedTuple):
    """Hold the graph for the tight loops of the learners: half the memory, and unsigned, so no index is negative."""

    first: Uint32Array  # [n_nodes + 1]
    target: Uint32Array  # [N]
    stage_node: Uint32Array  # [H + 1]


class Reality(NamedTuple):
    """Hold the laws by which a simulation draws rewards, larger ones being better. Kinds as in model.rewards."""

    kind: IntArray  # [N]
    a: FloatArray  # [N]
    b: FloatArray  # [N]
    low: FloatArray  # [N]
    high: FloatArray  # [N]
    table_first: IntArray  # [N + 1]
    table: FloatArray
    sign: float
    plain: int  # 1: all laws are Gaussian or known, so normal numbers can be drawn ahead
    loading: FloatArray  # [N] how much of the luck of an episode is common; empty where all draws are independent
    carry: float  # how much of the own luck of a stage the next one keeps


def own(array: AnyArray, dtype: type) -> AnyArray:
    """Copy an array into a writable C-contiguous one of the given type."""
    return np.array(array, dtype=dtype, order="C", copy=True)


def graph_of(mdp: MDP) -> Graph:
    """Copy the graph of an MDP into kernel arrays."""
    return Graph(
        own(mdp.first, np.int64), own(mdp.target, np.int64), own(mdp.source, np.int64), own(mdp.stage_node, np.int64)
    )


def layers_of(mdp: MDP) -> Layers:
    """Copy the graph of an MDP into compact kernel arrays, of at most 2**32 - 1 arcs."""
    return Layers(own(mdp.first, np.uint32), own(mdp.target, np.uint32), own(mdp.stage_node, np.uint32))


_NO_INTS, _NONE = np.zeros(0, dtype=np.int64), np.zeros(0)
# Laws that are never drawn from, for steps whose rewards come from outside.
NO_REALITY = Reality(_NO_INTS, _NONE, _NONE, _NONE, _NONE, _NO_INTS, _NONE, 1.0, 0, _NONE, 0.0)


def reality_of(instance: Instance, worth: bool = True) -> Reality:
    """Copy an instance's reward laws into kernel arrays; where costs count, with `worth`, the laws of worths."""
    law = instance.law
    reality = Reality(
        own(law.kind, np.int64),
        own(law.a, np.float64),
        own(law.b, np.float64),
        own(law.low, np.float64),
        own(law.high, np.float64),
        own(law.table_first, np.int64),
        own(law.table, np.float64),
        instance.mdp.sign,
        int(np.isin(law.kind, (GAUSSIAN, KNOWN)).all()),
        own(np.zeros(0) if law.loading is None else law.loading, np.float64),
        float(law.carry),
    )
    if worth and instance.mdp.charge is not None:
        _move(reality, -instance.mdp.sign * instance.mdp.charge)
    return reality


def _move(reality: Reality, shift: FloatArray) -> None:
    """Add a number to all rewards of each arc: to what is a reward in a law, not to what is a shape or a chance."""
    kind = reality.kind
    placed, even = np.isin(kind, (GAUSSIAN, KNOWN)), kind == UNIFORM
    reality.a[placed | even] += shift[placed | even]
    reality.b[even] += shift[even]
    reality.low[:] += shift
    reality.high[:] += shift
    if len(reality.table):
        reality.table[:] += np.repeat(shift, np.diff(reality.table_first))


# Sweeps ---------------------------------------------------------------------------------------------------------------
# Every kernel writes into arrays it is given. Weights are finite; -inf in a value means that no path goes through, and
# since +inf never enters, infinities of opposite sign cannot meet.


@bare_kernel
def backward(graph: Graph, weight: FloatArray, passable: BoolArray, value: FloatArray) -> None:
    """Compute value[i], the largest weight of a path from node i to the sink over passable arcs; [n_nodes + 1]."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    value[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        best = -np.inf
        for e in range(first[i], first[i + 1]):
            if passable[e]:
                x = weight[e] + value[target[e]]
                if x > best:
                    best = x
        value[i] = best


@bare_kernel
def forward(graph: Graph, weight: FloatArray, passable: BoolArray, value: FloatArray) -> None:
    """Compute value[i], the largest weight of a path from the start to node i over passable arcs; [n_nodes + 1]."""
    first, target = graph.first, graph.target
    sink = len(first) - 1
    value[:] = -np.inf
    value[0] = 0.0
    for i in range(sink):
        here = value[i]
        if here == -np.inf:
            continue
        for e in range(first[i], first[i + 1]):
            if passable[e]:
                x = here + weight[e]
                if x > value[target[e]]:
                    value[target[e]] = x


@bare_kernel
def walk(graph: Graph, weight: FloatArray, passable: BoolArray, value: FloatArray, path: IntArray) -> None:
    """Follow the largest weight[e] + value[target[e]] from the start; the lowest arc wins a tie; path is [H]."""
    first, target = graph.first, graph.target
    node = 0
    for h in range(len(path)):
        best, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            if passable[e]:
                x = weight[e] + value[target[e]]
                if chosen < 0 or x > best:
                    best, chosen = x, e
        path[h] = chosen
        node = target[chosen]


@folded_kernel
def heaviest(graph: Graph, weight: FloatArray, passable: BoolArray, value: FloatArray, path: IntArray) -> None:
    """Find the path of largest weight over passable arcs, the lowest arc where two tie; fills value as `backward`."""
    backward(graph, weight, passable, value)
    walk(graph, weight, passable, value, path)


# Drawing rewards ------------------------------------------------------------------------------------------------------


@hot_kernel
def normal(rng: np.random.Generator) -> float:
    """Draw a standard normal number; one kernel, so that it is compiled once for all callers."""
    return float(rng.standard_normal())


@folded_kernel
def within(x: float, low: float, high: float) -> float:
    """Clip x to a range that rounding may have left."""
    return float(min(max(x, low), high))


@inner_kernel
def beta(a: float, b: float, rng: np.random.Generator) -> float:
    """Draw a beta number."""
    return float(rng.beta(a, b))


@inner_kernel
def draw(reality: Reality, e: np.uint64, rng: np.random.Generator) -> float:
    """Draw a reward of arc e, turned so that larger is better; compiled once for all learners."""
    kind = reality.kind[e]
    if kind == GAUSSIAN:
        x = reality.a[e] + reality.b[e] * normal(rng)
    elif kind == KNOWN:
        x = reality.a[e]
    elif kind == BERNOULLI:
        x = reality.high[e] if rng.random() < reality.a[e] else reality.low[e]
    elif kind == UNIFORM:
        x = within(reality.a[e] + (reality.b[e] - reality.a[e]) * rng.random(), reality.low[e], reality.high[e])
    elif kind == BETA:
        if reality.a[e] <= 0.0:
            x = reality.low[e]
        elif reality.b[e] <= 0.0:
            x = reality.high[e]
        else:
            share = beta(reality.a[e], reality.b[e], rng)
            x = within(reality.low[e] + (reality.high[e] - reality.low[e]) * share, reality.low[e], reality.high[e])
    elif kind == TABLE:
        low, high = reality.table_first[e], reality.table_first[e + 1]
        x = reality.table[low + int(rng.random() * (high - low))]
    else:
        x = np.nan  # a user's function cannot be drawn here; callers take the step-by-step driver instead
    return reality.sign * float(x)


@folded_kernel
def draw_luck(reality: Reality, rng: np.random.Generator, common: float, own: float, h: int) -> tuple[float, float]:
    """Draw the common effect of an episode at its first stage, and the own effect of each stage."""
    carry = reality.carry
    if len(reality.loading) == 0:
        return 0.0, 0.0
    if h == 0:
        return normal(rng), normal(rng)
    return common, carry * own + np.sqrt(1.0 - carry * carry) * normal(rng)


@inner_kernel
def draw_step(reality: Reality, e: np.uint64, rng: np.random.Generator, common: float, own: float) -> float:
    """Draw a reward of arc e: independently, or where luck is shared its quantile at the luck drawn."""
    if len(reality.loading) == 0:
        return draw(reality, e, rng)
    kind, a, b = reality.kind[e], reality.a[e], reality.b[e]
    part = reality.loading[e]
    z = part * common + np.sqrt(1.0 - part * part) * own
    chance = 0.5 * erfc(-z * np.sqrt(0.5))
    if kind == GAUSSIAN:
        x = a + b * z
    elif kind == BERNOULLI:
        x = reality.high[e] if chance > 1.0 - a else reality.low[e]
    elif kind == UNIFORM:
        x = within(a + (b - a) * chance, reality.low[e], reality.high[e])
    elif kind == TABLE:
        low, high = reality.table_first[e], reality.table_first[e + 1]
        x = reality.table[low + min(int(chance * (high - low)), high - low - 1)]
    else:
        x = a
    return reality.sign * float(x)


@bare_kernel
def draw_path(reality: Reality, path: IntArray, rng: np.random.Generator, out: FloatArray) -> None:
    """Draw the rewards of an episode into out [H]."""
    common, own = 0.0, 0.0
    for h in range(len(path)):
        common, own = draw_luck(reality, rng, common, own, h)
        out[h] = draw_step(reality, np.uint64(path[h]), rng, common, own)


@hot_kernel
def mix(key: np.int64) -> np.uint64:
    """Mix the bits of a key in the manner of splitmix64: every input bit moves every output bit."""
    z = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
