"""Sampling rules: which path to play next. `choose` dispatches on the rule's number."""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import folded_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.sampling import (
    coverage,
    max_coverage,
    max_diameter,
    optimistic,
    static_max_coverage,
    uniform_actions,
)
from surepath.learners.per_arc.sampling.cover_paths import follow_cover
from surepath.learners.per_arc.sampling.covering import cover
from surepath.learners.per_arc.sampling.turns import (
    COVER_ACTIVE,
    COVER_STARTED,
    HIGHEST_PATH,
    NEXT_OF_COVER,
    RANDOM_PATH,
)
from surepath.learners.per_arc.state import Rules, State
from surepath.learners.per_arc.walks import HIGHEST, WIDEST, walk

SAMPLING = ("max-coverage", "static-max-coverage", "max-diameter", "coverage", "optimistic", "uniform")
MAX_COVERAGE, STATIC_MAX_COVERAGE, MAX_DIAMETER, COVERAGE, OPTIMISTIC, UNIFORM_SAMPLING = range(6)

_max_coverage, _max_diameter, _coverage = max_coverage.choose, max_diameter.choose, coverage.choose
_optimistic, _uniform, _static = optimistic.choose, uniform_actions.choose, static_max_coverage.choose
_random_path = uniform_actions.random_path


@folded_kernel
def choose(graph: Layers, rules: Rules, state: State, full: int | None) -> None:
    """Write the path to play into the row PATH: the rule says which one is due, shared kernels find it.

    With `full` None the rule is one of the first two.
    """
    if rules.sampling == MAX_COVERAGE:
        turn = _max_coverage(rules, state.tally)
    elif full is None or rules.sampling == COVERAGE:
        turn = _coverage(rules, state.tally)
    elif rules.sampling == MAX_DIAMETER:
        turn = _max_diameter(rules, state.tally)
    elif rules.sampling == OPTIMISTIC:
        turn = _optimistic(rules, state.tally)
    elif rules.sampling == STATIC_MAX_COVERAGE:
        turn = _static(rules, state.tally)
    else:
        turn = _uniform(rules, state.tally)
    if turn in (COVER_STARTED, COVER_ACTIVE):
        cover(graph, state, np.int64(at.ACTIVE if turn == COVER_ACTIVE else at.STARTED))
    elif full is not None and turn == NEXT_OF_COVER:
        follow_cover(graph, state, np.bool_(False))
    elif full is not None and turn == RANDOM_PATH:
        _random_path(graph, rules, state)
    else:
        walk(graph, rules, state, np.int64(HIGHEST if turn == HIGHEST_PATH else WIDEST))
