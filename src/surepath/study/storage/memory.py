"""Studies in memory: the plainest storage, for tests and for studies that need not outlive their process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field

from surepath.errors import StorageError, StudyError
from surepath.study.storage.contract import Reading, Storage, Writing
from surepath.study.storage.records import ActionRow, QueueRow, SnapshotRow, StudyRecord, TrialRow
from surepath.study.storage.sql import unknown_study
from surepath.study.trial import CANCELLED, EXPIRED, RUNNING


@dataclass
class _Book:
    """All rows of one study. Writers work on a shallow copy and keep new trials aside until they commit."""

    record: StudyRecord
    writer: threading.RLock = field(default_factory=threading.RLock)  # held for a whole write transaction
    lock: threading.RLock = field(default_factory=threading.RLock)  # held while rows are read or committed
    trials: dict[int, TrialRow] = field(default_factory=dict)
    changed: dict[int, None] = field(default_factory=dict)  # numbers in the order of their last change
    running: dict[int, None] = field(default_factory=dict)
    naming: dict[int, list[int]] = field(default_factory=dict)  # trials that name a trial
    requested: dict[str, list[int]] = field(default_factory=dict)
    actions: tuple[ActionRow, ...] = ()
    queue: tuple[QueueRow, ...] = ()
    requests: frozenset[str] = frozenset()
    snapshots: dict[int, SnapshotRow] = field(default_factory=dict)
    changes: int = 0


class MemoryStorage(Storage):
    """Studies that are kept as long as this object."""

    url = "memory"

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._books: dict[str, _Book] = {}
        self._lock = threading.Lock()
        self._clock = clock or time.time

    def create(self, record: StudyRecord) -> None:
        with self._lock:
            found = self._books.get(record.name)
            if found is not None and found.record != record:
                raise StudyError(
                    f"a study {record.name!r} already exists here; go on with it (exist_ok=True, --exist-ok), "
                    f"or create one under another name"
                )
            if found is None:
                self._books[record.name] = _Book(record)

    def load(self, name: str) -> StudyRecord:
        return self._book(name).record

    def names(self) -> list[str]:
        return sorted(self._books)

    def delete(self, name: str) -> None:
        with self._book(name).writer, self._lock:
            self._books.pop(name, None)

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
        with book.writer:
            if self._book(name) is not book:  # deleted and made anew while we waited
                raise unknown_study(name, self.names())
            writing = _Writing(copy(book), self._clock())
            yield writing
            with book.lock:
                writing.commit(book)


class _Reading(Reading):
    def __init__(self, book: _Book, now: float) -> None:
        self._book, self._now = book, now
        self._written: dict[int, TrialRow] = {}
        self._last = len(book.trials)

    def now(self) -> float:
        return self._now

    def created(self) -> float:
        return self._book.record.created

    def last_change(self) -> int:
        return self._book.changes

    def last_number(self) -> int:
        return self._last

    def trial(self, number: int) -> TrialRow | None:
        return self._written.get(number) or self._book.trials.get(number)

    def _rows(self, numbers: Sequence[int]) -> list[TrialRow]:
        return [row for number in numbers if (row := self.trial(number)) is not None]

    def trials(self, first: int, limit: int) -> list[TrialRow]:
        first = max(first, 1)
        return self._rows(range(first, min(self._last, first + limit - 1) + 1))

    def trials_changed_after(self, change: int, limit: int) -> list[TrialRow]:
        found = []
        for number in reversed(self._book.changed):
            row = self._book.trials[number]
            if row.change <= change:
                break
            found.append(row)
        return sorted(found, key=lambda row: (row.change, row.number))[:limit]

    def trials_of(self, number: int) -> list[TrialRow]:
        own = [row for row in self._written.values() if row.of == number and row.number not in self._book.trials]
        return self._rows(self._book.naming.get(number, [])) + own

    def trials_of_request(self, request: str) -> list[TrialRow]:
        own = [r for r in self._written.values() if r.request == request and r.number not in self._book.trials]
        return self._rows(self._book.requested.get(request, [])) + own

    def expired(self, now: float, limit: int) -> list[TrialRow]:
        rows = self._rows(sorted({*self._book.running, *self._written}))
        return [row for row in rows if not row.settled and row.lease < now][:limit]

    def actions_after(self, number: int) -> list[ActionRow]:
        return list(self._book.actions[max(number, 0) :])

    def queue(self, limit: int) -> list[QueueRow]:
        return list(self._book.queue[:limit])

    def snapshot(self, format: int) -> SnapshotRow | None:
        return self._book.snapshots.get(format)

    def snapshot_prefix(self, format: int) -> int:
        found = self._book.snapshots.get(format)
        return 0 if found is None else found.prefix


class _Writing(_Reading, Writing):
    """Rows written here stay aside until the block has ended without an error."""

    _change: int | None = None

    def change(self) -> int:
        if self._change is None:
            self._change = self._book.changes + 1
        return self._change

    def first_time(self, request: str) -> bool:
        new = request not in self._book.requests
        self._book.requests |= {request}
        return new

    def add_trials(self, rows: Sequence[TrialRow]) -> None:
        for number, row in enumerate(rows, start=self._last + 1):
            if row.number != number:
                raise StorageError(f"trial {row.number} cannot follow trial {number - 1}")
        for row in rows:
            self._written[row.number] = row._replace(change=self.change())
        self._last += len(rows)

    def update_trial(self, row: TrialRow) -> None:
        old = self.trial(row.number)
        if old is None or old.state not in (RUNNING, EXPIRED, CANCELLED):
            raise StorageError(f"trial {row.number} does not exist or is settled with a result: it cannot be changed")
        self._written[row.number] = old._replace(
            state=row.state,
            rewards=row.rewards,
            lease=row.lease,
            told=row.told,
            note=row.note,
            change=self.change(),
        )

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
            if number not in book.trials:
                if row.of is not None:
                    book.naming.setdefault(row.of, []).append(number)
                if row.request is not None:
                    book.requested.setdefault(row.request, []).append(number)
            book.trials[number] = row
            book.changed.pop(number, None)
            book.changed[number] = None
            if not row.settled:
                book.running[number] = None
            else:
                book.running.pop(number, None)
        mine = self._book
        book.actions, book.queue, book.snapshots = mine.actions, mine.queue, mine.snapshots
        book.requests = mine.requests
        book.changes = self._change or book.changes
