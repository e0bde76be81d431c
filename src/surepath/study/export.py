"""A study as data frame and as file, and a study restored from such a file."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepath._checks import one_of
from surepath._optional import need
from surepath._version import __version__
from surepath.errors import SettingError, StudyError, SurepathError
from surepath.learners.base import build, read_rewards
from surepath.model.files import parse_json_problem
from surepath.model.mdp import MDP
from surepath.model.text_files import csv_line, write_bytes
from surepath.study.creation import Options, check_name, learner_spec
from surepath.study.sheets import EVERY_ROW, FACTS, all_trials, columns, plan_columns, table, table_rows
from surepath.study.storage import PAGE, Reading, Storage, Writing, retrying
from surepath.study.trial import SCORED, SOURCES, STATES, ActionRow, QueueRow, StudyRecord, TrialRow
from surepath.verify.file import CONFIRM, CONFIRMED
from surepath.verify.stages import missing_rule

if TYPE_CHECKING:
    from surepath.study.study import Study


TIME_COLUMNS = ("asked", "told")
WHOLE_NUMBER_COLUMNS = ("number", "of", "tries")
TEXT_COLUMNS = ("state", "source", "worker", "note", "case", "baseline")


def trials_frame(study: Study) -> Any:
    """Return every trial as a row of a polars frame: the columns of FACTS, plan.*, score.*.

    `of` is the trial that this one repeats or reports late; `asked` and `told` are times in UTC. Plans that wait come
    last, without a number.
    """
    pl = need("polars", "data")
    data = table(study)
    kinds = {**dict.fromkeys(WHOLE_NUMBER_COLUMNS, pl.Int64), **dict.fromkeys(TIME_COLUMNS, pl.Datetime("us", "UTC"))}
    texts = {*TEXT_COLUMNS, *plan_columns(study.mdp)}
    schema = {name: kinds.get(name, pl.String if name in texts else pl.Float64) for name in data}
    for name in TIME_COLUMNS:
        data[name] = [_moment(value) for value in data[name]]
    return pl.DataFrame(data, schema=schema)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


# Export ---------------------------------------------------------------------------------------------------------------
# The first line of a JSON-lines export is the study itself (problem, settings, options, as they were frozen); then
# come the trials in their order, the actions (exclusions, a tighter epsilon) and the plans that wait. Restoring
# reads it.

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


# Restore --------------------------------------------------------------------------------------------------------------

FIELD_TYPES: dict[str, Any] = {
    "number": int,
    "of": int | None,
    "worker": str,
    "note": str,
    "attended": bool,
    "cost": int | float | None,
    "tries": int,
    "asked": int | float,
    "lease": int | float,
    "told": int | float | None,
}
RECORD_TEXTS = ("name", "problem", "problem_hash", "settings", "options", "version")


def read_export(path: Path, storage: Storage, name: str | None = None) -> StudyRecord:
    """Make the study of an exported log; everything is checked before the study exists."""
    try:
        with path.open(encoding="utf-8") as file:
            record, trials, actions, queue = _read(iter(file), path.name)
    except FileNotFoundError:
        raise StudyError(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path} is not an exported study: it is not UTF-8 text") from None
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror or error}") from error
    if name is not None:
        record = replace(record, name=check_name(name))
    return _fill(storage, record, trials, actions, queue)


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
        spec = {key: value for key, value in settings.items() if key not in ("bound", "prior")}
        settings = build({**spec, "dependence": "any"}, study.mdp).settings()
    study.sync()
    trials, actions, queue = study._read(
        lambda log: (list(all_trials(log)), log.actions_after(0), log.queue(EVERY_ROW))
    )
    rule = missing_rule(study.mdp, settings)
    broken = next((row for row in trials if row.state == "partial"), None)
    if settings.get("dependence") != was and broken is not None and rule is not None and not rule.fills:
        raise StudyError(
            f"trial {broken.number} broke off after {len(broken.rewards)} scores: a log is read again with dependence "
            "any only if all its trials are whole, or every score has a declared range (and noise is not bernstein)"
        )
    text = json.dumps(settings)
    record = replace(study.record, name=check_name(name), settings=text, created=time.time(), version=__version__)
    return _fill(study.storage, record, trials, actions, queue)


def _fill(
    storage: Storage, record: StudyRecord, trials: list[TrialRow], actions: list[ActionRow], queue: list[QueueRow]
) -> StudyRecord:
    """Enter a study with its log; no half of it stays."""
    exists = False
    with contextlib.suppress(StudyError):  # none of that name, or no storage yet
        retrying(lambda: storage.load(record.name))
        exists = True
    if exists:
        raise StudyError(f"a study {record.name!r} already exists here; choose another name")
    retrying(lambda: storage.create(record))

    def fill(log: Writing) -> None:
        if log.last_number():  # filled before a connection was lost
            return
        for first in range(0, len(trials), PAGE):
            log.add_trials(trials[first : first + PAGE])
        for action in actions:
            log.add_action(action)
        for waiting in queue:
            log.add_to_queue(waiting)

    def once() -> None:
        with storage.writing(record.name) as log:
            fill(log)

    try:
        retrying(once)
    except BaseException:
        storage.delete(record.name)
        raise
    return record


def _read(lines: Iterator[str], name: str) -> tuple[StudyRecord, list[TrialRow], list[ActionRow], list[QueueRow]]:
    record = _record(_entry(next(lines, ""), name, 1), name)
    mdp = parse_json_problem(record.problem, name).mdp
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
                trials.append(_trial(mdp, entry, len(trials) + 1))
            elif kind == "action":
                actions.append(_action(entry, len(actions) + 1, len(trials)))
            elif kind == "waiting":
                queue.append(QueueRow(**{**entry, "number": 0, "path": tuple(mdp.check_path(entry["path"]).tolist())}))
            else:
                raise ValueError(f"unknown entry {kind!r}")
        except (TypeError, KeyError, ValueError) as error:
            raise StudyError(f"{name}, line {number} is damaged: {error}") from None
    return record, trials, actions, queue


def _record(head: dict[str, Any], name: str) -> StudyRecord:
    if head.get("format") != LOG_FORMAT:
        raise StudyError(f"{name} is not an exported study; surepath study export log.jsonl writes one")
    if head.get("format_version") != LOG_VERSION:
        raise StudyError(f"{name} has format version {head.get('format_version')!r}; this surepath reads {LOG_VERSION}")
    if not all(isinstance(head.get(key), str) for key in RECORD_TEXTS) or not isinstance(
        head.get("created"), (int, float)
    ):
        raise StudyError(f"{name}, line 1 is damaged: a field of the study is missing")
    record = StudyRecord(**{key: head[key] for key in RECORD_TEXTS}, created=float(head["created"]))
    if parse_json_problem(record.problem, name).mdp.content_hash != record.problem_hash:
        raise StudyError(f"{name}: the problem is not what its hash says: the file was changed")
    try:
        Options(**json.loads(record.options))
        mdp = parse_json_problem(record.problem, name).mdp
        build(learner_spec(json.loads(record.settings), mdp), mdp)
    except (TypeError, ValueError, SurepathError) as error:
        raise StudyError(f"{name}, line 1 is damaged: {error}") from None
    return record


def _action(entry: dict[str, Any], expected: int, trials: int) -> ActionRow:
    row = ActionRow(number=entry.pop("action"), **entry)
    known = ("exclude", "tighten", "reference", CONFIRM, CONFIRMED)
    if row.number != expected or row.kind not in known or not 0 <= row.after <= trials:
        raise ValueError(f"an action that cannot be: {entry}")
    return row


def _trial(mdp: MDP, entry: dict[str, Any], expected: int) -> TrialRow:
    path = tuple(mdp.check_path(entry["path"]).tolist())
    rewards = tuple(float(x) for x in entry["rewards"])
    texts, taken_off = tuple(map(str, entry["cases"])), tuple(map(float, entry["baseline"]))
    row = TrialRow(**{**entry, "path": path, "rewards": rewards, "cases": texts, "baseline": taken_off})
    if not all(isinstance(getattr(row, key), kinds) for key, kinds in FIELD_TYPES.items()):
        raise ValueError("a field has the wrong type")
    if row.number != expected:
        raise ValueError(f"trial {row.number} is where trial {expected} belongs")
    if row.state not in STATES or row.state == "waiting" or row.source not in SOURCES:
        raise ValueError(f"unknown state {row.state!r} or source {row.source!r}")
    if bool(rewards) != (row.state in SCORED):
        raise ValueError(f"a {row.state} trial with {len(rewards)} scores")
    if tuple(read_rewards(mdp, mdp.check_path(path), rewards, ranged=not taken_off).tolist()) != rewards:
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
