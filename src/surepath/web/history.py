"""The proven gap over trials, thinned here so that a million trials draw in an instant.

A thread of its own follows the log. It gives Challenger the sums after more and more trials: after every one at first,
then after one in a hundred of those before (its bound holds at all of them at once, whichever are looked at). Other
learners are fed trial by trial, for the first `MOST_REPLAYED` trials. What is proven at this moment is the last point.
"""

from __future__ import annotations

import json
import logging
import threading
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import numpy as np

from surepath.learners.registry import build
from surepath.study.fold import EXCLUDE, PAGE, worst_reward
from surepath.study.states import EXPIRED, FAILED, PARTIAL, WORST
from surepath.study.storage.records import ActionRow, TrialRow
from surepath.study.study import Study

log = logging.getLogger("surepath.web")

POINTS = 400
MOST_REPLAYED = 20_000
Point = tuple[int, float, float]  # settled trials, proven gap (inf: nothing proven), epsilon at that time


def thin(points: list[Point], most: int = POINTS) -> list[Point]:
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


def grid(last: int, most: int = POINTS) -> list[int]:
    """Return numbers of trials up to the last: all of them, or evenly and logarithmically spread ones."""
    if last <= most:
        return list(range(1, last + 1))
    even = np.linspace(1, last, most // 2)
    spread = np.geomspace(1, last, most // 2)
    return sorted({int(number) for number in np.round(np.concatenate([even, spread]))})


class History:
    """The gap history of one study; safe to use from several threads.

    Attributes:
        read: Settled trials up to which the log has been read.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.read = 0
        self._wanted = 0
        self._past: list[Point] = []
        self._now: list[Point] = []  # what was proven when somebody looked, after what has been read
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._follower: _Past | None = None

    @property
    def complete(self) -> bool:
        """Whether the past has been read as far as it will be."""
        with self._lock:
            return self.read >= self._wanted

    @property
    def missing(self) -> int:
        """Trials after which the past is not looked at, because there are too many for this learner."""
        follower = self._follower
        return 0 if follower is None or follower.in_blocks else max(0, self._wanted - MOST_REPLAYED)

    def note(self, prefix: int, gap: float, epsilon: float) -> None:
        """Add what is proven now, and read on."""
        with self._lock:
            if self._now and self._now[-1][0] >= prefix:
                self._now.pop()
            if prefix > 0:
                self._now.append((prefix, gap, epsilon))
            if len(self._now) > 2 * POINTS:
                self._now = thin(self._now)
            self._wanted = max(self._wanted, prefix)
            if self.read < self._wanted and (self._reader is None or not self._reader.is_alive()):
                self._reader = threading.Thread(target=self._read, daemon=True, name="surepath-history")
                self._reader.start()

    def points(self, after: int = 0) -> list[Point]:
        """Return the points that are known so far, thinned; or all of those after a number of trials."""
        with self._lock:
            last = self._past[-1][0] if self._past else 0
            found = self._past + [point for point in self._now if point[0] > last]
            if self._now and found[-1][0] == self._now[-1][0]:
                found[-1] = self._now[-1]
        return [point for point in found if point[0] > after] if after else thin(found)

    def wait(self, seconds: float) -> bool:
        """Wait for the past to be read; returns whether it is."""
        reader = self._reader
        if reader is not None:
            reader.join(seconds)
        return self.complete

    def _read(self) -> None:
        try:
            if self._follower is None:
                self._follower = _Past(self.study)
            while not self.complete:
                for point in self._follower.points(self._wanted):
                    with self._lock:
                        self._past.append(point)
                        self.read = point[0]
                        if len(self._past) > 4 * POINTS:
                            self._past = thin(self._past, 2 * POINTS)
                with self._lock:
                    self.read = self._wanted
        except Exception as error:
            log.error("the history of %r cannot be read: %s", self.study.name, error)


class _Past:
    """A learner taken through the prefixes of a log."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.learner: Any = build(json.loads(study.record.settings), study.mdp)
        self.in_blocks = self.learner.name == "Challenger"
        self.number = self.acted = 0
        n = study.mdp.n_arcs
        self.visits, self.sums = np.zeros(n, dtype=np.int64), np.zeros(n)
        self.origin = np.zeros(n)
        self._arcs: list[int] = []
        self._rewards: list[float] = []
        self.actions: list[ActionRow] = []

    def points(self, last: int) -> Iterator[Point]:
        """Go on to a number of settled trials and yield the points on the way."""
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
        rewards = list(row.rewards)
        mdp = self.study.mdp
        if row.state in (PARTIAL, FAILED) and self.study.options.on_failure == WORST and len(rewards) < mdp.horizon:
            rewards.append(worst_reward(mdp, row.path[len(rewards)]))
        if not self.in_blocks:
            self._tell(row, rewards)
            return
        self._arcs.extend(row.path[: len(rewards)])
        self._rewards.extend(rewards)

    def _add_up(self) -> None:
        """Add the rewards taken since the last look to the sums, each as a difference from its arc's first one."""
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
            self.learner.tell(path, rewards)
        elif row.state in (FAILED, EXPIRED):
            self.learner.fail(path)

    def _gap(self) -> float:
        if self.in_blocks:
            self._add_up()
            known = self.study.mdp.is_known
            told = {"visits": self.visits, "origin": self.origin, "sums": self.sums}
            told |= {name: np.where(known, 0.0, told[name]) for name in ("origin", "sums")}
            self.learner._go_on()
            self.learner._load({**self.learner._evidence(), **told})
            self.learner._check_anew()
            self.learner._proven = {}  # a look at a study does not change it, so none remembers an earlier one
            return float(self.learner._gap())
        return float(self.learner.certified_gap())

    def _act(self, action: Any) -> None:
        content = json.loads(action.content)
        if action.kind == EXCLUDE:
            self.learner.exclude(np.array(content, dtype=np.int64))
        else:
            self.learner.tighten(float(content))
