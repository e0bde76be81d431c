"""Uniform: at every state each action with the same chance; a baseline that learns nothing from the rewards.

The chance comes from a hash of (seed, episode, stage), so that asking twice gives the same path and a run can be
repeated from any point. No active sets, no ties; arcs that have left the graph are not played.
"""

from __future__ import annotations

import numpy as np

from surepath._types import IntArray
from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel, hot_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.sampling.turns import RANDOM_PATH
from surepath.learners.per_arc.state import Rules, State


@hot_kernel
def mix(key: np.int64) -> np.uint64:
    """Mix the bits of a key in the manner of splitmix64: every input bit moves every output bit."""
    z = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@folded_kernel
def nth_open(state: State, first: np.int64, degree: np.int64, draw: np.uint64) -> np.int64:
    """Choose one of the arcs first .. first + degree - 1 that have not left the graph, all with the same chance."""
    closed, count = state.flag[at.CLOSED], 0
    for e in range(first, first + degree):
        count += 0 if closed[e] else 1
    left = np.int64(draw % np.uint64(max(count, 1)))
    for e in range(first, first + degree):
        if not closed[e]:
            if left == 0:
                return np.int64(e)
            left -= 1
    return np.int64(first)


@inner_kernel
def random_path(graph: Layers, rules: Rules, state: State) -> None:
    """Write a path of random actions into the row PATH."""
    node = np.uint32(0)
    key = mix(np.int64(rules.seed)) ^ mix(state.tally[at.EPISODES] + 1)
    for h in range(state.path.shape[1]):
        chosen, degree = np.int64(graph.first[node]), np.int64(graph.first[node + 1]) - np.int64(graph.first[node])
        draw = mix(np.int64(key >> np.uint64(1)) + h * 7919) >> np.uint64(1)
        if state.tally[at.N_CLOSED] == 0:
            chosen += np.int64(draw % np.uint64(degree))
        else:
            chosen = nth_open(state, chosen, degree, draw)
        state.path[at.PATH, h] = chosen
        node = graph.target[chosen]


@folded_kernel
def choose(rules: Rules, tally: IntArray) -> int:
    """Ask for random actions."""
    return RANDOM_PATH
