"""Sampling rules: which path to play next. `choose` dispatches on the plan's number."""

from __future__ import annotations

from surepath.engine._jit import inner_kernel
from surepath.engine.arrays import Layers
from surepath.engine.state import Plan, State
from surepath.rules.sampling import (
    coverage,
    max_coverage,
    max_diameter,
    optimistic,
    static_max_coverage,
    uniform,
)

SAMPLING = ("max-coverage", "static-max-coverage", "max-diameter", "coverage", "optimistic", "uniform")
MAX_COVERAGE, STATIC_MAX_COVERAGE, MAX_DIAMETER, COVERAGE, OPTIMISTIC, UNIFORM = range(6)

_max_coverage, _max_diameter, _coverage = max_coverage.choose, max_diameter.choose, coverage.choose
_optimistic, _uniform, _static = optimistic.choose, uniform.choose, static_max_coverage.choose


@inner_kernel
def choose(graph: Layers, plan: Plan, state: State) -> None:
    """Write the path to play into the row PATH.

    Several rules leave some episodes to max-diameter; that is said here once and not in each of them, because each
    kernel takes in the kernels it calls and compiles them again.
    """
    own = False
    if plan.sampling == OPTIMISTIC:
        own = _optimistic(graph, plan, state)
    elif plan.sampling == MAX_COVERAGE:
        own = _max_coverage(graph, plan, state)
    elif plan.sampling == STATIC_MAX_COVERAGE:
        own = _static(graph, plan, state)
    elif plan.sampling == COVERAGE:
        own = _coverage(graph, plan, state)
    elif plan.sampling == UNIFORM:
        own = _uniform(graph, plan, state)
    if plan.sampling == MAX_DIAMETER or not own:
        _max_diameter(graph, plan, state)
