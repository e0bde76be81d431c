"""The log that a certificate is compared with: a study's storage, or a file that was exported from it.

An exported log is a table of trials (.csv, or .jsonl with one object a line) with the columns number, state, source,
of, plan.STEP and score.STEP for every step. Lines of a .jsonl file may give `path` and `rewards` in their place. What
was excluded and tightened is taken from the certificate, whose hash over the log covers it.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surepath.errors import CertificateError, ProblemError
from surepath.model.mdp import MDP
from surepath.model.sources.textfile import read_text
from surepath.study.sheets.rows import all_trials, plan_steps, score_columns, scored_at_end
from surepath.study.storage.contract import Storage
from surepath.study.storage.open import open_storage
from surepath.study.storage.records import ActionRow, TrialRow

MOST_LOG_BYTES = 4 * 1024**3


@dataclass
class Log:
    """Trials to compare with.

    Attributes:
        rows: Gives the settled trials 1, 2, ... up to a number.
        actions: Exclusions and tightenings, or None where the log does not have them.
        frozen: Settings, options and problem hash, where the log has them.
    """

    rows: Callable[[int], Iterable[TrialRow]]
    actions: list[ActionRow] | None = None
    frozen: dict[str, Any] = field(default_factory=dict)


def read_storage(storage: str | Storage, name: str | None) -> Log:
    """Read a study's log."""
    from surepath.study.study import Study

    study = Study.load(storage if isinstance(storage, Storage) else open_storage(storage), name)
    record = study.record
    frozen = {
        "settings": json.loads(record.settings),
        "options": json.loads(record.options),
        "problem_hash": record.problem_hash,
    }
    actions = study._read(lambda log: log.actions_after(0))

    def rows(last: int) -> list[TrialRow]:
        return study._read(lambda log: list(_settled(all_trials(log, last))))

    return Log(rows, [row._replace(content=json.dumps(json.loads(row.content))) for row in actions], frozen)


def read_log_file(path: str | Path, mdp: MDP) -> Log:
    """Read an exported log."""
    file = Path(path)
    try:
        text = read_text(file, MOST_LOG_BYTES)
    except ProblemError as error:
        raise CertificateError(str(error)) from None
    try:
        if file.suffix.lower() == ".csv":
            lines: list[dict[str, Any]] = [dict(line) for line in csv.DictReader(io.StringIO(text))]
        else:
            lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError, csv.Error) as error:
        raise CertificateError(f"{file} is neither a .csv file nor a list of JSON objects: {error}") from None
    trials = []
    for place, line in enumerate(lines, start=2 if file.suffix.lower() == ".csv" else 1):
        try:
            of_trial = isinstance(line, dict) and line.get("entry", "trial") == "trial"
            if of_trial and line.get("number") not in (None, ""):  # waiting plans have no number
                trials.append(_trial(line, mdp))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CertificateError(f"{file}, line {place}: {error}") from None
    trials.sort()
    return Log(lambda last: _settled(trials[:last]))


def _settled(rows: Iterable[TrialRow]) -> Iterator[TrialRow]:
    """Yield rows while they are settled and numbered 1, 2, ..."""
    for number, row in enumerate(rows, start=1):
        if row.number != number or not row.settled:
            return
        yield row


def _trial(line: Mapping[str, Any], mdp: MDP) -> TrialRow:
    steps = [str(step) for step in mdp.step_labels or range(mdp.horizon)]
    if "path" in line:
        path, rewards = line["path"], line["rewards"]
    else:
        if scored_at_end(mdp) and "score" in line:  # else as earlier versions wrote it: the plan in one cell
            names, scores = plan_steps(mdp), score_columns(mdp)
        else:
            names, scores = steps, [f"score.{step}" for step in steps]
        path = mdp.path({step: str(line[f"plan.{step}"]) for step in names}).tolist()
        rewards = [line[column] for column in scores]
        rewards = [value for value in rewards if value not in (None, "")]
    of = line.get("of")
    return TrialRow(
        number=int(line["number"]),
        state=str(line["state"]),
        path=tuple(int(arc) for arc in mdp.check_path(path)),
        source=str(line["source"]),
        of=None if of in (None, "") else int(of),
        rewards=tuple(float(value) for value in rewards),
        told=None if line.get("told") in (None, "") else 0.0,
    )
