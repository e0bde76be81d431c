"""The short way through an episode for the two rules that play one value: max-diameter and optimism.

Both choose the next path and test their stop on the same backward pass, SPREAD or BEST. An episode is quick when that
pass is fresh, every width is finite and no value-based elimination can be due; it then ends after one pass unless a
period ends or the stop is near. Everything else takes the long way through the rules, and what both decide is
the same: this file leaves out only what provably changes nothing.
"""

from __future__ import annotations

import numpy as np

from surepath.engine._jit import hot_kernel
from surepath.engine.arrays import Layers
from surepath.engine.masked import backward_masked, walk_masked
from surepath.engine.state import (
    BEST,
    CROWDED,
    FLOOR_SEEN,
    FRESH_BEST,
    FRESH_SPREAD,
    GUARD,
    LIFTED,
    LOW,
    PASSABLE_INFINITE,
    PATH,
    RETURN_SLACK,
    SPREAD,
    UNSEEN,
    UPPER,
    VALUE_SLACK,
    VISITS,
    WIDTH,
    Plan,
    State,
)
from surepath.rules.elimination import EVERY_EPISODE, eliminate
from surepath.rules.elimination.slack import is_idle
from surepath.rules.sampling import MAX_DIAMETER, OPTIMISTIC
from surepath.rules.stopping import DIAMETER, OPTIMAL_GAP


@hot_kernel
def can_be_quick(plan: Plan) -> bool:
    """Whether the plan is one of the two, with eliminations and tests in every episode."""
    wide = plan.sampling == MAX_DIAMETER and plan.stopping == DIAMETER
    hopeful = plan.sampling == OPTIMISTIC and plan.stopping == OPTIMAL_GAP and plan.by_return == 0
    return bool((wide or hopeful) and plan.schedule == EVERY_EPISODE and plan.at_eliminations == 0 and plan.wait == 0)


@hot_kernel
def is_quick(plan: Plan, state: State) -> bool:
    """Whether the coming episode of such a plan may take the short way."""
    tally = state.tally
    fresh = tally[FRESH_SPREAD] == 1 if plan.sampling == MAX_DIAMETER else tally[FRESH_BEST] == 1
    finite = tally[PASSABLE_INFINITE] == 0 and (plan.widths_first == 0 or tally[UNSEEN] == 0)
    return bool(fresh and finite and (plan.by_value == 0 or is_idle(state, state.real[VALUE_SLACK])))


@hot_kernel
def walk_quick(graph: Layers, plan: Plan, state: State) -> None:
    """Write the path to play into the row PATH."""
    visits, least, path = state.number[VISITS], plan.least_played, state.path[PATH]
    if plan.sampling == MAX_DIAMETER:
        walk_masked(graph, state.arc[WIDTH], state.node[SPREAD], visits, least, path)
    else:
        walk_masked(graph, state.arc[UPPER], state.node[BEST], visits, least, path)


@hot_kernel
def goes_on(graph: Layers, plan: Plan, state: State, epsilon: float) -> bool:
    """Eliminate where something can go; whether no period ends and the stop is not near, the pass fresh again."""
    real = state.real
    if plan.by_return == 1 and not is_idle(state, real[RETURN_SLACK]):
        eliminate(graph, plan, state, np.bool_(False))
    if state.tally[LOW] == 0:
        return False
    if plan.sampling == MAX_DIAMETER:
        backward_masked(graph, state.arc[WIDTH], state.node[SPREAD])
        state.tally[FRESH_SPREAD] = 1
        return bool(2.0 * state.node[SPREAD, 0] > epsilon and state.tally[CROWDED] > 0)
    backward_masked(graph, state.arc[UPPER], state.node[BEST])
    state.tally[FRESH_BEST] = 1
    return bool(state.node[BEST, 0] - real[FLOOR_SEEN] - real[LIFTED] > epsilon + real[GUARD])
