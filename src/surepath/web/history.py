"""The proven gap over trials, thinned here so that a million trials draw in an instant.

The past of a study is read from its log once, in the background: Challenger is given the sums after some three hundred
prefixes (its bound holds at all of them at once, whichever are looked at); other learners are fed trial by trial, for
the first `MOST_REPLAYED` trials. From then on every look at the study adds a point.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left
from math import inf
from typing import Any

import numpy as np

from surepath.learners.registry import build
from surepath.study.fold import EXCLUDE, PAGE, worst_reward
from surepath.study.states import EXPIRED, FAILED, PARTIAL, WORST
from surepath.study.storage.records import TrialRow
from surepath.study.study import Study

POINTS = 400
MOST_REPLAYED = 20_000
Point = tuple[int, float, float]  # settled trials, proven gap (inf: nothing proven), epsilon at that time


def thin(points: list[Point], most: int = POINTS) -> list[Point]:
    """Keep about `most` points: half of them evenly spread over the trials, half over their logarithm, and the last.

    Example:
        >>> len(thin([(i, 1.0 / i, 0.1) for i in range(1, 100_000)]))
        335
    """
    if len(points) <= most:
        return points
    numbers = [point[0] for point in points]
    wanted = grid(numbers[-1], most)
    kept = sorted({min(bisect_left(numbers, number), len(points) - 1) for number in wanted})
    return [points[i] for i in kept]


def grid(last: int, most: int = POINTS) -> list[int]:
    """Return the trials after which the gap is looked at: all of them, or evenly and logarithmically spread ones."""
    if last <= most:
        return list(range(1, last + 1))
    even = np.linspace(1, last, most // 2)
    spread = np.geomspace(1, last, most // 2)
    return sorted({int(number) for number in np.round(np.concatenate([even, spread]))})


class History:
    """The gap history of one study; safe to use from several threads.

    Attributes:
        complete: Whether the past has been read to its end.
        missing: Trials after which the past was not looked at, because it is too long for this learner.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.complete, self.missing = False, 0
        self._past: list[Point] = []
        self._live: list[Point] = []
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None

    def note(self, prefix: int, gap: float, epsilon: float) -> None:
        """Add what is proven now."""
        with self._lock:
            if self._live and self._live[-1][0] == prefix:
                self._live.pop()
            if prefix > 0:
                self._live.append((prefix, gap, epsilon))
            if len(self._live) > 2 * POINTS:
                self._live = thin(self._live)
        if self._reader is None:
            self._reader = threading.Thread(target=self._read, args=(prefix,), daemon=True, name="surepath-history")
            self._reader.start()

    def points(self) -> list[Point]:
        """Return the thinned points that are known so far."""
        with self._lock:
            first = self._live[0][0] if self._live else inf
            return thin([point for point in self._past if point[0] < first] + self._live)

    def wait(self, seconds: float) -> bool:
        """Wait for the past to be read; returns whether it is."""
        if self._reader is not None:
            self._reader.join(seconds)
        return self.complete

    # The past ----------------------------------------------------------------------------------------------------

    def _read(self, last: int) -> None:
        try:
            past = _Past(self.study, last)
            self.missing = last - past.last
            for point in past.points():
                with self._lock:
                    self._past.append(point)
        finally:
            self.complete = True


class _Past:
    """A learner taken through the prefixes of a log."""

    def __init__(self, study: Study, last: int) -> None:
        self.study = study
        self.learner: Any = build(json.loads(study.record.settings), study.mdp)
        self.in_blocks = self.learner.name == "Challenger"
        self.last = last if self.in_blocks else min(last, MOST_REPLAYED)
        n = study.mdp.n_arcs
        self.visits, self.sums = np.zeros(n, dtype=np.int64), np.zeros(n)
        self.origin = np.zeros(n)
        self._arcs: list[int] = []
        self._rewards: list[float] = []
        with study.storage.reading(study.name) as log:
            self.actions = log.actions_after(0)

    def points(self) -> Any:
        """Yield the points, in the order of trials."""
        wanted, number = grid(self.last), 0
        rows: list[TrialRow] = []
        for target in wanted:
            while number < target:
                while self.actions and self.actions[0].after <= number:
                    self._act(self.actions.pop(0))
                if not rows:
                    with self.study.storage.reading(self.study.name) as log:
                        rows = log.trials(number + 1, PAGE)[::-1]
                    if not rows:
                        return
                self._take(rows.pop())
                number += 1
            yield number, self._gap(), float(self.learner.epsilon)

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
        arcs, gains = np.array(self._arcs, dtype=np.int64), self.study.mdp.sign * np.array(self._rewards)
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
            return float(self.learner._gap())
        return float(self.learner.certified_gap())

    def _act(self, action: Any) -> None:
        content = json.loads(action.content)
        if action.kind == EXCLUDE:
            self.learner.exclude(np.array(content, dtype=np.int64))
        else:
            self.learner.tighten(float(content))
