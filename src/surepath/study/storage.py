"""Keep the logs of studies in an SQL database, through SQLAlchemy Core.

`tests/study/test_storage.py` holds SQLite, memory and PostgreSQL to this contract. A storage keeps studies by name.
Each has a log of trials, numbered 1, 2, ... without gaps; a log of actions, likewise; a queue of waiting plans; and
snapshots.

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

A study has a row in `heads` that counts its changes and trials; it is the study's lock. On PostgreSQL a write
transaction begins with SELECT ... FOR UPDATE of that row; on SQLite with BEGIN IMMEDIATE, which locks the file. In
memory there is one connection, and transactions, of readers too, take turns on it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from surepath._checks import shortened, suggest
from surepath.errors import ConflictError, StorageError, StudyError, UnknownError
from surepath.study import tables as sql
from surepath.study.tables import TransientError
from surepath.study.trial import SOURCES, STATES, ActionRow, QueueRow, SnapshotRow, StudyRecord, TrialRow

PAGE = 5_000  # rows that are read or written at a time


def missing_row(what: str, number: int) -> StorageError:
    """Return the error of a reader that finds a gap in a log, which is numbered without gaps."""
    return StorageError(f"{what} {number} is missing from the log: rows were deleted; restore a backup of the study")


UPGRADE_LOCK = 7_352_901_846  # PostgreSQL's advisory lock while tables are built
_ABANDONED: list[Any] = []  # pools of connections inherited by a fork, never closed: they are the parent's


class Storage:
    """A place that keeps studies: SQLite, PostgreSQL, or "memory" for as long as this lives; tests set the clock."""

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        self._url = sql.read_url(url)
        self.in_memory = url in sql.MEMORY
        self.url = "memory" if self.in_memory else url if "://" in url else f"sqlite:///{url}"
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self._engine = open_engine(self._url)
        self._turn: Any = threading.RLock() if self.in_memory else nullcontext()
        if self.in_memory:
            weakref.finalize(self, self._engine.dispose)
        self._path = os.path.abspath(str(self._url.database))  # of SQLite's file, wherever this process goes
        self._process = os.getpid()
        self._clock = clock
        self.patience = STORAGE_PATIENCE  # seconds for which a database that is away is tried again
        self._ready = False
        self._file: tuple[int, int] | None = None  # which file the connections have open, where it is SQLite's

    @property
    def shown(self) -> str:
        return self.url if self.in_memory else sql.shown(self._url)

    @contextmanager
    def _connection(self, *, write: bool) -> Iterator[sa.Connection]:
        """Open a transaction; errors of the database come out in words."""
        self._abandon_inherited()
        try:
            with self._turn, self._engine.connect() as plain:
                connection = plain.execution_options(**{PENDING_WRITE: write})
                with connection.begin():
                    yield connection
        except (SQLAlchemyError, sqlite3.Error) as error:
            found = sql.storage_error(error, self._url, self._ready)
            raise found from (None if sql.WITHHELD in str(found) else error)

    def _abandon_inherited(self) -> None:
        """Leave connections alone that this process inherited by a fork: they are the parent's."""
        if os.getpid() != self._process and not self.in_memory:
            _ABANDONED.append(self._engine.pool)
            self._engine.dispose(close=False)
            self._process = os.getpid()

    def _prepare(self, *, create: bool) -> None:
        """Check the database once; with create, build the tables when they are missing."""
        on_file = self.is_sqlite and not self.in_memory
        if self._ready and not (on_file and self._replaced(create)):
            return
        if on_file and not create and not os.path.exists(self._path):
            raise StorageError(f"there is no file {self._url.database}; surepath study create makes one")
        with self._connection(write=False) as connection:
            built = sql.check_schema(connection)
        if not built and not create and not self.in_memory:
            raise StorageError(f"{self.shown} holds no studies")
        if not built:
            self._build()
        if on_file:
            self._file = _identity(self._path)
        self._ready = True

    def _replaced(self, create: bool) -> bool:
        """Return whether another file has the name now, and let go of the old one; an error where none has.

        A file that was deleted can still be written through open connections, and all of that would be lost.
        """
        now = _identity(self._path)
        if now is None and not create:
            raise StorageError(
                f"{self._url.database} was deleted or moved while it was in use; what was reported before is where it "
                f"went, and nothing more is taken"
            )
        if now == self._file:
            return False
        self._abandon_inherited()
        self._engine.dispose()
        self._ready = False
        return True

    def _build(self) -> None:
        if self.is_sqlite and not self.in_memory:  # cannot be changed inside a transaction
            try:
                with self._engine.connect() as connection:
                    connection.connection.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]
            except (SQLAlchemyError, sqlite3.Error) as error:
                raise sql.storage_error(error, self._url) from error
        with self._connection(write=True) as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(UPGRADE_LOCK)))
            if not sql.check_schema(connection):
                sql.build_tables(connection)

    def create(self, record: StudyRecord) -> None:
        """Store a new study, or raise StudyError when the name exists already; the very same record may be repeated."""
        self._prepare(create=True)
        with self._connection(write=True) as connection:
            if found := self._record(connection, record.name):
                if found == record:  # a repeated call: the first one came through
                    return
                raise _duplicate(record.name)
            try:
                made: Any = connection.execute(sa.insert(sql.studies).values(record.__dict__)).inserted_primary_key
                connection.execute(sa.insert(sql.heads).values(study=made.id, **dict.fromkeys(sql.COUNTERS, 0)))
            except IntegrityError:
                raise _duplicate(record.name) from None

    def load(self, name: str) -> StudyRecord:
        """Return a study, or raise StudyError that names what exists."""
        self._prepare(create=False)
        with self._connection(write=False) as connection:
            found = self._record(connection, name)
        if found is None:
            raise unknown_study(name, self.names())
        return found

    def _record(self, connection: sa.Connection, name: str) -> StudyRecord | None:
        row = connection.execute(sa.select(sql.studies).where(sql.studies.c.name == name)).mappings().first()
        if row is None:
            return None
        check_values(f"the study {name!r}", sql.studies, tuple(row.keys()), row.values())
        return StudyRecord(**{field: row[field] for field in StudyRecord.__dataclass_fields__})

    def names(self) -> list[str]:
        """List the studies by name."""
        self._prepare(create=False)
        with self._connection(write=False) as connection:
            return [str(name) for name in connection.execute(sql.STUDY_NAMES).scalars()]

    def delete(self, name: str) -> None:
        """Delete a study and its log."""
        with self.writing(name) as transaction:
            for table in (sql.snapshots, sql.requests, sql.queue, sql.actions, sql.trials, sql.changes, sql.heads):
                transaction.run(sa.delete(table).where(table.c.study == transaction.study))
            transaction.run(sa.delete(sql.studies).where(sql.studies.c.id == transaction.study))

    @contextmanager
    def reading(self, name: str, known: int = 0) -> Iterator[Reading]:
        """Open a read transaction; the stamp of change `known` is read along."""
        self._prepare(create=False)
        with self._connection(write=False) as connection:
            study = self._study(connection, name, known, sql.ONE_STUDY if self.is_sqlite else sql.TIMED_STUDY)
            yield Reading(connection, study, self._now(study), known)

    @contextmanager
    def writing(self, name: str, known: int = 0) -> Iterator[Writing]:
        """Open a write transaction; the stamp of change `known` is read along."""
        self._prepare(create=False)
        with self._connection(write=True) as connection:
            study = self._study(connection, name, known, sql.ONE_STUDY if self.is_sqlite else sql.LOCKED_STUDY)
            log = Writing(connection, study, self._now(study), known)
            yield log
            log.finish()

    def _study(self, connection: sa.Connection, name: str, known: int, statement: Any) -> Any:
        row = connection.execute(statement, {"the_name": name, "the_known": known}).first()
        if row is None:
            raise unknown_study(name, [str(one) for one in connection.execute(sql.STUDY_NAMES).scalars()])
        study, counters = f"the study {name!r}", [getattr(row, counter) for counter in sql.COUNTERS]
        check_values(study, sql.studies, ("id", "created"), (row.id, row.created))
        check_values(study, sql.heads, sql.COUNTERS, counters)
        check_values("a trial", sql.trials, ("told",), (row.first_lease,))  # which may be None
        return row

    def _now(self, study: Any) -> float:
        if self._clock is not None:
            return self._clock()
        return time.time() if self.is_sqlite else float(study.now)

    def ping(self) -> None:
        """Raise StorageError where the database does not answer."""
        if self.in_memory:  # there is none; its one connection may be taken for long
            return
        self._prepare(create=False)
        with self._connection(write=False) as connection:
            connection.execute(sa.select(1))

    def close(self) -> None:
        """Release connections."""
        if not self.in_memory:
            self._engine.dispose()


def _identity(file: str) -> tuple[int, int] | None:
    """Return which file has a name now; None where there is none."""
    with suppress(OSError):
        found = os.stat(file)
        return found.st_dev, found.st_ino
    return None


def unknown_study(name: str, known: list[str]) -> UnknownError:
    """Return the error that a study does not exist, with the names of those that do."""
    return UnknownError(f"there is no study {name!r} here" + (suggest(name, known) if known else "; there are none"))


def _duplicate(name: str) -> StudyError:
    return StudyError(
        f"a study {name!r} already exists here; go on with it (exist_ok=True, --exist-ok), "
        f"or create one under another name"
    )


# Opening --------------------------------------------------------------------------------------------------------------
# SQLite runs in WAL mode, so that readers never wait, and write transactions begin with BEGIN IMMEDIATE, so that two
# writers queue up instead of failing in the middle. synchronous=FULL: what was committed survives a power failure too.
# WAL mode keeps an index beside the file, which a folder that cannot be written does not take: there a file is opened
# as one that does not change, anew for every transaction, so that it can be read.

BUSY_MS = 10_000  # how long SQLite itself waits for a lock
LOCK_MS = 10_000  # how long PostgreSQL does
IDLE_MS = 120_000  # after which PostgreSQL ends the transaction of a worker that hangs, so that others can go on
POOL = {"pool_size": 5, "max_overflow": 20}  # connections that are kept, and further ones; the URL may say otherwise
POOL_SECONDS = 10  # to wait for one of them
PENDING_WRITE = "surepath_write"  # execution option of a connection about to write


def open_engine(url: URL) -> sa.Engine:
    """Create the engine of a database, with the settings that studies rely on."""
    if url.get_backend_name() != "sqlite":
        return _open_postgres(url)
    if url.database is None:
        engine = sa.create_engine(url, poolclass=sa.StaticPool, connect_args={"check_same_thread": False})
        _begin_by_hand(engine)
        return engine
    file = Path(str(url.database))
    if not file.parent.is_dir():
        raise StorageError(f"the folder {file.parent} does not exist; a study's file is created, its folder is not")
    pool: dict[str, Any] = {"poolclass": sa.NullPool} if _sealed(file) else {}
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_MS / 1000, "check_same_thread": False}, **pool)

    @sa.event.listens_for(engine, "do_connect")
    def _open(_dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        if pool and _sealed(file):
            arguments[0], options["uri"] = f"file:{quote(str(file.absolute()))}?immutable=1", True

    _begin_by_hand(engine)
    return engine


def _open_postgres(url: URL) -> sa.Engine:
    """Create the engine of a PostgreSQL database, which pgbouncer may stand before: nothing is kept in a session.

    A pool may hold connections of a server that has been restarted since: the first use finds out, empties the pool and
    is repeated (`retrying`), which costs nothing while the server is there.
    """
    query = dict(url.query)
    try:
        sizes = {name: int(str(query.pop(name, size))) for name, size in POOL.items()}
        if min(sizes.values()) < 0 or sizes["pool_size"] < 1:
            raise ValueError
        engine = sa.create_engine(
            url.set(query=query),
            **sizes,
            pool_timeout=POOL_SECONDS,
            isolation_level="AUTOCOMMIT",  # transactions are begun below, not by the driver
            connect_args={"connect_timeout": 10, "tcp_user_timeout": 10_000, "prepare_threshold": None},
        )
    except (ArgumentError, ValueError):
        raise StorageError(f"{sql.shown(url)} is not an address of a database: its parameters cannot be read") from None

    @sa.event.listens_for(engine, "connect", insert=True)  # before SQLAlchemy reads any text
    def _check(connection: Any, _record: Any) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise StorageError(
                f"the database {url.database} has the encoding {encoding}, which cannot keep every text; studies "
                f"need one in UTF8: createdb --encoding=UTF8 --template=template0 NAME"
            )

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        write = connection.get_execution_options().get(PENDING_WRITE, False)
        kind = "ISOLATION LEVEL READ COMMITTED" if write else "ISOLATION LEVEL REPEATABLE READ READ ONLY"
        # One round trip. The settings end with the transaction: the next one of this session may be another client's.
        connection.exec_driver_sql(
            f"BEGIN {kind}; SET LOCAL lock_timeout = {LOCK_MS}; "
            f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_MS}"
        )

    return engine


def _begin_by_hand(engine: sa.Engine) -> None:
    """Let every transaction of a SQLite engine begin as a reader or a writer."""

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        write = connection.get_execution_options().get(PENDING_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _sealed(file: Path) -> bool:
    """Return whether a SQLite file can be read, not written, and has no log beside it that must be read too."""
    closed = file.is_file() and not os.access(file, os.W_OK) and not os.access(file.parent, os.W_OK)
    return closed and not file.with_name(f"{file.name}-wal").exists()


# Transactions ---------------------------------------------------------------------------------------------------------


class Reading:
    """One consistent state of a study."""

    def __init__(self, connection: sa.Connection, study: Any, now: float, known: int) -> None:
        self._connection = connection
        self._stamps: dict[int, int | None] = {known: study.known_stamp, int(study.changes): int(study.stamp)}
        self.study = int(study.id)
        self.created = float(study.created)  # a study deleted and made anew under its name is another one
        self.now = now  # seconds since 1970, by the storage's clock
        self.last_change, self.last_number = int(study.changes), int(study.trials)  # 0 at the beginning
        self._actions, self._waiting = int(study.actions), int(study.waiting)
        self._first_lease = study.first_lease  # of all open trials; None when there are none
        self._written = False  # whether this transaction has changed rows

    def run(self, statement: Any, **values: Any) -> Any:
        """Execute a statement of this study in this transaction."""
        return self._connection.execute(statement, {"the_study": self.study, **values})

    def _trials_by(self, statement: Any, **values: Any) -> list[TrialRow]:
        return [read_row(TrialRow, row) for row in self.run(statement, **values)]

    def stamp(self, change: int) -> int | None:
        """Return the random stamp of a committed change, None where there was no such change, or at 0."""
        if change not in self._stamps:
            self._stamps[change] = self.run(sql.STAMP, the_change=change).scalar()
        return self._stamps[change]

    def trial(self, number: int) -> TrialRow | None:
        """Return one trial, or None."""
        if not 0 < number <= self.last_number:
            return None
        return next(iter(self._trials_by(sql.ONE_TRIAL, the_number=number)), None)

    def trials(self, first: int, limit: int) -> list[TrialRow]:
        """List the trials from a number on, in their order, at most `limit`; a missing one is a StorageError."""
        first = max(first, 1)
        rows = self._trials_by(sql.TRIALS, the_number=first, the_limit=limit)
        _check_gapless("trial", [row.number for row in rows], first, min(limit, self.last_number - first + 1))
        return rows

    def trials_changed_after(self, change: int) -> list[TrialRow]:
        """List the trials that committed transactions changed after a change, by change and number."""
        if change >= self.last_change:
            return []
        return self._trials_by(sql.CHANGED, the_change=change, the_last=self.last_change)

    def trials_of(self, number: int) -> list[TrialRow]:
        """List the trials that name this one: late results and repeats."""
        return self._trials_by(sql.TRIALS_OF, the_number=number)

    def trials_of_request(self, request: str) -> list[TrialRow]:
        """List the trials that a request asked for."""
        return self._trials_by(sql.TRIALS_OF_REQUEST, the_request=request)

    def expired(self, now: float, limit: int) -> list[TrialRow]:
        """List trials that run, or are awaited after that, whose `lease` ended before now, by number."""
        if not self._written and (self._first_lease is None or self._first_lease >= now):
            return []
        return self._trials_by(sql.EXPIRED_TRIALS, the_time=now, the_limit=limit)

    def actions_after(self, number: int) -> list[ActionRow]:
        """List the actions after one, in their order; a missing one is a StorageError."""
        if number >= self._actions:
            return []
        rows = [read_row(ActionRow, row) for row in self.run(sql.ACTIONS, the_number=number)]
        _check_gapless("action", [row.number for row in rows], number + 1, self._actions - number)
        return rows

    def tightened(self) -> list[float]:
        """List the smaller epsilons that were decided on."""
        rows = [read_row(ActionRow, row) for row in (self.run(sql.TIGHTENED) if self._actions else ())]
        if bad := next((row.number for row in rows if not isinstance(row.content, float)), None):
            raise StorageError(f"action {bad} of the log is damaged: it is not an epsilon")
        return [float(row.content) for row in rows]

    def queue(self, limit: int) -> list[QueueRow]:
        """List the waiting plans, those to be assigned first at the front."""
        if not self._waiting:
            return []
        return [read_row(QueueRow, row) for row in self.run(sql.QUEUE, the_limit=limit)]

    def snapshot(self) -> SnapshotRow | None:
        """Return the latest snapshot, or None."""
        row = self.run(sql.SNAPSHOT).first()
        if row is None or not isinstance(row.prefix, int) or isinstance(row.content, (str, int, float)):
            return None  # damaged: a cache, which nobody needs
        return SnapshotRow._make(row)._replace(content=bytes(row.content))

    def snapshot_prefix(self) -> int:
        """Return how many trials the latest snapshot covers, 0 when there is none."""
        found = self.run(sql.SNAPSHOT_PREFIX).scalar()
        return found if isinstance(found, int) else 0


class Writing(Reading):
    """A transaction that excludes every other writer of the study."""

    def change(self) -> int:
        """Return this transaction's change number, and note that it changes rows."""
        self._written = True
        return self.last_change + 1

    def finish(self) -> None:
        """Write the counters, which every change of the log moves; called once, before the commit."""
        if self._written:
            counts = self.change(), self.last_number, self._actions, self._waiting, secrets.randbits(63)
            values = {f"new_{name}": count for name, count in zip(sql.COUNTERS, counts)}
            if self._connection.dialect.name == "sqlite":
                self.run(sql.COUNT, **values)
                self.run(sql.ADD_STAMP, new_changes=counts[0], new_stamp=counts[-1])
            else:
                self.run(sql.COUNT_AND_STAMP, **values)

    def first_time(self, request: str, content: Any) -> bool:
        """Record a request; False when the same was carried out before, an error where it had other content."""
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        before = self.run(sql.REQUEST, the_request=request).scalar()
        if before is None:
            self._insert(sql.requests, [{"request": request, "content": digest}])
        elif before != digest:
            raise ConflictError(
                f"the request {shortened(request)} was carried out before, with other content; nothing was changed"
            )
        return before is None

    def _insert(self, table: sa.Table, values: list[dict[str, Any]]) -> None:
        own = [{**one, "study": self.study} for one in values]
        self._connection.execute(sa.insert(table), own[0] if len(own) == 1 else own)

    def add_trials(self, rows: Sequence[TrialRow]) -> None:
        """Append trials; their numbers must be the next ones."""
        for row in rows:
            if row.number != self.last_number + 1:
                raise StorageError(f"trial {row.number} cannot follow trial {self.last_number}")
            self.last_number += 1
        if rows:
            self._insert(sql.trials, [{**as_values(row), "change": self.change()} for row in rows])

    def update_trial(self, row: TrialRow) -> None:
        """Change what a report changes, in a trial without a result: state, rewards, lease, cost and the like."""
        values = {**as_values(row), "change": self.change()}
        new = {f"new_{name}": values[name] for name in sql.SETTLED_BY}
        done = self.run(sql.UPDATE_TRIAL, the_number=row.number, **new)
        if done.rowcount != 1:
            raise StorageError(f"trial {row.number} does not exist or is settled with a result: it cannot be changed")

    def add_action(self, row: ActionRow) -> None:
        """Append an action; its number must be the next."""
        if row.number != self._actions + 1:
            raise StorageError(f"action {row.number} cannot follow action {self._actions}")
        self._actions = row.number
        self._insert(sql.actions, [{**as_values(row), "change": self.change()}])

    def add_to_queue(self, row: QueueRow, *, front: bool = False) -> int:
        """Queue a plan, at the end or at the front, and return its number (the row's own is ignored)."""
        first, last = self.run(sql.QUEUE_ENDS).one()
        number = 0 if first is None else (first - 1 if front else last + 1)
        self._insert(sql.queue, [{**as_values(row), "number": number}])
        self._waiting += 1
        self._written = True
        return int(number)

    def take_from_queue(self, number: int) -> None:
        """Remove a waiting plan."""
        self._waiting -= int(self.run(sql.TAKE_FROM_QUEUE, the_number=number).rowcount)
        self._written = True

    def save_snapshot(self, row: SnapshotRow) -> None:
        """Store a snapshot and delete older ones."""
        self.run(sql.DROP_SNAPSHOTS)
        self._insert(sql.snapshots, [row._asdict()])


def _check_gapless(what: str, numbers: list[int], first: int, count: int) -> None:
    """Refuse rows that are not numbered first, first + 1, ..., at least as many as there must be."""
    if len(numbers) < count or (numbers and numbers[-1] != first + len(numbers) - 1):
        raise missing_row(what, min(set(range(first, first + len(numbers) + 1)) - set(numbers)))


def _list(text: str, kind: Any) -> tuple[Any, ...]:
    values = json.loads(text)
    if not isinstance(values, list) or any(not isinstance(x, kind) or isinstance(x, bool) for x in values):
        raise ValueError(f"{shortened(text)} is not a list of {'texts' if kind is str else 'numbers'}")
    return tuple(values)


def _one_of(text: str, known: Sequence[str]) -> str:
    if text not in known:
        raise ValueError(f"unknown word {text!r}")
    return text


LATEST = 1e11  # seconds since 1970; what is later was not written by a clock


def check_values(what: str, table: sa.Table, names: tuple[str, ...], values: Iterable[Any]) -> None:
    """Refuse a row with a value that its column cannot hold: SQLite takes any, and so does whoever edits a file."""
    for (name, kinds, is_time), value in zip(_kinds(table, names), values):
        if type(value) not in kinds or (is_time and value is not None and not abs(value) <= LATEST):
            raise StorageError(f"{what} is damaged: its {name} is {shortened(value)}; restore a backup of the study")


@lru_cache
def _kinds(table: sa.Table, names: tuple[str, ...]) -> list[tuple[str, tuple[type, ...], bool]]:
    """Return the types that columns hold, and whether these are times."""
    found = []
    for name in names:
        kind = table.c[name].type.python_type
        kinds = (float, int) if kind is float else (kind,)
        is_time = kind is float and name != "cost"
        found.append((name, (*kinds, type(None)) if table.c[name].nullable else kinds, is_time))
    return found


# How a text in a row is read: most fields are kept as they are.
READ: dict[str, Callable[[str], Any]] = {
    "path": partial(_list, kind=int),
    "rewards": partial(_list, kind=(int, float)),
    "cases": partial(_list, kind=str),
    "baseline": partial(_list, kind=(int, float)),
    "content": json.loads,
    "state": partial(_one_of, known=STATES),
    "source": partial(_one_of, known=SOURCES),
}
READ_AS_JSON = ("path", "rewards", "cases", "baseline", "content")
KINDS = {TrialRow: ("trial", sql.trials), ActionRow: ("action", sql.actions), QueueRow: ("waiting plan", sql.queue)}
Row = TypeVar("Row", TrialRow, ActionRow, QueueRow)


def read_row(kind: type[Row], found: Iterable[Any]) -> Row:
    """Make a row of the log of the values of its columns, or say which one is damaged."""
    (what, table), names, values = KINDS[kind], kind._fields, list(found)
    what = f"{what} {values[0]} of the log"
    check_values(what, table, names, values)
    try:
        for place, read in _readers(names):
            values[place] = read(values[place])
    except (TypeError, ValueError, RecursionError) as error:
        raise StorageError(f"{what} is damaged: {error}") from error
    return kind._make(values)


@lru_cache
def _readers(names: tuple[str, ...]) -> list[tuple[int, Callable[[str], Any]]]:
    return [(place, READ[name]) for place, name in enumerate(names) if name in READ]


def as_values(row: TrialRow | ActionRow | QueueRow) -> dict[str, Any]:
    """Return what `read_row` reads: the fields of a row, with lists and the content of an action as JSON."""
    return {name: json.dumps(value) if name in READ_AS_JSON else value for name, value in row._asdict().items()}


def open_storage(storage: Any) -> Storage:
    """Return the storage that a URL names; a Storage is returned as it is."""
    return storage if isinstance(storage, Storage) else Storage(storage)


T = TypeVar("T")
STORAGE_PATIENCE = 120.0  # seconds
LONGEST_STORAGE_PAUSE = 2.0
SAID_FROM = 0.3  # shorter pauses are not worth a warning

log = logging.getLogger("surepath.study")


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
