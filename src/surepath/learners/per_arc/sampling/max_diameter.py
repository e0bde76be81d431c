"""Max-diameter: play an active policy with the largest sum of widths (the function MaxDiameter of Algorithm 1).

    pi^t in argmax over Pi^{t-1} of sum_h b_h^{t-1}(s_h, a_h)

Unvisited arcs have infinite width: the path with most of them wins, then the finite part. Its value is half the
diameter that the stopping rule tests, so one backward pass serves both. Ties: lowest arc (least played action under
the `experiment` preset).
"""

from __future__ import annotations

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import hot_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.cached_values import walk_spread
from surepath.learners.per_arc.state import Rules, State


@hot_kernel
def choose(graph: Layers, rules: Rules, state: State) -> None:
    """Write the path to play into the row PATH."""
    walk_spread(graph, rules, state, state.path[at.PATH])
