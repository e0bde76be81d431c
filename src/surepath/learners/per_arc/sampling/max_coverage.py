"""Max-coverage: the sampling rule of Algorithm 1.

Odd episodes: the policy, among ALL policies, that visits most undersampled arcs,

    argmax sum_h 1{ (s_h, a_h) active when period k_t began, n^{t-1}(s_h, a_h) < k_t };

even episodes: max-diameter over active policies. k_t = 1 + min of n^{t-1} over active arcs is the period; it never
falls and may jump. Eliminated arcs may be played to cover faster. Ties: lowest arc.
"""

from __future__ import annotations

from surepath._types import IntArray
from surepath.kernels.jit import folded_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.sampling.turns import COVER_STARTED, WIDEST_PATH
from surepath.learners.per_arc.state import Rules


@folded_kernel
def choose(rules: Rules, tally: IntArray) -> int:
    """Ask for a covering path or the widest one in turn; the episode about to be played is number EPISODES + 1."""
    return WIDEST_PATH if tally[at.EPISODES] % 2 == 1 else COVER_STARTED
