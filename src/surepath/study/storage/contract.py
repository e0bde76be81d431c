"""What a storage promises. `tests/study/storage/test_contract.py` holds every storage to it.

A storage keeps studies by name. Each has a log of trials, numbered 1, 2, ... without gaps; a log of actions, likewise;
a queue of waiting plans; and snapshots.

- `writing(name)` opens a transaction that excludes every other writer of this study, on any thread, process or host.
  It sees all that was committed before, and commits at the end of the block: all of it, durably, or, if the block
  raises or the process dies, nothing. Writers of the same study wait for each other; when the wait is longer than the
  storage's patience the error says so.
  A writer sees its own rows too, except in `last_change` and `trials_changed_after`, which know only what is committed
  and are for transactions that have not written yet.
- `reading(name)` opens a transaction that sees one consistent state; it never waits for writers.
- Every write transaction that changes rows gets the next change number, and the rows it changed carry it. So
  `trials_changed_after(c)` gives, in the order of changes, all that a reader who has seen change c does not know.
  The cost depends on what changed, not on the length of the log.
- `now()` is the storage's clock, the same for all who use it; leases are measured with it.
- Errors of the database come out as StorageError in words; nothing is retried that may have been committed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

from surepath.errors import StorageError
from surepath.study.storage.records import ActionRow, QueueRow, SnapshotRow, StudyRecord, TrialRow

PAGE = 5_000  # rows that are read or written at a time


class TransientError(StorageError):
    """A transaction that did not come through for a passing reason: a lost connection, a lock held for too long.

    It may have been committed or not; whoever repeats it must make sure that a second time changes nothing.
    """


def missing_row(what: str, number: int) -> StorageError:
    """Return the error of a reader that finds a gap in a log, which is numbered without gaps."""
    return StorageError(f"{what} {number} is missing from the log: rows were deleted; restore a backup of the study")


class Reading(ABC):
    """One consistent state of a study."""

    @abstractmethod
    def now(self) -> float:
        """Read the storage's clock, seconds since 1970."""

    @abstractmethod
    def created(self) -> float:
        """Return when the study was created: a study deleted and made anew under its name is another one."""

    @abstractmethod
    def last_change(self) -> int:
        """Return the number of the last change, 0 at the beginning."""

    @abstractmethod
    def last_number(self) -> int:
        """Return the number of the last trial, 0 when there is none."""

    @abstractmethod
    def trial(self, number: int) -> TrialRow | None:
        """Return one trial, or None."""

    @abstractmethod
    def trials(self, first: int, limit: int) -> list[TrialRow]:
        """List the trials from a number on, in their order, at most `limit`; a missing one is a StorageError."""

    @abstractmethod
    def trials_changed_after(self, change: int, limit: int) -> list[TrialRow]:
        """List the trials that committed transactions changed after a change, by change and number, at most `limit`."""

    @abstractmethod
    def trials_of(self, number: int) -> list[TrialRow]:
        """List the trials that name this one: late results and repeats."""

    @abstractmethod
    def trials_of_request(self, request: str) -> list[TrialRow]:
        """List the trials that a request asked for."""

    @abstractmethod
    def expired(self, now: float, limit: int) -> list[TrialRow]:
        """List trials that run, or are awaited after that, whose `lease` ended before now, by number."""

    @abstractmethod
    def actions_after(self, number: int) -> list[ActionRow]:
        """List the actions after one, in their order; a missing one is a StorageError."""

    @abstractmethod
    def queue(self, limit: int) -> list[QueueRow]:
        """List the waiting plans, those to be assigned first at the front."""

    @abstractmethod
    def snapshot(self, format: int) -> SnapshotRow | None:
        """Return the latest snapshot of a format, or None."""

    @abstractmethod
    def snapshot_prefix(self, format: int) -> int:
        """Return how many trials the latest snapshot of a format covers, 0 when there is none."""


class Writing(Reading):
    """A transaction that excludes every other writer of this study."""

    @abstractmethod
    def change(self) -> int:
        """Return this transaction's change number; the first call takes it."""

    @abstractmethod
    def first_time(self, request: str) -> bool:
        """Record the name of a request; False when a committed transaction recorded it before: it was carried out."""

    @abstractmethod
    def add_trials(self, rows: Sequence[TrialRow]) -> None:
        """Append trials; their numbers must be the next ones."""

    @abstractmethod
    def update_trial(self, row: TrialRow) -> None:
        """Change state, rewards, lease, note and moment of telling of a trial without a result, nothing else."""

    @abstractmethod
    def add_action(self, row: ActionRow) -> None:
        """Append an action; its number must be the next."""

    @abstractmethod
    def add_to_queue(self, row: QueueRow, *, front: bool = False) -> int:
        """Queue a plan, at the end or at the front, and return its number (the row's own is ignored)."""

    @abstractmethod
    def take_from_queue(self, number: int) -> None:
        """Remove a waiting plan."""

    @abstractmethod
    def save_snapshot(self, row: SnapshotRow) -> None:
        """Store a snapshot and delete older ones of its format."""


class Storage(ABC):
    """A place that keeps studies.

    Attributes:
        url: Its address.
        replaced: How often something else was found in its place, such as a backup; what was read before is void then.
    """

    url: str
    replaced: int = 0

    @property
    def shown(self) -> str:
        """Return the address as it may be shown: without a password."""
        return self.url

    @abstractmethod
    def create(self, record: StudyRecord) -> None:
        """Store a new study, or raise StudyError when the name exists already; the very same record may be repeated."""

    @abstractmethod
    def load(self, name: str) -> StudyRecord:
        """Return a study, or raise StudyError that names what exists."""

    @abstractmethod
    def names(self) -> list[str]:
        """List the studies by name."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a study and its log."""

    @abstractmethod
    def reading(self, name: str) -> AbstractContextManager[Reading]:
        """Open a read transaction."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[Writing]:
        """Open a write transaction."""

    def close(self) -> None:  # noqa: B027 (memory has nothing to close)
        """Release connections."""
