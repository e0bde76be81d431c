"""Max-coverage: the sampling rule of Algorithm 1.

Odd episodes: the policy, among ALL policies, that visits most undersampled arcs,

    argmax sum_h 1{ (s_h, a_h) active when period k_t began, n^{t-1}(s_h, a_h) < k_t };

even episodes: max-diameter over active policies. k_t = 1 + min of n^{t-1} over active arcs is the period; it never
falls and may jump. Eliminated arcs may be played to cover faster. Ties: lowest arc.
"""

from __future__ import annotations

from surepath.kernels.arrays import Layers
from surepath.kernels.jit import hot_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.sampling import coverage
from surepath.learners.per_arc.state import Rules, State

_cover = coverage.cover


@hot_kernel
def choose(graph: Layers, rules: Rules, state: State) -> bool:
    """Write the path to play into the row PATH, or return False: it is max-diameter's turn.

    The episode about to be played is number EPISODES + 1.
    """
    if state.tally[at.EPISODES] % 2 == 1:
        return False
    _cover(graph, state, state.flag[at.STARTED])
    return True
