"""Reading an exported log back: the same study, trial for trial, in another storage."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from surepath.errors import StudyError, SurepathError
from surepath.learners.base import read_rewards
from surepath.learners.registry import build
from surepath.model.mdp import MDP
from surepath.model.sources.files import parse_json_problem
from surepath.study.creation import Options, check_name, learner_spec
from surepath.study.fold import EXCLUDE, TIGHTEN
from surepath.study.sheets.export import LOG_FORMAT, LOG_VERSION
from surepath.study.storage import PAGE, ActionRow, QueueRow, Storage, StudyRecord, TrialRow, Writing, retrying
from surepath.study.trial import SCORED, SOURCES, STATES, WAITING

FIELD_TYPES: dict[str, Any] = {
    "number": int,
    "of": int | None,
    "worker": str,
    "note": str,
    "asked": int | float,
    "lease": int | float,
    "told": int | float | None,
}
RECORD_TEXTS = ("name", "problem", "problem_hash", "settings", "options", "version")


def read_export(path: Path, storage: Storage, name: str | None = None) -> StudyRecord:
    """Make the study of an exported log; everything is checked before the study exists."""
    exists = False
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
    with contextlib.suppress(StudyError):  # none of that name, or no storage yet
        retrying(lambda: storage.load(record.name))
        exists = True
    if exists:
        raise StudyError(f"a study {record.name!r} already exists here; restore this one under another name")
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
        storage.delete(record.name)  # no half of a study stays
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
            elif kind == WAITING:
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
        build(learner_spec(json.loads(record.settings)), parse_json_problem(record.problem, name).mdp)
    except (TypeError, ValueError, SurepathError) as error:
        raise StudyError(f"{name}, line 1 is damaged: {error}") from None
    return record


def _action(entry: dict[str, Any], expected: int, trials: int) -> ActionRow:
    row = ActionRow(number=entry.pop("action"), **entry)
    if row.number != expected or row.kind not in (EXCLUDE, TIGHTEN) or not 0 <= row.after <= trials:
        raise ValueError(f"an action that cannot be: {entry}")
    json.loads(row.content)
    return row


def _trial(mdp: MDP, entry: dict[str, Any], expected: int) -> TrialRow:
    path = tuple(mdp.check_path(entry["path"]).tolist())
    rewards = tuple(float(x) for x in entry["rewards"])
    row = TrialRow(**{**entry, "path": path, "rewards": rewards})
    if not all(isinstance(getattr(row, key), kinds) for key, kinds in FIELD_TYPES.items()):
        raise ValueError("a field has the wrong type")
    if row.number != expected:
        raise ValueError(f"trial {row.number} is where trial {expected} belongs")
    if row.state not in STATES or row.state == WAITING or row.source not in SOURCES:
        raise ValueError(f"unknown state {row.state!r} or source {row.source!r}")
    if bool(rewards) != (row.state in SCORED):
        raise ValueError(f"a {row.state} trial with {len(rewards)} scores")
    if tuple(read_rewards(mdp, mdp.check_path(path), rewards).tolist()) != rewards:
        raise ValueError("scores of known options differ from the problem's")
    return row


def _entry(line: str, name: str, number: int) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise StudyError(f"{name}, line {number} is no JSON object; an exported study has one on each line")
    return entry
