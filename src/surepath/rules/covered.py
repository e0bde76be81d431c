"""Whole runs of a rule that needs a minimum flow whenever a period begins; compiled only when such a rule is used."""

from __future__ import annotations

import numpy as np

from surepath._checks import FloatArray
from surepath.engine._jit import kernel
from surepath.engine.arrays import Graph, Layers, Reality
from surepath.engine.state import Plan, State
from surepath.rules.loop import NEEDS_COVER, Record, play
from surepath.rules.sampling.static_max_coverage import renew


@kernel
def play_covered(
    full: Graph,
    graph: Layers,
    plan: Plan,
    state: State,
    reality: Reality,
    rng: np.random.Generator,
    task: int,
    limit: int,
    epsilons: FloatArray,
    record: Record,
) -> float:
    """`play`, with a new cover as often as it asks for one."""
    answer = play(graph, plan, state, reality, rng, task, limit, epsilons, record)
    while answer == NEEDS_COVER:
        renew(full, state)
        answer = play(graph, plan, state, reality, rng, task, limit, epsilons, record)
    return answer
