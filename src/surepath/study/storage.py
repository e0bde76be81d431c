"""Where a study's log is kept: what every storage promises, the rows it keeps, and how passing faults are repeated.

`tests/study/storage/test_contract.py` holds every storage to this contract. `sql.py` has the one for databases.

A storage keeps studies by name. Each has a log of trials, numbered 1, 2, ... without gaps; a log of actions, likewise;
a queue of waiting plans; and snapshots.

- `writing(name)` opens a transaction that excludes every other writer of this study, on any thread, process or host.
  It sees all that was committed before, and commits at the end of the block: all of it, durably, or, if the block
  raises or the process dies, nothing. Writers of the same study wait for each other; when the wait is longer than the
  storage's patience the error says so.
  A writer sees its own rows too, except in `last_change` and `trials_changed_after`, which know only what is committed
  and are for transactions that have not written yet.
- `reading(name)` opens a transaction that sees one consistent state; it never waits for writers, except in memory.
- Every write transaction that changes rows gets the next change number, and the rows it changed carry it. So
  `trials_changed_after(c)` gives, in the order of changes, all that a reader who has seen change c does not know.
  The cost depends on what changed, not on the length of the log.
- Every change has a random stamp. A backup restored in place, while others have the study open, goes on with change
  numbers that were used before: who has read change c with its stamp, and finds another one there, has read another
  log and must forget it.
- `now()` is the storage's clock, the same for all who use it; leases are measured with it.
- Errors of the database come out as StorageError in words; nothing is retried that may have been committed.
"""

from __future__ import annotations

import io
import json
import logging
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from surepath._text import hidden
from surepath.errors import SettingError, StorageError
from surepath.study.trial import EXPIRED, SETTLED


@dataclass(frozen=True)
class StudyRecord:
    """What is frozen when a study is created.

    Attributes:
        name: Unique in its storage.
        problem: The problem as JSON text, without means.
        problem_hash: Content hash of the graph.
        settings: Learner and settings, every number of its bound among them, as JSON text.
        options: Lease, failure policy and the like, as JSON text.
        created: Seconds since 1970.
        version: The surepath version that created it.
    """

    name: str
    problem: str
    problem_hash: str
    settings: str
    options: str
    created: float
    version: str


class TrialRow(NamedTuple):
    """One trial of the log."""

    number: int  # 1, 2, ... in the order asked for
    state: str
    path: tuple[int, ...]  # H arcs
    source: str
    of: int | None = None  # the trial this one repeats or reports late
    rewards: tuple[float, ...] = ()  # those that were reported, in the user's direction
    worker: str = ""
    asked: float = 0.0  # seconds since 1970
    lease: float = 0.0  # when the lease ends; of an expired trial, when it is given up
    told: float | None = None  # when it was settled
    note: str = ""  # why it failed
    attended: bool = False  # whether a runner renews the lease, so that it ends only when the worker died
    request: str | None = None  # names the request that asked for it, so that a repeated one changes nothing
    change: int = 0  # number of the write that last changed this row

    @property
    def settled(self) -> bool:
        """Return whether the trial is settled, so that later ones may count; an expired one is when it was given up."""
        return self.state in SETTLED and (self.state != EXPIRED or self.told is not None)


class ActionRow(NamedTuple):
    """A decision of a person that is part of the log: an exclusion, a tighter epsilon."""

    number: int  # 1, 2, ...
    after: int  # the action counts after this many settled trials
    kind: str
    content: str  # JSON
    at: float
    change: int = 0


class QueueRow(NamedTuple):
    """A plan that waits to be assigned."""

    number: int
    path: tuple[int, ...]
    source: str
    of: int | None = None
    at: float = 0.0


class SnapshotRow(NamedTuple):
    """The state of a fold after a number of settled trials: a cache, which may be deleted at any time."""

    prefix: int
    actions: int
    format: int
    content: bytes


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
    def stamp(self, change: int) -> int | None:
        """Return the random stamp of a committed change, None where there was no such change, or at 0."""

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
    """

    url: str

    @property
    def shown(self) -> str:
        """Return the address as it may be shown: without its secrets."""
        return hidden(self.url)

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
    def reading(self, name: str, known: int = 0) -> AbstractContextManager[Reading]:
        """Open a read transaction; the stamp of change `known` is read along."""

    @abstractmethod
    def writing(self, name: str, known: int = 0) -> AbstractContextManager[Writing]:
        """Open a write transaction; the stamp of change `known` is read along."""

    @abstractmethod
    def close(self) -> None:
        """Release connections."""


def open_storage(storage: Any) -> Storage:
    """Return the storage that a URL names; a Storage is returned as it is."""
    if isinstance(storage, Storage):
        return storage
    if not isinstance(storage, str) or not storage:
        given = type(storage).__name__ if storage else "nothing"
        raise SettingError(f'storage must be a URL such as "sqlite:///study.db", not {given}')
    from surepath.study.sql import SqlStorage

    return SqlStorage(storage)


T = TypeVar("T")
STORAGE_PATIENCE = 120.0  # seconds
LONGEST_STORAGE_PAUSE = 2.0
SAID_FROM = 0.3  # shorter pauses are not worth a warning

log = logging.getLogger("surepath.study")
log.addHandler(logging.NullHandler())


def retrying(do: Callable[[], T], patience: float = STORAGE_PATIENCE) -> T:
    """Call a function until it succeeds or patience is at an end; a second call must change nothing."""
    end, pause = time.monotonic() + patience, 0.01
    while True:
        try:
            return do()
        except TransientError as error:
            if time.monotonic() + pause > end:
                raise
            log.log(logging.WARNING if pause >= SAID_FROM else logging.DEBUG, "%s; trying again", error)
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, LONGEST_STORAGE_PAUSE)


ENCODING_FORMAT = 1
_TREE = "tree"


def encode_tree(tree: Any) -> bytes:
    """Write a tree of dicts, lists, numbers, texts, None and arrays."""
    arrays: dict[str, Any] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            key = f"a{len(arrays)}"
            arrays[key] = value
            return {"$array": key}
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return value.item() if isinstance(value, np.generic) else value

    text = json.dumps(plain(tree))
    file = io.BytesIO()
    arrays[_TREE] = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def decode_tree(content: bytes) -> Any:
    """Read what `encode_tree` wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:

        def rich(value: Any) -> Any:
            if isinstance(value, dict):
                if value.keys() == {"$array"}:
                    return file[value["$array"]]
                return {key: rich(item) for key, item in value.items()}
            return [rich(item) for item in value] if isinstance(value, list) else value

        return rich(json.loads(file[_TREE].tobytes()))
