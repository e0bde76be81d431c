"""Max-diameter: play an active policy with the largest sum of widths (the function MaxDiameter of Algorithm 1).

    pi^t in argmax over Pi^{t-1} of sum_h b_h^{t-1}(s_h, a_h)

Unvisited arcs have infinite width: the path with most of them wins, then the finite part. Its value is half the
diameter that the stopping rule tests, so one backward pass serves both. Ties: lowest arc (least played action under
the `experiment` preset).
"""

from __future__ import annotations

from surepath._types import IntArray
from surepath.kernels.jit import folded_kernel
from surepath.learners.per_arc.sampling.turns import WIDEST_PATH
from surepath.learners.per_arc.state import Rules


@folded_kernel
def choose(rules: Rules, tally: IntArray) -> int:
    """Ask for the widest path."""
    return WIDEST_PATH
