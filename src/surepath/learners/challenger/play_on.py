"""A copy of Challenger that goes on in a simulated world: its compiled loop, continued from the evidence it has.

Only the evidence and the scratch arrays of the copy change, so it is of no use afterwards; forecasts make such copies.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Reality
from surepath.learners import tasks
from surepath.learners.challenger import state as at
from surepath.learners.challenger.learner import Challenger
from surepath.learners.challenger.run import DONE, act, least_gap


def play_on(own: Challenger, reality: Reality, rng: np.random.Generator, until: int) -> tuple[int, bool]:
    """Play until there are so many episodes or the check passes; return how many there are and whether it passed."""
    answer = act(
        own.graph, own.pairs, own._seen, own._work, reality, rng, tasks.RUN, until, float(until), own.epsilon
    )  # fmt: skip
    return int(own._seen.memo[at.EPISODES]), answer == DONE


def gap_now(own: Challenger, reality: Reality, rng: np.random.Generator) -> float:
    """Compute the least gap that the evidence of the copy proves for its incumbent."""
    return float(least_gap(own.graph, own.pairs, own._seen, own._work, reality, rng))
