"""What a learner remembers of plays besides their rewards: those under way, and arcs that keep failing.

An episode that breaks off at stage k is a failure of the arc it was about to play there. After `PATIENCE` failures in a
row an arc rests, so that episodes are not wasted on what is broken: while it does, paths around it are played where
there are any. Each further failure makes the rest longer, and one success ends it. What is played never touches the
guarantee. Nothing is proven while an arc was never seen: one that cannot be run at all must be excluded before the
learner can stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np

from surepath._types import BoolArray, IntArray

PATIENCE = 3  # failures in a row before an arc rests
GROWTH = 1.3  # ratio of a rest to the one before: an arc that fails now and then must not starve
MOST_IN_A_ROW = 30  # failures in a row beyond which rests grow no more


class UnderWay:
    """Plays given to workers and not told yet: paths, in the order in which they were first asked for."""

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self._count: dict[bytes, int] = {}

    def add(self, path: IntArray) -> None:
        """Add one play of a path, int64 [H]."""
        key = path.tobytes()
        self._count[key] = self._count.get(key, 0) + 1

    def remove(self, path: IntArray) -> bool:
        """Remove one play of this path; False when there is none."""
        key = path.tobytes()
        left = self._count.get(key, 0) - 1
        if left > 0:
            self._count[key] = left
        elif left == 0:
            del self._count[key]
        return left >= 0

    def __iter__(self) -> Iterator[IntArray]:
        for key, count in self._count.items():
            for _ in range(count):
                yield np.frombuffer(key, dtype=np.int64)

    def __len__(self) -> int:
        return sum(self._count.values())

    def as_array(self) -> IntArray:
        """Return all plays, int [n, H]."""
        return np.array(list(self), dtype=np.int64).reshape(-1, self.horizon)


class Failures:
    """Failures in a row of each arc, and until which episode it rests.

    Attributes:
        in_a_row: int [N].
        until: Number of told episodes at which an arc is tried again, int [N].
        total: Failures of each arc so far, int [N].
    """

    def __init__(self, n_arcs: int) -> None:
        self.in_a_row: IntArray = np.zeros(n_arcs, dtype=np.int64)
        self.until: IntArray = np.zeros(n_arcs, dtype=np.int64)
        self.total: IntArray = np.zeros(n_arcs, dtype=np.int64)

    def note(self, path: IntArray, played: int, told: int) -> None:
        """Take in an episode of which `played` rewards were seen; `told` counts the episodes told so far."""
        self.in_a_row[path[:played]] = 0
        self.until[path[:played]] = 0
        if played < len(path):
            self.blame(int(path[played]), told)

    def blame(self, arc: int, told: int) -> None:
        """Count a failure of one arc; `told` counts the episodes told so far."""
        self.total[arc] += 1
        self.in_a_row[arc] += 1
        if self.in_a_row[arc] >= PATIENCE:
            self.until[arc] = told + ceil(2 * GROWTH ** min(int(self.in_a_row[arc]), MOST_IN_A_ROW))

    def resting(self, path: IntArray, told: int) -> bool:
        """Return whether the path uses an arc that rests."""
        return bool((self.until[path] > told).any())

    def rested(self, told: int) -> BoolArray:
        """Return which arcs do not rest, bool [N]."""
        return self.until <= told
