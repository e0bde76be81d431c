"""Max-diameter: play an active policy with the largest sum of widths (the function MaxDiameter of Algorithm 1).

    pi^t in argmax over Pi^{t-1} of sum_h b_h^{t-1}(s_h, a_h)

Unvisited arcs have infinite width: the path with most of them wins, then the finite part. Its value is half the
diameter that the stopping rule tests, so one backward pass serves both. Ties: lowest arc (least played action under
the `experiment` preset).
"""

from __future__ import annotations

from surepath.engine._jit import hot_kernel
from surepath.engine.arrays import Layers
from surepath.engine.state import PATH, Plan, State
from surepath.engine.views import walk_spread


@hot_kernel
def choose(graph: Layers, plan: Plan, state: State) -> None:
    """Write the path to play into the row PATH."""
    walk_spread(graph, plan, state, state.path[PATH])
