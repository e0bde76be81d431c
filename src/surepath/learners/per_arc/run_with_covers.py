"""Whole runs of a rule that needs a minimum flow whenever a period begins; compiled only when such a rule is used."""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.kernels.arrays import Graph, Layers, Reality
from surepath.kernels.jit import kernel
from surepath.learners.per_arc.run import NEEDS_COVER, play
from surepath.learners.per_arc.sampling.static_max_coverage import renew
from surepath.learners.per_arc.state import Rules, State
from surepath.learners.record import RunRecord


@kernel
def play_covered(
    full: Graph,
    graph: Layers,
    rules: Rules,
    state: State,
    reality: Reality,
    rng: np.random.Generator,
    task: int,
    limit: int,
    epsilons: FloatArray,
    record: RunRecord,
) -> float:
    """`play`, with a new cover as often as it asks for one."""
    answer = play(graph, rules, state, reality, rng, task, limit, epsilons, record)
    while answer == NEEDS_COVER:
        renew(full, state)
        answer = play(graph, rules, state, reality, rng, task, limit, epsilons, record)
    return answer
