"""Design: the non-adaptive baseline. Every play is fixed before the first one, and the data are analysed once."""

from __future__ import annotations

from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.kernels.draw import draw
from surepath.kernels.flow import Schedule, schedule
from surepath.kernels.jit import bare_kernel
from surepath.kernels.sweeps import Reality
from surepath.learners.base import Learner
from surepath.learners.runs import GAP, GO_ON
from surepath.model.mdp import MDP
from surepath.model.paths import best_path


@bare_kernel
def play_list(
    paths: IntArray,
    due: IntArray,
    reality: Reality,
    rng: np.random.Generator,
    budget: int,
    used: IntArray,
    origin: FloatArray,
    sums: FloatArray,
) -> None:
    """Play the list round by round until nothing is due or `budget` plays are made; sums are relative to the origin."""
    left = min(due.sum(), budget)
    while left > 0:
        for i in range(len(due)):
            if due[i] > 0 and left > 0:
                due[i] -= 1
                left -= 1
                for h in range(paths.shape[1]):
                    e = paths[i, h]
                    gain = draw(reality, np.uint64(e), rng)
                    if used[e] == 0:
                        origin[e] = gain
                    used[e] += 1
                    sums[e] += gain - origin[e]


class Design(Learner):
    """Play a fixed list of paths, then recommend the one of largest empirical sum.

    Nothing adapts to what is seen, so it needs no anytime bound and no union over times: where all paths are about
    equal it is hard to beat, and where gaps are clear it wastes most of its episodes. The answer is within epsilon of
    the best with probability at least 1 - delta. Only plays of the list count, each as often as planned; other episodes
    are kept in `visits` and not used.

    Args:
        mdp, epsilon, delta, sigma: As in `Learner`: epsilon above 0.

    Attributes:
        schedule: The paths, how often each is played, and what that proves.

    Example:
        >>> learner = Design(MDP.from_arrays([[[0, 0]]]), epsilon=0.5, delta=0.1, sigma=0.1)
        >>> while not learner.stopped:
        ...     path = learner.ask()
        ...     learner.tell(path, [float(path[0])])
        >>> learner.recommend().tolist(), learner.episodes
        ([1], 2)
    """

    name: ClassVar[str] = "Design"

    def __init__(self, mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike | None = None) -> None:
        super().__init__(mdp, epsilon, delta, sigma)
        if self.epsilon == 0:
            number = "no fixed number of trials"
            raise SettingError(f"a design needs an epsilon above 0: with epsilon 0 {number} is enough")
        self.schedule: Schedule = schedule(mdp, self.sigma, self.epsilon, self.delta)
        self._due: IntArray = self.schedule.plays.copy()
        self._used: IntArray = np.zeros(mdp.n_arcs, dtype=np.int64)
        self._used_sums: FloatArray = np.zeros(mdp.n_arcs)
        self._cursor = 0  # the list is played round by round, so that drift would hit all paths alike
        self._place = {path.tobytes(): at for at, path in enumerate(self.schedule.paths)}

    def _active(self) -> BoolArray:
        """Return every arc: a design rules nothing out."""
        return np.ones(self.mdp.n_arcs, dtype=np.bool_)

    def _choose(self) -> IntArray:
        left = np.flatnonzero(self._due)
        return cast(IntArray, self.schedule.paths[left[np.searchsorted(left, self._cursor) % len(left)]])

    def _absorb(self, path: IntArray, gains: FloatArray) -> None:
        self.episodes += 1
        learned = ~self.mdp.is_known[path]
        arcs, news = path[learned], gains[learned]
        new = self._visits[arcs] == 0
        self._origin[arcs[new]] = news[new]
        self._visits[path] += 1
        self._sums[arcs] += news - self._origin[arcs]
        at = self._place.get(path.tobytes())
        if at is None or self._due[at] == 0:
            return
        self._used[path] += 1
        self._used_sums[arcs] += news - self._origin[arcs]
        self._due[at] -= 1
        self._cursor = at + 1
        self._stop(GO_ON if self._due.any() else GAP)

    def _recommend(self) -> IntArray:
        mean = self._origin + self._used_sums / np.maximum(self._used, 1)
        return best_path(self.mdp, np.where(self.mdp.is_known, self.known_gain, mean))

    def _gap(self) -> float:
        """Return the gap that the whole list proves, infinite before its end."""
        return self.schedule.gap if not self._due.any() else float("inf")

    def _play(self, reality: Reality, rng: np.random.Generator, budget: int) -> None:
        plan = self.schedule
        play_list(plan.paths, self._due, reality, rng, budget, self._used, self._origin, self._used_sums)
        self.episodes = min(budget, plan.episodes)
        self._stop(GO_ON if self._due.any() else GAP)
