"""Optimistic: play the active policy of largest upper value; the sampling rule of BPI-UCRL.

    pi^t_h(s) = argmax_a  Qbar_h^{t-1}(s, a)

An unvisited arc has an infinite upper value: the path with most of them wins, then the finite part. Under the
`experiment` preset it plays on widths alone while some arc is unvisited, as the authors' code does. Ties: lowest arc
(least played action under that preset).
"""

from __future__ import annotations

from surepath._types import IntArray
from surepath.kernels.jit import folded_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.sampling.turns import HIGHEST_PATH, WIDEST_PATH
from surepath.learners.per_arc.state import Rules


@folded_kernel
def choose(rules: Rules, tally: IntArray) -> int:
    """Ask for the path of largest upper value, or for the widest one."""
    return WIDEST_PATH if rules.widths_first == 1 and tally[at.UNSEEN] > 0 else HIGHEST_PATH
