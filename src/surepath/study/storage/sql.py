"""Studies in an SQL database, through SQLAlchemy Core: statements one can read, locks one can name.

The row of a study is its lock. On PostgreSQL a write transaction begins with SELECT ... FOR UPDATE of that row; on
SQLite with BEGIN IMMEDIATE, which locks the file. The same row counts changes and trials.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Select, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from surepath._checks import suggest
from surepath.errors import StorageError, StudyError
from surepath.study.states import RUNNING, SETTLED
from surepath.study.storage.contract import Reading, Storage, Writing
from surepath.study.storage.engine import PENDING_WRITE, in_words, open_engine, read_url
from surepath.study.storage.records import ActionRow, QueueRow, SnapshotRow, StudyRecord, TrialRow
from surepath.study.storage.schema import check_schema, upgrade
from surepath.study.storage.tables import actions, queue, snapshots, studies, trials

UPGRADE_LOCK = 7_352_901_846  # PostgreSQL's advisory lock while tables are built


class SqlStorage(Storage):
    """Studies in SQLite or PostgreSQL.

    Args:
        url: "sqlite:///study.db", a file name, or "postgresql://user@host/database".
        clock: Replaces the storage's clock; for tests.
    """

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        self._url = read_url(url)
        self.url = url if "://" in url else f"sqlite:///{url}"
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self._engine = open_engine(self._url)
        self._process = os.getpid()
        self._clock = clock
        self._ready = False

    @contextmanager
    def _connection(self, *, write: bool) -> Iterator[Connection]:
        """Open a transaction; errors of the database come out in words."""
        if os.getpid() != self._process:  # after a fork the parent's connections are not ours
            self._engine.dispose(close=False)
            self._process = os.getpid()
        try:
            with self._engine.connect() as plain:
                connection = plain.execution_options(**{PENDING_WRITE: write})
                with connection.begin():
                    yield connection
        except SQLAlchemyError as error:
            raise in_words(error, self._url) from error

    def _prepare(self, *, create: bool) -> None:
        """Check the tables once; with create, build or upgrade them when they are missing or old."""
        if self._ready:
            return
        if self.is_sqlite and not create and not os.path.exists(str(self._url.database)):
            raise StorageError(f"there is no file {self._url.database}; surepath study create makes one")
        with self._connection(write=False) as connection:
            self._ready = check_schema(connection)
        if not self._ready and create:
            self._build()
        if not self._ready:
            raise StorageError(f"{self._url.render_as_string(hide_password=True)} holds no studies")

    def _build(self) -> None:
        if self.is_sqlite:  # cannot be changed inside a transaction
            try:
                with self._engine.connect() as connection:
                    connection.connection.driver_connection.execute("PRAGMA journal_mode = WAL")  # type: ignore[union-attr]
            except Exception as error:
                wrapped = SQLAlchemyError(str(error))
                raise in_words(wrapped, self._url) from error
        with self._connection(write=True) as connection:
            if not self.is_sqlite:
                connection.execute(select(func.pg_advisory_xact_lock(UPGRADE_LOCK)))
            if not check_schema(connection):
                upgrade(connection)
        self._ready = True

    def create(self, record: StudyRecord) -> None:
        self._prepare(create=True)
        try:
            with self._connection(write=True) as connection:
                values = {**record.__dict__, "changes": 0, "trials": 0}
                if connection.execute(select(studies.c.id).where(studies.c.name == record.name)).first():
                    raise _duplicate(record.name)
                try:
                    connection.execute(insert(studies).values(values))
                except IntegrityError:
                    raise _duplicate(record.name) from None
        except StudyError:
            raise

    def load(self, name: str) -> StudyRecord:
        self._prepare(create=False)
        with self._connection(write=False) as connection:
            row = connection.execute(select(studies).where(studies.c.name == name)).mappings().first()
        if row is None:
            raise unknown_study(name, self.names())
        return StudyRecord(**{field: row[field] for field in StudyRecord.__dataclass_fields__})

    def names(self) -> list[str]:
        self._prepare(create=False)
        with self._connection(write=False) as connection:
            return [str(name) for name in connection.execute(select(studies.c.name).order_by(studies.c.name)).scalars()]

    def delete(self, name: str) -> None:
        with self.writing(name) as transaction:
            assert isinstance(transaction, SqlWriting)
            for table in (snapshots, queue, actions, trials):
                transaction.run(delete(table).where(table.c.study == transaction.study))
            transaction.run(delete(studies).where(studies.c.id == transaction.study))

    @contextmanager
    def reading(self, name: str) -> Iterator[Reading]:
        self._prepare(create=False)
        with self._connection(write=False) as connection:
            if not self.is_sqlite:
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
            yield SqlReading(connection, self._study(connection, name, lock=False), self._now(connection))

    @contextmanager
    def writing(self, name: str) -> Iterator[Writing]:
        self._prepare(create=False)
        with self._connection(write=True) as connection:
            yield SqlWriting(connection, self._study(connection, name, lock=True), self._now(connection))

    def _study(self, connection: Connection, name: str, *, lock: bool) -> Any:
        statement = select(studies.c.id, studies.c.changes, studies.c.trials).where(studies.c.name == name)
        if lock and not self.is_sqlite:
            statement = statement.with_for_update()
        row = connection.execute(statement).first()
        if row is None:
            known = connection.execute(select(studies.c.name).order_by(studies.c.name)).scalars()
            raise unknown_study(name, [str(one) for one in known])
        return row

    def _now(self, connection: Connection) -> float:
        if self._clock is not None:
            return self._clock()
        if self.is_sqlite:
            return time.time()
        return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    def close(self) -> None:
        self._engine.dispose()


def unknown_study(name: str, known: list[str]) -> StudyError:
    """Say that a study does not exist, and which do."""
    return StudyError(f"there is no study {name!r} here" + (suggest(name, known) if known else "; there are none"))


def _duplicate(name: str) -> StudyError:
    return StudyError(f"a study {name!r} already exists here; load it, or create one under another name")


class SqlReading(Reading):
    """One consistent state of a study."""

    def __init__(self, connection: Connection, study: Any, now: float) -> None:
        self._connection = connection
        self.study = int(study.id)
        self._changes, self._trials, self._now = int(study.changes), int(study.trials), now

    def run(self, statement: Any) -> Any:
        """Execute a statement in this transaction."""
        return self._connection.execute(statement)

    def now(self) -> float:
        return self._now

    def last_change(self) -> int:
        return self._changes

    def last_number(self) -> int:
        return self._trials

    def _select(self, statement: Select[Any]) -> list[TrialRow]:
        return [_trial(row) for row in self.run(statement.where(trials.c.study == self.study))]

    def trial(self, number: int) -> TrialRow | None:
        found = self._select(select(trials).where(trials.c.number == number))
        return found[0] if found else None

    def trials(self, first: int, limit: int) -> list[TrialRow]:
        return self._select(select(trials).where(trials.c.number >= first).order_by(trials.c.number).limit(limit))

    def trials_changed_after(self, change: int, limit: int) -> list[TrialRow]:
        if change >= self._changes:
            return []
        order = (trials.c.change, trials.c.number)
        return self._select(select(trials).where(trials.c.change > change).order_by(*order).limit(limit))

    def trials_of(self, number: int) -> list[TrialRow]:
        return self._select(select(trials).where(trials.c.of == number).order_by(trials.c.number))

    def trials_of_request(self, request: str) -> list[TrialRow]:
        return self._select(select(trials).where(trials.c.request == request).order_by(trials.c.number))

    def expired(self, now: float, limit: int) -> list[TrialRow]:
        late = (trials.c.state == text(f"'{RUNNING}'")) & (trials.c.lease < now)
        return self._select(select(trials).where(late).order_by(trials.c.number).limit(limit))

    def actions_after(self, number: int) -> list[ActionRow]:
        mine = (actions.c.study == self.study) & (actions.c.number > number)
        rows = self.run(select(actions).where(mine).order_by(actions.c.number))
        return [ActionRow(row.number, row.after, row.kind, row.content, row.at, row.change) for row in rows]

    def queue(self, limit: int) -> list[QueueRow]:
        rows = self.run(select(queue).where(queue.c.study == self.study).order_by(queue.c.number).limit(limit))
        return [QueueRow(row.number, tuple(json.loads(row.path)), row.source, row.of, row.at) for row in rows]

    def snapshot(self, format: int) -> SnapshotRow | None:
        mine = (snapshots.c.study == self.study) & (snapshots.c.format == format)
        row = self.run(select(snapshots).where(mine).order_by(snapshots.c.prefix.desc()).limit(1)).first()
        return None if row is None else SnapshotRow(row.prefix, row.actions, row.format, bytes(row.content))


class SqlWriting(SqlReading, Writing):
    """A transaction that excludes every other writer of the study."""

    _change: int | None = None

    def change(self) -> int:
        if self._change is None:
            self._change = self._changes + 1
            self.run(update(studies).where(studies.c.id == self.study).values(changes=self._change))
        return self._change

    def add_trial(self, row: TrialRow) -> None:
        if row.number != self._trials + 1:
            raise StorageError(f"trial {row.number} cannot follow trial {self._trials}")
        self.run(insert(trials).values(_values(row, self.study, self.change())))
        self._trials = row.number
        self.run(update(studies).where(studies.c.id == self.study).values(trials=row.number))

    def update_trial(self, row: TrialRow) -> None:
        values = _values(row, self.study, self.change())
        mine = (trials.c.study == self.study) & (trials.c.number == row.number)
        done = self.run(update(trials).where(mine & trials.c.state.not_in(sorted(SETTLED))).values(values))
        if done.rowcount != 1:
            raise StorageError(f"trial {row.number} does not exist or is settled: it cannot be changed")

    def add_action(self, row: ActionRow) -> None:
        last = self.run(select(func.max(actions.c.number)).where(actions.c.study == self.study)).scalar() or 0
        if row.number != last + 1:
            raise StorageError(f"action {row.number} cannot follow action {last}")
        self.run(insert(actions).values({**row._asdict(), "study": self.study, "change": self.change()}))

    def add_to_queue(self, row: QueueRow, *, front: bool = False) -> int:
        ends = select(func.min(queue.c.number), func.max(queue.c.number)).where(queue.c.study == self.study)
        first, last = self.run(ends).one()
        number = 0 if first is None else (first - 1 if front else last + 1)
        values = {**row._asdict(), "number": number, "path": json.dumps(row.path), "study": self.study}
        self.run(insert(queue).values(values))
        self.change()
        return int(number)

    def take_from_queue(self, number: int) -> None:
        self.run(delete(queue).where((queue.c.study == self.study) & (queue.c.number == number)))
        self.change()

    def save_snapshot(self, row: SnapshotRow) -> None:
        mine = (snapshots.c.study == self.study) & (snapshots.c.format == row.format)
        self.run(delete(snapshots).where(mine))
        self.run(insert(snapshots).values({**row._asdict(), "study": self.study}))


def _trial(row: Any) -> TrialRow:
    return TrialRow(
        number=row.number,
        state=row.state,
        path=tuple(json.loads(row.path)),
        source=row.source,
        of=row.of,
        rewards=tuple(json.loads(row.rewards)),
        worker=row.worker,
        asked=row.asked,
        lease=row.lease,
        told=row.told,
        note=row.note,
        request=row.request,
        change=row.change,
    )


def _values(row: TrialRow, study: int, change: int) -> dict[str, Any]:
    written = {"path": json.dumps(row.path), "rewards": json.dumps(row.rewards)}
    return {**row._asdict(), **written, "study": study, "change": change}
