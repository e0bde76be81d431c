"""One simulated future of a learner: compiled for Challenger, step by step for the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import deepcopy
from time import thread_time as clock

import numpy as np

from surepath.errors import RewardError
from surepath.kernels.arrays import reality_of
from surepath.learners.base import Learner
from surepath.learners.challenger import Challenger
from surepath.learners.challenger.play_on import gap_now, play_on
from surepath.model.instance import Instance
from surepath.simulation.stepwise import draw_reward

CLOCK_STRETCH = 20_000  # arcs times trials between two readings of the clock


class Run(ABC):
    """A copy of a learner that goes on in a simulated world.

    Attributes:
        played: Simulated trials so far.
        done: Whether the copy has stopped.
    """

    def __init__(self, learner: Learner, world: Instance, rng: np.random.Generator) -> None:
        self.learner = deepcopy(learner, {id(part): part for part in (learner.mdp, learner.graph)})
        self.world, self.reality, self.rng = world, reality_of(world), rng
        self.start, self.played, self.done = int(learner.episodes), 0, False

    @abstractmethod
    def go(self, trials: int, end: float) -> None:
        """Play until there are so many trials, it is done, or the clock says `end`."""

    @abstractmethod
    def gap(self) -> float:
        """Return the certified gap now."""


class Stepwise(Run):
    """Ask and tell, one trial at a time."""

    def go(self, trials: int, end: float) -> None:
        learner = self.learner
        while self.played < trials and not self.done and clock() < end:
            path = learner.ask()
            rewards = [draw_reward(self.world, int(arc), self.rng) for arc in path]
            try:
                learner.tell(path, rewards)
            except RewardError:  # a world too extreme to go on in
                return
            self.played += 1
            self.done = bool(learner.stopped)

    def gap(self) -> float:
        return float(self.learner.certified_gap())


class Compiled(Run):
    """Challenger's own loop, continued from a copy of the evidence."""

    def go(self, trials: int, end: float) -> None:
        own = self.learner
        assert isinstance(own, Challenger)
        while self.played < trials and not self.done and clock() < end:
            goal = min(trials, self.played + max(1, CLOCK_STRETCH // own.mdp.n_arcs))
            episodes, self.done = play_on(own, self.reality, self.rng, self.start + goal)
            self.played = episodes - self.start
            if not self.done and self.played < goal:
                return

    def gap(self) -> float:
        own = self.learner
        assert isinstance(own, Challenger)
        gap = gap_now(own, self.reality, self.rng)
        return max(0.0, min(gap, own.epsilon) if self.done else gap)


def new_run(learner: Learner, world: Instance, rng: np.random.Generator) -> Run:
    """Create a simulated future of a learner in a world."""
    kind = Compiled if type(learner) is Challenger else Stepwise
    return kind(learner, world, rng)
