"""Studies in memory: the plainest storage, for tests and for studies that need not outlive their process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field

from surepath.errors import StorageError, StudyError
from surepath.study.states import RUNNING
from surepath.study.storage.contract import Reading, Storage, Writing
from surepath.study.storage.records import ActionRow, QueueRow, SnapshotRow, StudyRecord, TrialRow
from surepath.study.storage.sql import unknown_study


@dataclass
class _Book:
    """All rows of one study. Lists are replaced, never changed, so that a shallow copy is a consistent state."""

    record: StudyRecord
    lock: threading.RLock = field(default_factory=threading.RLock)
    trials: dict[int, TrialRow] = field(default_factory=dict)
    changed: dict[int, None] = field(default_factory=dict)  # numbers in the order of their last change
    running: dict[int, None] = field(default_factory=dict)
    actions: tuple[ActionRow, ...] = ()
    queue: tuple[QueueRow, ...] = ()
    snapshots: dict[int, SnapshotRow] = field(default_factory=dict)
    changes: int = 0


class MemoryStorage(Storage):
    """Studies that live as long as this object."""

    url = "memory"

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._books: dict[str, _Book] = {}
        self._lock = threading.Lock()
        self._clock = clock or time.time

    def create(self, record: StudyRecord) -> None:
        with self._lock:
            if record.name in self._books:
                raise StudyError(
                    f"a study {record.name!r} already exists here; load it, or create one under another name"
                )
            self._books[record.name] = _Book(record)

    def load(self, name: str) -> StudyRecord:
        return self._book(name).record

    def names(self) -> list[str]:
        return sorted(self._books)

    def delete(self, name: str) -> None:
        with self._book(name).lock, self._lock:
            del self._books[name]

    def _book(self, name: str) -> _Book:
        try:
            return self._books[name]
        except KeyError:
            raise unknown_study(name, self.names()) from None

    @contextmanager
    def reading(self, name: str) -> Iterator[Reading]:
        book = self._book(name)
        with book.lock:
            yield _Reading(book, self._clock())

    @contextmanager
    def writing(self, name: str) -> Iterator[Writing]:
        book = self._book(name)
        with book.lock:
            self._book(name)  # it may have been deleted while we waited
            writing = _Writing(copy(book), self._clock())
            yield writing
            writing.commit(book)


class _Reading(Reading):
    def __init__(self, book: _Book, now: float) -> None:
        self._book, self._now = book, now
        self._written: dict[int, TrialRow] = {}

    def now(self) -> float:
        return self._now

    def last_change(self) -> int:
        return self._book.changes

    def last_number(self) -> int:
        return len(self._book.trials) + sum(number not in self._book.trials for number in self._written)

    def trial(self, number: int) -> TrialRow | None:
        return self._written.get(number) or self._book.trials.get(number)

    def _all(self) -> list[TrialRow]:
        return [row for number in range(1, self.last_number() + 1) if (row := self.trial(number)) is not None]

    def trials(self, first: int, limit: int) -> list[TrialRow]:
        stop = min(self.last_number(), max(first, 1) + limit - 1)
        return [row for n in range(max(first, 1), stop + 1) if (row := self.trial(n)) is not None]

    def trials_changed_after(self, change: int, limit: int) -> list[TrialRow]:
        found = []
        for number in reversed(self._book.changed):
            row = self._book.trials[number]
            if row.change <= change:
                break
            found.append(row)
        return sorted(found, key=lambda row: (row.change, row.number))[:limit]

    def trials_of(self, number: int) -> list[TrialRow]:
        return [row for row in self._all() if row.of == number]

    def trials_of_request(self, request: str) -> list[TrialRow]:
        return [row for row in self._all() if row.request == request]

    def expired(self, now: float, limit: int) -> list[TrialRow]:
        rows = (self.trial(number) for number in sorted(self._book.running))
        return [row for row in rows if row is not None and row.state == RUNNING and row.lease < now][:limit]

    def actions_after(self, number: int) -> list[ActionRow]:
        return [row for row in self._book.actions if row.number > number]

    def queue(self, limit: int) -> list[QueueRow]:
        return list(self._book.queue[:limit])

    def snapshot(self, format: int) -> SnapshotRow | None:
        return self._book.snapshots.get(format)


class _Writing(_Reading, Writing):
    """Rows written here stay aside until the block has ended without an error."""

    _change: int | None = None

    def change(self) -> int:
        if self._change is None:
            self._change = self._book.changes + 1
        return self._change

    def add_trial(self, row: TrialRow) -> None:
        if row.number != self.last_number() + 1:
            raise StorageError(f"trial {row.number} cannot follow trial {self.last_number()}")
        self._written[row.number] = row._replace(change=self.change())

    def update_trial(self, row: TrialRow) -> None:
        old = self.trial(row.number)
        if old is None or old.settled:
            raise StorageError(f"trial {row.number} does not exist or is settled: it cannot be changed")
        self._written[row.number] = row._replace(change=self.change())

    def add_action(self, row: ActionRow) -> None:
        if row.number != len(self._book.actions) + 1:
            raise StorageError(f"action {row.number} cannot follow action {len(self._book.actions)}")
        self._book.actions = (*self._book.actions, row._replace(change=self.change()))

    def add_to_queue(self, row: QueueRow, *, front: bool = False) -> int:
        waiting = self._book.queue
        number = 0 if not waiting else (waiting[0].number - 1 if front else waiting[-1].number + 1)
        new = (row._replace(number=number),)
        self._book.queue = new + waiting if front else waiting + new
        self.change()
        return number

    def take_from_queue(self, number: int) -> None:
        self._book.queue = tuple(row for row in self._book.queue if row.number != number)
        self.change()

    def save_snapshot(self, row: SnapshotRow) -> None:
        self._book.snapshots = {**self._book.snapshots, row.format: row}

    def commit(self, book: _Book) -> None:
        """Make everything written part of the study."""
        for number, row in self._written.items():
            book.trials[number] = row
            book.changed.pop(number, None)
            book.changed[number] = None
            if row.state == RUNNING:
                book.running[number] = None
            else:
                book.running.pop(number, None)
        book.actions, book.queue, book.snapshots = self._book.actions, self._book.queue, self._book.snapshots
        book.changes = self._change or book.changes
