"""Whole runs of a rule that needs a minimum flow whenever a period begins; compiled only when such a rule is used."""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Graph, Layers, Reality
from surepath.kernels.jit import kernel
from surepath.learners.per_arc.covers import renew_cover
from surepath.learners.per_arc.run import NEEDS_COVER, play
from surepath.learners.per_arc.state import Rules, State
from surepath.learners.runs import RunRecord


@kernel
def play_covered(
    network: Graph,
    graph: Layers,
    rules: Rules,
    state: State,
    reality: Reality,
    rng: np.random.Generator,
    task: int,
    limit: int,
    epsilons: FloatArray,
    record: RunRecord,
    full: int,
) -> float:
    """Do what `play` does, with a new cover as often as it asks for one."""
    answer = play(graph, rules, state, reality, rng, task, limit, epsilons, record, full)
    while answer == NEEDS_COVER:
        renew_cover(network, state)
        answer = play(graph, rules, state, reality, rng, task, limit, epsilons, record, full)
    return answer
