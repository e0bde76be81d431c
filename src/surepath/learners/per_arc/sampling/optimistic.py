"""Optimistic: play the active policy of largest upper value; the sampling rule of BPI-UCRL.

    pi^t_h(s) = argmax_a  Qbar_h^{t-1}(s, a)

An unvisited arc has an infinite upper value: the path with most of them wins, then the finite part. Under the
`experiment` preset it plays on widths alone while some arc is unvisited, as the authors' code does. Ties: lowest arc
(least played action under that preset).
"""

from __future__ import annotations

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import hot_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import walk_best
from surepath.learners.per_arc.state import Rules, State


@hot_kernel
def choose(graph: Layers, rules: Rules, state: State) -> bool:
    """Write the path to play into the row PATH, or return False: it is max-diameter's turn."""
    if rules.widths_first == 1 and state.tally[at.UNSEEN] > 0:
        return False
    walk_best(graph, rules, state, state.path[at.PATH])
    return True
