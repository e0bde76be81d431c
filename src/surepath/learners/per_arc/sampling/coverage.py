"""Coverage: play the policy that visits most undersampled arcs, in every episode.

    pi^t in argmax over ALL policies of sum_h 1{ (s_h, a_h) in A, n^{t-1}(s_h, a_h) < k_t },
    k_t = 1 + min of n^{t-1} over active arcs

with A the arcs active now: this is how the authors ran max-coverage. Eliminated arcs may be played on the way. Arcs
with a known reward are never undersampled. Ties: lowest arc.
"""

from __future__ import annotations

from surepath._types import IntArray
from surepath.kernels.jit import folded_kernel
from surepath.learners.per_arc.sampling.turns import COVER_ACTIVE
from surepath.learners.per_arc.state import Rules


@folded_kernel
def choose(rules: Rules, tally: IntArray) -> int:
    """Ask for a path that covers what is active now."""
    return COVER_ACTIVE
