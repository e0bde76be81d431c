"""What earlier imports of past results held, so that the same results are not counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from surepath.study.states import IMPORTED
from surepath.study.storage.contract import Reading
from surepath.study.storage.records import TrialRow

Seen = tuple[tuple[int, ...], tuple[float, ...]]  # path and rewards
PAGE = 5_000


class Imports:
    """What earlier imports of a study held, read from its log as it grows.

    The rows of one import carry the same moment. An import is filed under its first row: whatever holds all of its
    rows holds that one.
    """

    def __init__(self) -> None:
        self._next = 1  # the first trial that was not looked at
        self._filed: dict[Seen, list[Counter[Seen]]] = {}
        self._last: tuple[float, Counter[Seen]] | None = None

    def sync(self, log: Reading) -> None:
        """Read the trials that came since; must be called before a transaction writes any."""
        while rows := log.trials(self._next, PAGE):
            self._next = rows[-1].number + 1
            for row in rows:
                if row.source == IMPORTED:
                    self._add(row)

    def _add(self, row: TrialRow) -> None:
        seen = (row.path, row.rewards)
        if self._last is None or self._last[0] != row.asked:
            self._last = (row.asked, Counter())
            self._filed.setdefault(seen, []).append(self._last[1])
        self._last[1][seen] += 1

    def within(self, rows: Sequence[TrialRow]) -> int:
        """Count the rows of the largest earlier import all of whose rows are among these; 0 when there is none."""
        new = Counter((row.path, row.rewards) for row in rows)
        return max((one.total() for seen in new for one in self._filed.get(seen, ()) if one <= new), default=0)
