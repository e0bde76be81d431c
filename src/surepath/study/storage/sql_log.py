"""Reading and writing the log of one study inside a transaction of an SQL database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection

from surepath._numbers import shortened
from surepath.errors import StorageError
from surepath.study.storage import statements as sql
from surepath.study.storage.contract import Reading, Writing, missing_row
from surepath.study.storage.records import ActionRow, QueueRow, SnapshotRow, TrialRow
from surepath.study.trial import SOURCES, STATES


class SqlReading(Reading):
    """One consistent state of a study."""

    def __init__(self, connection: Connection, study: Any, now: float) -> None:
        self._connection = connection
        self.study, self._created, self._now = int(study.id), float(study.created), now
        self._changes, self._trials = int(study.changes), int(study.trials)
        self._actions, self._waiting = int(study.actions), int(study.waiting)
        self._first_lease = study.first_lease  # of all open trials; None when there are none

    def run(self, statement: Any, **values: Any) -> Any:
        """Execute a statement of this study in this transaction."""
        return self._connection.execute(statement, {"the_study": self.study, **values})

    def _written(self) -> bool:
        """Return whether this transaction has changed rows."""
        return False

    def now(self) -> float:
        return self._now

    def created(self) -> float:
        return self._created

    def last_change(self) -> int:
        return self._changes

    def last_number(self) -> int:
        return self._trials

    def trial(self, number: int) -> TrialRow | None:
        if not 0 < number <= self._trials:
            return None
        found = _rows(self.run(sql.ONE_TRIAL, the_number=number))
        return found[0] if found else None

    def trials(self, first: int, limit: int) -> list[TrialRow]:
        first = max(first, 1)
        rows = _rows(self.run(sql.TRIALS, the_number=first, the_limit=limit))
        _check_gapless("trial", [row.number for row in rows], first, min(limit, self._trials - first + 1))
        return rows

    def trials_changed_after(self, change: int, limit: int) -> list[TrialRow]:
        if change >= self._changes:
            return []
        return _rows(self.run(sql.CHANGED, the_change=change, the_last=self._changes, the_limit=limit))

    def trials_of(self, number: int) -> list[TrialRow]:
        return _rows(self.run(sql.TRIALS_OF, the_number=number))

    def trials_of_request(self, request: str) -> list[TrialRow]:
        return _rows(self.run(sql.TRIALS_OF_REQUEST, the_request=request))

    def expired(self, now: float, limit: int) -> list[TrialRow]:
        if not self._written() and (self._first_lease is None or self._first_lease >= now):
            return []
        return _rows(self.run(sql.EXPIRED_TRIALS, the_time=now, the_limit=limit))

    def actions_after(self, number: int) -> list[ActionRow]:
        if number >= self._actions:
            return []
        rows = [ActionRow._make(row) for row in self.run(sql.ACTIONS, the_number=number)]
        _check_gapless("action", [row.number for row in rows], number + 1, self._actions - number)
        return rows

    def queue(self, limit: int) -> list[QueueRow]:
        if not self._waiting:
            return []
        rows = map(QueueRow._make, self.run(sql.QUEUE, the_limit=limit))
        return [row._replace(path=tuple(json.loads(row.path))) for row in rows]  # type: ignore[arg-type]

    def snapshot(self, format: int) -> SnapshotRow | None:
        row = self.run(sql.SNAPSHOT, the_format=format).first()
        return None if row is None else SnapshotRow._make(row)._replace(content=bytes(row.content))

    def snapshot_prefix(self, format: int) -> int:
        return int(self.run(sql.SNAPSHOT_PREFIX, the_format=format).scalar() or 0)


class SqlWriting(SqlReading, Writing):
    """A transaction that excludes every other writer of the study."""

    _change: int | None = None

    def _written(self) -> bool:
        return self._change is not None

    def change(self) -> int:
        if self._change is None:
            self._change = self._changes + 1
        return self._change

    def finish(self) -> None:
        """Write the counters, which every change of the log moves; called once, before the commit."""
        if self._change is not None:
            counts = self._change, self._trials, self._actions, self._waiting
            self.run(sql.COUNT, **{f"new_{name}": count for name, count in zip(sql.COUNTERS, counts)})

    def first_time(self, request: str) -> bool:
        if self.run(sql.REQUEST, the_request=request).first() is not None:
            return False
        self._insert(sql.ADD_REQUEST, [{"study": self.study, "request": request}])
        return True

    def _insert(self, statement: Any, values: list[dict[str, Any]]) -> None:
        self._connection.execute(statement, values[0] if len(values) == 1 else values)

    def add_trials(self, rows: Sequence[TrialRow]) -> None:
        for number, row in enumerate(rows, start=self._trials + 1):
            if row.number != number:
                raise StorageError(f"trial {row.number} cannot follow trial {number - 1}")
        if rows:
            own = {"study": self.study, "change": self.change()}
            self._insert(sql.ADD_TRIAL, [{**_written(row), **own} for row in rows])
            self._trials = rows[-1].number

    def update_trial(self, row: TrialRow) -> None:
        done = self.run(
            sql.UPDATE_TRIAL,
            the_number=row.number,
            new_state=row.state,
            new_rewards=json.dumps(row.rewards),
            new_lease=row.lease,
            new_told=row.told,
            new_note=row.note,
            new_change=self.change(),
        )
        if done.rowcount != 1:
            raise StorageError(f"trial {row.number} does not exist or is settled with a result: it cannot be changed")

    def add_action(self, row: ActionRow) -> None:
        if row.number != self._actions + 1:
            raise StorageError(f"action {row.number} cannot follow action {self._actions}")
        self._actions = row.number
        self._insert(sql.ADD_ACTION, [{**row._asdict(), "study": self.study, "change": self.change()}])

    def add_to_queue(self, row: QueueRow, *, front: bool = False) -> int:
        first, last = self.run(sql.QUEUE_ENDS).one()
        number = 0 if first is None else (first - 1 if front else last + 1)
        values = {**row._asdict(), "number": number, "path": json.dumps(row.path), "study": self.study}
        self._insert(sql.ADD_TO_QUEUE, [values])
        self._waiting += 1
        self.change()
        return int(number)

    def take_from_queue(self, number: int) -> None:
        self._waiting -= int(self.run(sql.TAKE_FROM_QUEUE, the_number=number).rowcount)
        self.change()

    def save_snapshot(self, row: SnapshotRow) -> None:
        self.run(sql.DROP_SNAPSHOTS, the_format=row.format)
        self._insert(sql.ADD_SNAPSHOT, [{**row._asdict(), "study": self.study}])


def _check_gapless(what: str, numbers: list[int], first: int, count: int) -> None:
    """Refuse rows that are not numbered first, first + 1, ..., at least as many as there must be."""
    if len(numbers) < count or (numbers and numbers[-1] != first + len(numbers) - 1):
        raise missing_row(what, min(set(range(first, first + len(numbers) + 1)) - set(numbers)))


def _rows(found: Iterable[Any]) -> list[TrialRow]:
    path, rewards = TrialRow._fields.index("path"), TrialRow._fields.index("rewards")
    rows = []
    for row in found:
        values = list(row)
        try:
            values[path], values[rewards] = _numbers(values[path], int), _numbers(values[rewards], (int, float))
            rows.append(TrialRow._make(values))
            if rows[-1].state not in STATES or rows[-1].source not in SOURCES:
                raise ValueError(f"unknown state {rows[-1].state!r} or source {rows[-1].source!r}")
        except (TypeError, ValueError, RecursionError) as error:
            raise StorageError(f"trial {row.number} of the log is damaged: {error}") from error
    return rows


def _numbers(text: str, kind: Any) -> tuple[Any, ...]:
    values = json.loads(text)
    if not isinstance(values, list) or any(not isinstance(x, kind) or isinstance(x, bool) for x in values):
        raise ValueError(f"{shortened(text)} is no list of numbers")
    return tuple(values)


def _written(row: TrialRow) -> dict[str, Any]:
    return {**row._asdict(), "path": json.dumps(row.path), "rewards": json.dumps(row.rewards)}
