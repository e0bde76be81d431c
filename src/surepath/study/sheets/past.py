"""Past results: trials that were played before the study, recorded as data of it, and none of them twice."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from surepath.errors import RewardError, StorageError, StudyError, SurepathError
from surepath.study import telling
from surepath.study.sheets.rows import all_trials
from surepath.study.sheets.sheet import read_past, read_table
from surepath.study.storage import PAGE, Reading, TrialRow, Writing
from surepath.study.telling import append, check_countable, past_result
from surepath.study.trial import IMPORTED, LATE, SCORED

if TYPE_CHECKING:
    from surepath.study.study import Study


Seen = tuple[tuple[int, ...], tuple[float, ...]]  # path and rewards


class Imported(NamedTuple):
    """How many results were taken in, were known from the same import before, and held no score."""

    imported: int
    repeated: int
    empty: int


class Imports:
    """What earlier imports of a study held, read from its log as it grows.

    The rows of one import carry the same moment. An import is filed under its first row: whatever holds all of its
    rows holds that one.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._read: tuple[int, int | None] = (0, None)  # the last change that was read, and its stamp
        self._next = 1  # the first trial that was not read
        self._filed: dict[Seen, list[Counter[Seen]]] = {}
        self._last: tuple[float, Counter[Seen]] | None = None

    def sync(self, log: Reading) -> None:
        """Read the trials that came since; must be called before a transaction writes any."""
        if self._read[0] and log.stamp(self._read[0]) != self._read[1]:  # a backup was restored
            self._forget()
        self._read = (log.last_change(), log.stamp(log.last_change()))
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


def import_rows(
    study: Study, rows: Sequence[TrialRow], request: str, again: bool, numbers: Sequence[int | None] = ()
) -> int:
    """Append past results in one transaction, unless the request was carried out before; returns how many were.

    The request stands for these results as a whole, in any order: others under its name are refused. Raises a
    StudyError for results that are in the log already: those of an earlier import, or trials of this study by their
    numbers. With `again` they count all the same.
    """
    content = [IMPORTED, sorted((row.path, row.rewards) for row in rows)]

    def do(log: Writing) -> int:
        if not telling.first_time(log, request, content):
            return 0
        if repeated:
            some = ", ".join(map(str, repeated[:5])) + (", ..." if len(repeated) > 5 else "")
            _refuse(len(repeated), len(rows), f"as trial{'s' if len(repeated) > 1 else ''} {some} of this study")
        if not again:
            study._imports.sync(log)
            if known := study._imports.within(rows):
                _refuse(known, len(rows), "from an earlier import")
        for place, row in enumerate(rows, start=1):
            try:
                check_countable(log, study.mdp, row, study._rules)
            except RewardError as error:
                raise RewardError(f"result {place}: {error}") from None
        return append(log, rows)

    with study._lock:
        repeated = [] if again else study._read(lambda log: _duplicates(log, rows, numbers))
        study._read(study._imports.sync)  # most of it before other writers have to wait
        return study._write(do)


def _refuse(known: int, total: int, how: str) -> None:
    all_of = "this result is" if total == 1 else f"all {total:,} results are"
    part = f"{known:,} of {total:,} results {'is' if known == 1 else 'are'}"
    which = all_of if known == total else part
    raise StudyError(
        f"{which} in the log already, {how}: nothing was taken, since a result that counts twice makes the proof "
        f"wrong. Import only what is new; or, if equal results were seen each by itself, count them again "
        f"(--again, in Python again=True)"
    )


def _duplicates(log: Reading, rows: Sequence[TrialRow], numbers: Sequence[int | None]) -> list[int]:
    """List the numbers of trials in the log that duplicate rows, with the same plan and scores, in time or late."""
    wanted = {number: (row.path, row.rewards) for row, number in zip(rows, numbers) if number is not None}
    found = set[int]()
    for row in all_trials(log) if wanted else ():
        number = row.of if row.source == LATE and row.of in wanted else row.number
        if row.state in SCORED and wanted.get(number) == (row.path, row.rewards):
            found.add(number)
    return sorted(found)


def import_past(study: Study, path: Path, *, again: bool = False) -> Imported:
    """Import a CSV file of past results, all of it or nothing; the same file a second time changes nothing.

    What is in the log already is refused; with `again` it counts once more.
    """
    results, empty = read_past(study.mdp, read_table(path), path.name)
    rows: list[TrialRow] = []
    for result in results:
        try:
            rows.append(past_result(study.mdp, result.plan, result.rewards, f"imported from {path.name}"))
        except SurepathError as error:
            raise type(error)(f"{result.where}: {error}") from None
    content = json.dumps([[list(result.plan.values()), result.rewards] for result in results])
    request = uuid.uuid4().hex if again else f"import {hashlib.sha256(content.encode()).hexdigest()}"
    try:
        taken = import_rows(study, rows, request, again, [result.number for result in results])
    except StudyError as error:
        if isinstance(error, StorageError):
            raise
        raise StudyError(f"{path.name}: {error}") from None
    return Imported(taken, len(results) - taken, empty)
