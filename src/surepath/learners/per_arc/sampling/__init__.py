"""Sampling rules: which path to play next. `choose` dispatches on the rule's number."""

from __future__ import annotations

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import hot_kernel
from surepath.learners.per_arc.sampling import (
    coverage,
    max_coverage,
    max_diameter,
    optimistic,
    static_max_coverage,
    uniform,
)
from surepath.learners.per_arc.state import Rules, State

SAMPLING = ("max-coverage", "static-max-coverage", "max-diameter", "coverage", "optimistic", "uniform")
MAX_COVERAGE, STATIC_MAX_COVERAGE, MAX_DIAMETER, COVERAGE, OPTIMISTIC, UNIFORM_SAMPLING = range(6)

_max_coverage, _max_diameter, _coverage = max_coverage.choose, max_diameter.choose, coverage.choose
_optimistic, _uniform, _static = optimistic.choose, uniform.choose, static_max_coverage.choose


@hot_kernel
def choose(graph: Layers, rules: Rules, state: State) -> None:
    """Write the path to play into the row PATH.

    Several rules leave some episodes to max-diameter; that is said here once and not in each of them, because each
    kernel takes in the kernels it calls and compiles them again.
    """
    own = False
    if rules.sampling == OPTIMISTIC:
        own = _optimistic(graph, rules, state)
    elif rules.sampling == MAX_COVERAGE:
        own = _max_coverage(graph, rules, state)
    elif rules.sampling == STATIC_MAX_COVERAGE:
        own = _static(graph, rules, state)
    elif rules.sampling == COVERAGE:
        own = _coverage(graph, rules, state)
    elif rules.sampling == UNIFORM_SAMPLING:
        own = _uniform(graph, rules, state)
    if rules.sampling == MAX_DIAMETER or not own:
        _max_diameter(graph, rules, state)
