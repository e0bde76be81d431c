"""The proven gap over trials, computed again from the log.

Challenger with a declared noise is given the sums after more and more trials: after every one at first, then after one
in a hundred of those before (its bound holds at all of them at once, whichever are read). Other learners, and
Challenger where it learns the noise from each score, are fed trial by trial, for the first `MOST_REPLAYED` trials.
"""

from __future__ import annotations

import contextlib
import json
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np

from surepath.errors import RewardError
from surepath.learners.base import Sizes, rounding_of
from surepath.learners.proven import gap_beyond_ranges
from surepath.learners.registry import build
from surepath.study.fold import EXCLUDE, counted_rewards
from surepath.study.fold import MOST_REPLAYED as MOST_REPLAYED
from surepath.study.storage import PAGE, ActionRow, TrialRow
from surepath.study.study import Study
from surepath.study.trial import EXPIRED, FAILED

MOST_POINTS = 400
Point = tuple[int, float, float]  # settled trials, proven gap (inf: nothing proven), epsilon at that time


def thin(points: list[Point], most: int = MOST_POINTS) -> list[Point]:
    """Keep about `most` points: half of them evenly spread over the trials, half over their logarithm, and the last.

    Example:
        >>> len(thin([(i, 1.0 / i, 0.1) for i in range(1, 100_000)])) <= 400
        True
    """
    if len(points) <= most:
        return points
    numbers = [point[0] for point in points]
    wanted = grid(numbers[-1], most)
    kept = sorted({min(bisect_left(numbers, number), len(points) - 1) for number in wanted})
    return [points[i] for i in kept]


def grid(last: int, most: int = MOST_POINTS) -> list[int]:
    """Return numbers of trials up to the last: all of them, or evenly and logarithmically spread ones."""
    if last <= most:
        return list(range(1, last + 1))
    even = np.linspace(1, last, most // 2)
    spread = np.geomspace(1, last, most // 2)
    return sorted({int(number) for number in np.round(np.concatenate([even, spread]))})


class Past:
    """A learner taken through the prefixes of a log."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.learner: Any = build(json.loads(study.record.settings), study.mdp)
        self.in_blocks = _by_sums(self.learner)
        self.number = self.acted = 0
        n = study.mdp.n_arcs
        self.visits, self.sums = np.zeros(n, dtype=np.int64), np.zeros(n)
        self.origin = np.zeros(n)
        self._arcs: list[int] = []
        self._rewards: list[float] = []
        self.actions: list[ActionRow] = []

    def points(self, last: int) -> Iterator[Point]:
        """Read up to a number of settled trials and yield the points on the way."""
        end = last if self.in_blocks else min(last, MOST_REPLAYED)
        rows: list[TrialRow] = []
        with self.study.storage.reading(self.study.name) as log:
            new = log.actions_after(self.acted)
        self.actions += new
        self.acted = new[-1].number if new else self.acted
        while self.number < end:
            target = min(end, self.number + max(1, self.number // 100))
            while self.number < target:
                while self.actions and self.actions[0].after <= self.number:
                    self._act(self.actions.pop(0))
                if not rows:
                    with self.study.storage.reading(self.study.name) as log:
                        rows = log.trials(self.number + 1, min(PAGE, end - self.number))[::-1]
                self._take(rows.pop())
                self.number += 1
            yield self.number, self._gap(), float(self.learner.epsilon)

    def _take(self, row: TrialRow) -> None:
        rewards = counted_rewards(self.study.mdp, row, self.study.options.on_failure)
        if not self.in_blocks:
            self._tell(row, rewards)
            return
        gains = self.study.mdp.gains_of(list(row.path[: len(rewards)]), np.array(rewards))
        if rounding_of(*Sizes(self.study.mdp).with_gains(gains)) > self.learner.epsilon > 0:
            return  # left out by the study too
        self._arcs.extend(row.path[: len(rewards)])
        self._rewards.extend(rewards)

    def _add_up(self) -> None:
        """Add the rewards taken since the last call to the sums, each as a difference from its arc's first one."""
        arcs = np.array(self._arcs, dtype=np.int64)
        gains = self.study.mdp.gains_of(arcs, np.array(self._rewards))
        self._arcs, self._rewards = [], []
        seen, first = np.unique(arcs, return_index=True)
        new = self.visits[seen] == 0
        self.origin[seen[new]] = gains[first[new]]
        n = len(self.visits)
        self.visits += np.bincount(arcs, minlength=n)
        self.sums += np.bincount(arcs, weights=gains - self.origin[arcs], minlength=n)

    def _tell(self, row: TrialRow, rewards: list[float]) -> None:
        path = np.array(row.path, dtype=np.int64)
        if rewards:
            with contextlib.suppress(RewardError):  # left out by the study too
                self.learner.tell(path, rewards)
        elif row.state in (FAILED, EXPIRED):
            self.learner.fail(path)

    def _gap(self) -> float:
        """Return the gap proven by now; infinite while the declared ranges alone say as much."""
        return gap_beyond_ranges(self.learner, self._certified())

    def _certified(self) -> float:
        if self.in_blocks:
            self._add_up()
            known = self.study.mdp.is_known
            evidence = {"visits": self.visits, "origin": self.origin, "sums": self.sums}
            evidence |= {name: np.where(known, 0.0, evidence[name]) for name in ("origin", "sums")}
            self.learner._go_on()
            self.learner._load({**self.learner._evidence(), **evidence})
            self.learner._check_anew()
            self.learner._proven = {}  # reading a study does not change it, so no earlier reading is remembered
            return float(self.learner._gap())
        kept = dict(self.learner._proven)
        gap = float(self.learner.certified_gap())
        self.learner._proven = kept  # reading changes nothing, here as in a study
        return gap

    def _act(self, action: Any) -> None:
        content = json.loads(action.content)
        if action.kind == EXCLUDE:
            self.learner.exclude(np.array(content, dtype=np.int64))
        else:
            self.learner.tighten(float(content))


def _by_sums(learner: Any) -> bool:
    """Return whether visits and sums are all that a learner's bound needs."""
    return bool(learner.noise == "sigma" and not learner._unknown)


def gap_history(study: Study, most: int = MOST_POINTS) -> list[Point]:
    """Return what was proven after each number of settled trials, thinned to about `most` points, and now.

    Example:
        >>> from surepath import MDP
        >>> study = Study.create(MDP.from_steps({"a": ["x", "y"]}, sigma=0.1), "memory", epsilon=0.5, delta=0.1)
        >>> for trial, score in zip(study.ask(2), (0.2, 0.9)):
        ...     _ = study.tell(trial, [score])
        >>> [(trials, bool(gap < 9), epsilon) for trials, gap, epsilon in gap_history(study)]
        [(1, False, 0.5), (2, True, 0.5)]
    """
    status = study.status()
    points = list(Past(study).points(status.settled))
    if status.settled and (not points or points[-1][0] == status.settled):
        points = points[:-1]
    if status.settled:
        points.append((status.settled, status.certified_gap, status.epsilon))
    return thin(points, most)
