"""Static max-coverage: a minimum policy cover per period, played on the odd episodes (appendix on algorithms).

When the period changes, every arc active then with fewer than k visits demands one visit, an integer minimum flow
over the FULL graph meets the demands, and its paths, a smallest set of policies that visits them all, are played one by
one on odd episodes. Even episodes play max-diameter. If the cover runs out while the period lasts, or once options
were excluded, the greedy rule of max-coverage takes over. Each path follows the arc with most flow left; ties: lowest
arc.
"""

from __future__ import annotations

from surepath._types import IntArray
from surepath.kernels.jit import folded_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.sampling.turns import COVER_STARTED, NEXT_OF_COVER, WIDEST_PATH
from surepath.learners.per_arc.state import Rules


@folded_kernel
def choose(rules: Rules, tally: IntArray) -> int:
    """Ask for the next path of the cover, else for a covering path, or for the widest one in turn."""
    if tally[at.EPISODES] % 2 == 1:
        return WIDEST_PATH
    return NEXT_OF_COVER if tally[at.COVER_LEFT] > 0 else COVER_STARTED
