"""One simulated future of a study: Challenger's compiled loop, continued from a copy of the evidence."""

from __future__ import annotations

from copy import deepcopy
from time import thread_time as clock

import numpy as np

from surepath.kernels.arrays import reality_of
from surepath.learners.challenger import Challenger
from surepath.learners.challenger.play_on import gap_now, play_on
from surepath.model.instance import Instance

CLOCK_STRETCH = 20_000  # arcs times trials between two readings of the clock


class Run:
    """A copy of a learner that goes on in a simulated world.

    Attributes:
        played: Simulated trials so far.
        done: Whether the copy has stopped.
    """

    def __init__(self, learner: Challenger, world: Instance, rng: np.random.Generator) -> None:
        self.learner = deepcopy(learner, {id(part): part for part in (learner.mdp, learner.graph)})
        self.world, self.reality, self.rng = world, reality_of(world), rng
        self.start, self.played, self.done = int(learner.episodes), 0, False

    def go(self, trials: int, end: float) -> None:
        """Play until there are so many trials, it is done, or the clock says `end`."""
        own = self.learner
        while self.played < trials and not self.done and clock() < end:
            goal = min(trials, self.played + max(1, CLOCK_STRETCH // own.mdp.n_arcs))
            episodes, self.done = play_on(own, self.reality, self.rng, self.start + goal)
            self.played = episodes - self.start
            if not self.done and self.played < goal:
                return

    def gap(self) -> float:
        """Return the certified gap now."""
        gap = gap_now(self.learner, self.reality, self.rng)
        return max(0.0, min(gap, self.learner.epsilon) if self.done else gap)
