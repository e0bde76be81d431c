"""Plays that were handed out to workers and not told yet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surepath._types import IntArray


class UnderWay:
    """Paths and how often each is under way, in the order in which they were first asked for."""

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

    def as_array(self) -> IntArray:
        """Return all plays, int [n, H]."""
        return np.array(list(self), dtype=np.int64).reshape(-1, self.horizon)
