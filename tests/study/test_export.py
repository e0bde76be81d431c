"""Exports: the same study in another storage, damaged files refused, tables for people."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from surepath import Study
from surepath.errors import FileError, SettingError, StudyError
from surepath.study.storage import Storage
from tests.study.conftest import Clock
from tests.study.worlds import bounded, new_study, scores


def eventful(clock: Clock | None = None, **options: Any) -> Study:
    """A study with everything a log can hold: failures, expiry, a late result, decisions, a queue, running trials."""
    clock = clock or Clock()
    study = new_study(Storage("memory", clock), epsilon=1e-3, **options)
    study.optimize(scores, n_trials=4) if study.options.on_failure == "leave-out" else None
    dead, partial, failed = study.ask(3)
    study.fail(partial, [0.123456789012345678], note='a "quoted"\nnote')
    study.fail(failed)
    clock.time += 10_000.0
    study.sync()
    study.tell(dead, [0.5, 0.1])
    study.exclude({"model": "small"})
    study.import_trials([({"model": "large", "prompt": "short"}, [1 / 3, 2 / 3])])
    study.tighten(1e-4)
    study.tell(study.ask(), [0.9, 0.7])
    study.enqueue({"model": "large", "prompt": "long"})
    study.enqueue({"model": "large", "prompt": "short"})
    study.ask()
    study.enqueue({"model": "large", "prompt": "long"})
    return study


@pytest.mark.parametrize("policy", ["leave-out", "worst"])
def test_an_export_makes_the_same_study(
    tmp_path: Path, opening: Callable[[], Storage], clock: Clock, policy: str
) -> None:
    study = eventful(clock, mdp=bounded(), on_failure=policy)
    assert study.export(tmp_path / "log.jsonl") == len(study)
    made = Study.from_export(tmp_path / "log.jsonl", opening())
    assert made.record == study.record
    assert made._fold.prefix == 0  # nothing but the log decides
    assert made.digest == study.digest
    assert made._fold.prefix == study._fold.prefix > 5
    assert made.best_plan == study.best_plan
    assert made.certified_gap == study.certified_gap
    assert made.epsilon == study.epsilon == 1e-4
    assert made.learner.excluded.tolist() == study.learner.excluded.tolist()


def _change(lines: list[str], at: int, **changes: Any) -> list[str]:
    return [*lines[:at], json.dumps({**json.loads(lines[at]), **changes}), *lines[at + 1 :]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [], "line 1 is not a JSON object"),
        (lambda lines: ["{}"], "is not an exported study"),
        (lambda lines: _change(lines, 0, format_version=2), "format version 2; this surepath reads 1"),
        (lambda lines: _change(lines, 0, settings="{}"), "line 1 is damaged"),
        (lambda lines: _change(lines, 0, problem=json.loads(lines[0])["problem"].replace("0.1", "0.2")), "hash says"),
        (lambda lines: lines[:3] + lines[4:], "line 4 is damaged: trial 4 is where trial 3 belongs"),
        (lambda lines: _change(lines, 2, state="dreaming"), "line 3 is damaged: .*unknown word 'dreaming'"),
        (lambda lines: _change(lines, 2, rewards=[]), "line 3 is damaged: a complete trial with 0 scores"),
        (lambda lines: _change(lines, 2, path=[0, 99]), "line 3 is damaged"),
        (lambda lines: _change(lines, 2, asked="noon"), "line 3 is damaged: .*its asked is 'noon'"),
        (lambda lines: _change(lines, 2, entry="poem"), "line 3 is damaged: unknown entry 'poem'"),
    ],
)
def test_a_damaged_file_makes_no_study(tmp_path: Path, change: Any, words: str) -> None:
    study = eventful()
    file = tmp_path / "log.jsonl"
    study.export(file)
    file.write_text("\n".join(change(file.read_text().splitlines())))
    place = Storage("memory")
    with pytest.raises(StudyError, match=words):
        Study.from_export(file, place)
    assert place.names() == []


def test_files_that_are_not_there_or_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="there is no file"):
        Study.from_export(tmp_path / "nothing.jsonl", "memory")
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StudyError, match="not UTF-8"):
        Study.from_export(tmp_path / "x.jsonl", "memory")
    with pytest.raises(StudyError, match="cannot read"):
        Study.from_export(tmp_path, "memory")


def test_a_table_for_people(tmp_path: Path) -> None:
    study = eventful()
    study.export(tmp_path / "log.csv")
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    trials = study._read(lambda log: log.trials(1, 99))
    assert len(rows) == len(trials) + 2
    for row, trial in zip(rows, trials):
        assert (int(row["number"]), row["state"], row["note"]) == (trial.number, trial.state, trial.note)
        assert {"model": row["plan.model"], "prompt": row["plan.prompt"]} == study.mdp.plan(list(trial.path))
        assert datetime.fromisoformat(row["asked"]).timestamp() == pytest.approx(trial.asked, abs=1e-3)
        assert row["asked"].endswith("+00:00")
        told = [float(cell) for cell in (row["score.model"], row["score.prompt"]) if cell]
        assert tuple(told) == trial.rewards
    assert [row["state"] for row in rows[-2:]] == ["waiting", "waiting"]


def test_other_endings_and_places_are_refused(tmp_path: Path) -> None:
    study = new_study()
    with pytest.raises(SettingError, match=r"an export ends in \.jsonl"):
        study.export(tmp_path / "log.txt")
    with pytest.raises(FileError, match="cannot write"):
        study.export(tmp_path / "nowhere" / "log.jsonl")
    (tmp_path / "kept.csv").write_text("precious")
    study.storage.delete(study.name)
    with pytest.raises(StudyError, match="no study"):
        study.export(tmp_path / "kept.csv")
    assert (tmp_path / "kept.csv").read_text() == "precious"
