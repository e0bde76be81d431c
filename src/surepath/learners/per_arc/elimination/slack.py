"""Prove by bookkeeping that nothing can be eliminated, which saves the passes of most episodes.

When all arcs have been judged and none was removed, each cleared its threshold by at least some slack. A path's upper
value is a sum over the stages, so since then it has fallen by at most the sum over the stages of the largest fall of an
arc's upper bound there; a lower value has risen by at most the like sum of rises. While the two sums together (USED)
stay below the slack, judging again would remove nothing, so it need not be done. The decisions are those of judging
in every episode, bit for bit: a guard far above the rounding of the sums keeps close calls out.

The value rule compares values from a state on, so an arc's slack is used up by the stages from its own on alone, and
the smallest slacks, those of the last stages, last longest. That is computed when all stages together would use it up.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.jit import folded_kernel, hot_kernel, inner_kernel
from surepath.learners.per_arc import state as at
from surepath.learners.per_arc.state import HALF_BIG, Rules, State


@hot_kernel
def note(state: State, h: int, e: np.uint64, top: float, lower: float) -> None:
    """Account for the new bounds of arc e at stage h."""
    stage, real = state.stage, state.real
    fall = state.arc[at.TOP_SEEN, e] - top - stage[at.FALLEN, h]
    if fall > 0.0:
        stage[at.FALLEN, h] += fall
        real[at.USED] += fall
    rise = lower - state.arc[at.LOWER_SEEN, e] - stage[at.RISEN, h]
    if rise > 0.0:
        stage[at.RISEN, h] += rise
        real[at.USED] += rise
        real[at.LIFTED] += rise


@folded_kernel
def is_idle(real: FloatArray, slack: float) -> bool:
    """Return whether judging by the rule with this slack would remove nothing."""
    return bool(real[at.USED] + real[at.GUARD] < slack)


@inner_kernel
def is_clear(stage: FloatArray, real: FloatArray) -> bool:
    """Return whether judging by the value rule would remove nothing.

    When all stages together use the slack up it is computed stage by stage; VALUE_SLACK is then what is left for all
    stages to come to.
    """
    if is_idle(real, real[at.VALUE_SLACK]):
        return True
    if real[at.VALUE_SLACK] == -np.inf or real[at.USED] >= HALF_BIG:
        return False
    left, since = np.inf, 0.0
    for h in range(stage.shape[1] - 1, -1, -1):
        since += stage[at.FALLEN, h] + stage[at.RISEN, h]
        left = min(left, stage[at.CLEAR_SEEN, h] - since)
    real[at.VALUE_SLACK] = real[at.USED] + left
    return is_idle(real, real[at.VALUE_SLACK])


@folded_kernel
def measure(state: State) -> bool:
    """Start over after a judgement, unless measuring does not pay: then judge 16 episodes in a row without it."""
    pays = measuring_pays(state.tally, state.tally[at.EPISODES], 2, 16)
    if pays:
        start_over(state.arc, state.stage, state.real)
    return pays


@folded_kernel
def measuring_pays(tally: IntArray, t: int, least: int, rest: int) -> bool:
    """Return whether to measure in episode t: not for `rest` episodes where it has lasted fewer than `least`."""
    if t < tally[at.EAGER]:
        return False
    lasted = t - tally[at.MEASURED]
    pays = lasted == 0 or lasted >= least  # 0: the other rule has just measured
    if pays:
        tally[at.MEASURED] = t
    else:
        tally[at.EAGER] = t + rest
    return bool(pays)


@inner_kernel
def measure_or_pause(rules: Rules, state: State, t: int, every: int) -> bool:
    """Measure in a sprint, FLOOR being up to date and nothing to remove, or take no notes for a while; return which.

    The seldomer arcs are judged, the longer a measurement must last to cost less than judging them.
    """
    least = 2 if rules.by_return == 1 else 4 * min(every, 1000) ** 2
    pays = measuring_pays(state.tally, t, least, 8 * least)
    if pays:
        start_over(state.arc, state.stage, state.real)
        state.real[at.FLOOR_SEEN] = state.node[at.FLOOR, 0]
    elif rules.by_return == 0:
        note_nothing(state)
    return pays


@folded_kernel
def note_nothing(state: State) -> None:
    """Forget what is left of any slack, and take no notes until `start_over`: no move is more than its stage allows."""
    for h in range(state.stage.shape[1]):
        state.stage[at.FALLEN, h] = np.inf
        state.stage[at.RISEN, h] = np.inf
    state.real[at.RETURN_SLACK] = -1.0
    state.real[at.VALUE_SLACK] = -np.inf
    state.real[at.FLOOR_SEEN] = np.inf


@inner_kernel
def start_over(arc: FloatArray, stage: FloatArray, real: FloatArray) -> None:
    """Measure from the bounds as they are now; what the rules have left of their slack is carried over."""
    real[at.RETURN_SLACK] -= real[at.USED]
    real[at.VALUE_SLACK] = real[at.VALUE_SLACK] - real[at.USED] if real[at.USED] < HALF_BIG else -np.inf
    real[at.FLOOR_SEEN] += real[at.LIFTED]
    real[at.USED] = 0.0
    real[at.LIFTED] = 0.0
    largest = 0.0
    for e in range(arc.shape[1]):
        arc[at.TOP_SEEN, e] = arc[at.TOP, e]
        arc[at.LOWER_SEEN, e] = arc[at.LOWER, e]
        if abs(arc[at.TOP, e]) < HALF_BIG:
            largest = max(largest, abs(arc[at.TOP, e]), abs(arc[at.LOWER, e]))
    since = 0.0
    for h in range(stage.shape[1] - 1, -1, -1):
        since += stage[at.FALLEN, h] + stage[at.RISEN, h]
        if real[at.VALUE_SLACK] > -np.inf:
            stage[at.CLEAR_SEEN, h] -= since
        stage[at.FALLEN, h] = 0.0
        stage[at.RISEN, h] = 0.0
    real[at.GUARD] = (1e-12 + 2.0**-48 * stage.shape[1]) * largest * stage.shape[1]
