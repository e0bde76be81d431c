"""What a reward is compared by: the arc before it, choices further back, and the time of its episode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.model.mdp import MDP

LOOK_BACK = 4  # how many of the latest choices a reward is compared by, besides the first of all
ANY = -1  # in place of a stage or an arc: none in particular


class Cells(NamedTuple):
    """Rewards of arcs by context; `Contexts` numbers the contexts."""

    context: IntArray  # [C]
    arc: IntArray  # [C]
    rewards: FloatArray  # [C] how many
    total: FloatArray  # [C] sum of z


class Contexts:
    """The contexts of a problem and their numbers.

    Below 0: a stretch of time, each twice as long as the one before, so that the latest holds half of all episodes.
    Below N: the arc taken just before, which tells how a state was reached. From N: an action taken further back.

    Attributes:
        earlier, later: The two stages of every comparison, int [P], by the later one: the latest few and the first.
    """

    def __init__(self, mdp: MDP) -> None:
        self.stage_arc, self.n_arcs, self._action = mdp.stage_arc, mdp.n_arcs, mdp.action
        self._actions = int(mdp.action.max()) + 1
        pairs = [(i, j) for j in range(mdp.horizon) for i in {0, *range(max(0, j - LOOK_BACK), j)} if i < j]
        self.earlier, self.later = np.array(sorted(pairs, key=lambda pair: pair[::-1]), dtype=np.int64).reshape(-1, 2).T
        self._upto = np.searchsorted(self.later, np.arange(mdp.horizon + 1)).tolist()

    def choices(self, path: IntArray) -> tuple[IntArray, IntArray]:
        """Return the (context, stage) pairs that the first stages of a path make, two int [P']."""
        pairs = slice(self._upto[len(path)])
        earlier, later = self.earlier[pairs], self.later[pairs]
        arc = path[earlier]
        further = self.n_arcs + earlier * self._actions + self._action[arc]
        return np.where(later - earlier == 1, arc, further), later

    @staticmethod
    def epoch(episode: int) -> int:
        """Return the context of the episode's time, for episodes 1, 2, ..."""
        return -episode.bit_length()

    def earlier_stage(self, context: IntArray) -> IntArray:
        """Return the stage where a context was chosen, ANY for a stretch of time."""
        further = (context - self.n_arcs) // self._actions
        return np.where(context < 0, ANY, np.where(context < self.n_arcs, self.stage(context), further))

    def stage(self, arc: IntArray) -> IntArray:
        """Return the stage of each arc."""
        return np.searchsorted(self.stage_arc, arc, side="right") - 1
