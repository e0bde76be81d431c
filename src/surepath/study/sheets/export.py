"""The whole log as a file: JSON lines that hold all of it, or a CSV table of the trials for people.

The first line of a JSON-lines export is the study itself (problem, settings, options, as they were frozen); then come
the trials in their order, the actions (exclusions, a tighter epsilon) and the plans that wait. `restore.py` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepath.errors import SettingError
from surepath.model.sources.textfile import csv_line, write_bytes
from surepath.study.sheets.rows import EVERY_ROW, FACTS, all_trials, columns, table_rows
from surepath.study.storage import Reading, StudyRecord

if TYPE_CHECKING:
    from surepath.study.study import Study

LOG_FORMAT, LOG_VERSION = "surepath-study-log", 1
ENDINGS = {".jsonl": "json lines", ".ndjson": "json lines", ".csv": "csv"}


def write_export(study: Study, path: Path) -> int:
    """Write a log to a file, whole or not at all, and return the number of trials."""
    kind = ending(path)
    study.sync()

    def read(log: Reading) -> int:
        lines = json_lines(study, log) if kind == "json lines" else csv_lines(study, log)
        write_bytes(path, (line.encode() for line in lines))
        return log.last_number()

    return study._read(read)


def ending(path: Path) -> str:
    """Return what is written to a file, by its name: "json lines" or "csv"."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise SettingError(
            f"an export ends in .jsonl (everything, to be read back) or .csv (a table), not {path.name!r}"
        )
    return kind


def json_lines(study: Study, log: Reading) -> Iterator[str]:
    """Write a log as JSON lines."""
    record: dict[str, Any] = {key: getattr(study.record, key) for key in StudyRecord.__dataclass_fields__}
    yield _line({"format": LOG_FORMAT, "format_version": LOG_VERSION, **record})
    for row in all_trials(log):
        entry = row._asdict()
        del entry["request"], entry["change"]
        yield _line({"entry": "trial", **entry})
    for action in log.actions_after(0):
        entry = action._asdict()
        del entry["change"]
        yield _line({"entry": "action", "action": entry.pop("number"), **entry})
    for waiting in log.queue(EVERY_ROW):
        entry = waiting._asdict()
        del entry["number"]  # only trials have numbers
        yield _line({"entry": "waiting", **entry})


def csv_lines(study: Study, log: Reading) -> Iterator[str]:
    """Write the trials as a CSV table; times are UTC, as 2026-01-31T12:00:00.000+00:00."""
    yield csv_line(columns(study.mdp))
    times = FACTS.index("asked"), FACTS.index("told")
    for row in table_rows(study.mdp, log):
        for i in times:
            row[i] = _time(row[i])
        yield csv_line(row)


def _time(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry) + "\n"
