"""A study as data frame and as file, and a study restored from such a file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepath._checks import one_of
from surepath._optional import need
from surepath._text import csv_line, write_bytes
from surepath._version import __version__
from surepath.errors import SettingError, StorageError, StudyError, SurepathError
from surepath.learners.base import build, read_rewards
from surepath.model.files import parse_json_problem
from surepath.model.mdp import MDP
from surepath.study.creation import Options, check_name, learner_spec
from surepath.study.sheets import EVERY_ROW, all_trials, columns, score_columns, table_rows
from surepath.study.storage import PAGE, READ_AS_JSON, Reading, Row, Storage, check_values, read_row, retrying
from surepath.study.tables import studies
from surepath.study.trial import SCORED, ActionRow, QueueRow, StudyRecord, TrialRow
from surepath.verify.file import CONFIRM, CONFIRMED, missing_rule

if TYPE_CHECKING:
    from surepath.study.study import Study


def trials_frame(study: Study) -> Any:
    """Return every trial as a row of a polars frame: the columns of FACTS, plan.*, score.*.

    `of` is the trial that this one repeats or reports late; `asked` and `told` are times in UTC. Plans that wait come
    last, without a number.
    """
    pl = need("polars", "data")
    study.sync()
    rows = study._read(lambda log: list(table_rows(study.mdp, log)))
    kinds = dict.fromkeys(("asked", "told"), pl.Datetime("us", "UTC"))
    kinds |= dict.fromkeys(("number", "of", "tries"), pl.Int64)
    kinds |= dict.fromkeys(("cost", *score_columns(study.mdp)), pl.Float64)
    schema = {name: kinds.get(name, pl.String) for name in columns(study.mdp)}
    return pl.DataFrame(rows, schema=schema, orient="row")


# Export ---------------------------------------------------------------------------------------------------------------
# The first line of a JSON-lines export is the study itself, as it was frozen; then come the trials in their order, the
# actions (exclusions, a tighter epsilon) and the plans that wait.

LOG_FORMAT, LOG_VERSION = "surepath-study-log", 1
ENDINGS = {".jsonl": "json lines", ".ndjson": "json lines", ".csv": "csv"}


def write_export(study: Study, path: Path) -> int:
    """Write a log to a file, whole or not at all, and return the number of trials."""
    kind = ending(path)
    study.sync()

    def read(log: Reading) -> int:
        lines = json_lines(study, log) if kind == "json lines" else csv_lines(study, log)
        write_bytes(path, (line.encode() for line in lines))
        return log.last_number

    return study._read(read)


def ending(path: Path) -> str:
    """Return what is written to a file, by its name: "json lines" or "csv"."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise SettingError(f"an export ends in .jsonl (to be read back) or .csv (a table), not {path.name!r}")
    return kind


def json_lines(study: Study, log: Reading) -> Iterator[str]:
    """Write a log as JSON lines."""
    yield _line({"format": LOG_FORMAT, "format_version": LOG_VERSION, **study.record.__dict__})
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
    for row in table_rows(study.mdp, log):
        yield csv_line(x.isoformat(timespec="milliseconds") if isinstance(x, datetime) else x for x in row)


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry) + "\n"


# Restore --------------------------------------------------------------------------------------------------------------

DECISIONS = ("exclude", "tighten", "reference", CONFIRM, CONFIRMED)
RECORD = tuple(StudyRecord.__dataclass_fields__)
Log = tuple[list[TrialRow], list[ActionRow], list[QueueRow]]


def read_export(path: Path, storage: Storage, name: str | None = None) -> StudyRecord:
    """Make the study of an exported log; everything is checked before the study exists."""
    try:
        with path.open(encoding="utf-8") as file:
            record, log = _read(iter(file), path.name)
    except FileNotFoundError:
        raise StudyError(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path} is not an exported study: it is not UTF-8 text") from None
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror or error}") from error
    if name is not None:
        record = replace(record, name=check_name(name))
    return _fill(storage, record, log)


def copy_log(study: Study, name: str, dependence: str | None) -> StudyRecord:
    """Make another study of the same log, with dependence "any" where the first one has "independent"."""
    settings = json.loads(study.record.settings)
    was = settings.get("dependence")
    if dependence is not None and one_of("dependence", dependence, ("any", "independent")) != was:
        if was != "independent":
            raise SettingError(
                f"study {study.name!r} lets the scores of a trial depend on each other; whether they do is no matter "
                "of choice once there are trials: create a new study"
            )
        spec = {key: value for key, value in settings.items() if key != "bound"}
        settings = build({**spec, "dependence": "any"}, study.mdp).settings()
    study.sync()
    log = study._read(lambda log: (list(all_trials(log)), log.actions_after(0), log.queue(EVERY_ROW)))
    rule = missing_rule(study.mdp, settings)
    broken = next((row for row in log[0] if row.state == "partial"), None)
    if settings.get("dependence") != was and broken is not None and rule is not None and not rule.fills:
        raise StudyError(
            f"trial {broken.number} broke off after {len(broken.rewards)} scores: a log is read again with dependence "
            "any only if all its trials are whole, or every score has a declared range (and noise is not bernstein)"
        )
    text = json.dumps(settings)
    record = replace(study.record, name=check_name(name), settings=text, created=time.time(), version=__version__)
    return _fill(study.storage, record, log)


def _fill(storage: Storage, record: StudyRecord, log: Log) -> StudyRecord:
    """Enter a study with its log; no half of it stays."""
    trials, actions, queue = log
    try:
        retrying(lambda: storage.load(record.name))
    except StudyError:  # none of that name, or no storage yet
        retrying(lambda: storage.create(record))
    else:
        raise StudyError(f"a study {record.name!r} already exists here; choose another name")

    def fill() -> None:
        with storage.writing(record.name) as log:
            if log.last_number:  # filled before a connection was lost
                return
            for first in range(0, len(trials), PAGE):
                log.add_trials(trials[first : first + PAGE])
            for action in actions:
                log.add_action(action)
            for waiting in queue:
                log.add_to_queue(waiting)

    try:
        retrying(fill)
    except BaseException:
        storage.delete(record.name)
        raise
    return record


def _read(lines: Iterator[str], name: str) -> tuple[StudyRecord, Log]:
    record, mdp = _record(_entry(next(lines, ""), name, 1), name)
    trials: list[TrialRow] = []
    actions: list[ActionRow] = []
    queue: list[QueueRow] = []
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        entry = _entry(line, name, number)
        kind = entry.pop("entry", None)
        try:
            if kind == "trial":
                entry |= {"request": None, "change": 0}
                trials.append(_checked(mdp, _row(mdp, TrialRow, entry), len(trials) + 1))
            elif kind == "action":
                entry |= {"number": entry.pop("action"), "change": 0}
                row = _row(mdp, ActionRow, entry)
                if row.number != len(actions) + 1 or row.kind not in DECISIONS or not 0 <= row.after <= len(trials):
                    raise ValueError(f"an action that cannot be: {row}")
                actions.append(row)
            elif kind == "waiting":
                queue.append(_row(mdp, QueueRow, {**entry, "number": 0}))
            else:
                raise ValueError(f"unknown entry {kind!r}")
        except (LookupError, ValueError, StorageError) as error:
            raise StudyError(f"{name}, line {number} is damaged: {error}") from None
    return record, (trials, actions, queue)


def _record(head: dict[str, Any], name: str) -> tuple[StudyRecord, MDP]:
    if head.get("format") != LOG_FORMAT:
        raise StudyError(f"{name} is not an exported study; surepath study export log.jsonl writes one")
    if head.get("format_version") != LOG_VERSION:
        raise StudyError(f"{name} has format version {head.get('format_version')!r}; this surepath reads {LOG_VERSION}")
    try:
        record = StudyRecord(**{key: head.get(key) for key in RECORD})  # type: ignore[arg-type]  # checked here
        check_values(f"{name}, line 1", studies, RECORD, record.__dict__.values())
        mdp = parse_json_problem(record.problem, name).mdp
        Options(**json.loads(record.options))
        build(learner_spec(json.loads(record.settings), mdp), mdp)
    except (TypeError, ValueError, SurepathError) as error:
        raise StudyError(f"{name}, line 1 is damaged: {error}") from None
    if mdp.content_hash != record.problem_hash:
        raise StudyError(f"{name}: the problem is not what its hash says: the file was changed")
    return record, mdp


def _row(mdp: MDP, kind: type[Row], entry: dict[str, Any]) -> Row:
    """Make a row of the fields of an entry, which are all there and of the right types."""
    if surplus := entry.keys() - set(kind._fields):
        raise ValueError(f"unknown field {min(surplus)!r}")
    values = {name: json.dumps(value) if name in READ_AS_JSON else value for name, value in entry.items()}
    row = read_row(kind, [values[name] for name in kind._fields])
    if not isinstance(row, ActionRow):
        mdp.check_path(row.path)
    return row


def _checked(mdp: MDP, row: TrialRow, expected: int) -> TrialRow:
    """Check that a trial can be the next one."""
    if row.number != expected:
        raise ValueError(f"trial {row.number} is where trial {expected} belongs")
    if row.state == "waiting" or bool(row.rewards) != (row.state in SCORED):
        raise ValueError(f"a {row.state} trial with {len(row.rewards)} scores")
    if tuple(read_rewards(mdp, mdp.check_path(row.path), row.rewards, ranged=not row.baseline).tolist()) != row.rewards:
        raise ValueError("scores of known options differ from the problem's")
    return row


def _entry(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise StudyError(f"{name}, line {number} is not a JSON object; an exported study has one on each line")
    return entry
