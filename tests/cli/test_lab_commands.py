"""Experiments and pictures from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from surepath import MDP, Study
from surepath.cli.main import app
from surepath.errors import SettingError, StorageError, StudyError
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec
from tests.experiments.specs import small

# surepath experiment: run, check, report ------------------------------------------------------------------------------

pytest.importorskip("polars")

SPEC = """
runs = 3
deltas = [0.1]
epsilons = [2.0]
instances = ["chain-v1/n3k2/seed7"]
learners = [{name = "BPIUCRL"}, {name = "EPRL", label = "max-diameter", sampling = "max-diameter"}]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "spec.toml"
    file.write_text(SPEC)
    return file


def test_run_resume_and_compare(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["experiment", "run", str(spec), "--out", str(out), "--workers", "1"]
    first = CliRunner().invoke(app, [*command, "--json"])
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)
    assert (told["experiment"], told["cells"], told["runs"], told["played"]) == ("spec", 2, 6, 6)
    again = CliRunner().invoke(app, command)
    assert isinstance(again.exception, SettingError)
    resumed = CliRunner().invoke(app, [*command, "--resume"])
    assert "6 runs in 2 cells, 0 of them played now" in resumed.stdout
    pytest.importorskip("matplotlib")
    report = ["experiment", "report", str(out), "--baseline", "BPIUCRL"]
    text = CliRunner().invoke(app, report).stdout
    assert text.startswith("| learner | cells | runs | mean trials (geometric) | wrong at most | ratio to BPIUCRL |\n")
    rows = json.loads(CliRunner().invoke(app, [*report, "--json"]).stdout)["rows"]
    assert {row["learner"] for row in rows} == {"BPIUCRL", "max-diameter"}
    assert "runs are stored" not in text
    next((out / "rows").glob("*.parquet")).unlink()
    assert "runs are stored; play the others with" in CliRunner().invoke(app, report).stdout


# surepath plot: a picture for a study, a problem, an experiment; and what is refused, in words ---------

pytest.importorskip("polars")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def place(tmp_path_factory: Any) -> Path:
    """A folder with two studies in a database, a certificate, a problem and an experiment."""
    folder: Path = tmp_path_factory.mktemp("plot")
    mdp = MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, sigma=0.1)
    for name in ("one", "two"):
        with Study.create(mdp, f"sqlite:///{folder / 'study.db'}", name, epsilon=0.2, delta=0.1) as study:
            study.optimize(lambda plan: [{"y": 0.9, "v": 0.8}.get(str(o), 0.1) for o in plan.values()], progress=False)
            study.certificate().save(folder / "certificate.json")
    mdp.save(folder / "problem.json")
    run(Spec.from_dict(small()), folder / "results", workers=1)
    return folder


CASES = {
    "gap of a study": ["gap", "study.db", "one"],
    "graph of a study": ["graph", "sqlite:///study.db", "two"],
    "graph of a problem": ["graph", "problem.json"],
    "graph of an instance": ["graph", "chain-v1/n3k2/seed7"],
    "intervals": ["intervals", "study.db", "two"],
    "challengers": ["challengers", "study.db", "one", "--most", "2"],
    "cost": ["cost", "results", "--learner", "BPIUCRL"],
    "compare": ["compare", "results", "--baseline", "BPIUCRL", "--epsilon", "2"],
}


@pytest.mark.parametrize("words", CASES.values(), ids=CASES)
def test_a_picture_is_written_and_its_numbers_printed(
    words: list[str], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    out = tmp_path / "picture.png"
    done = CliRunner().invoke(app, ["plot", *words, "-o", str(out), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["plot"], told["out"]) == (words[0], str(out))
    assert told["data"]
    assert out.read_bytes().startswith(b"\x89PNG")
    spoken = CliRunner().invoke(app, ["plot", *words, "-o", str(out)])
    assert spoken.stdout.startswith(f"{out}: ")


def test_the_gap_of_a_study_is_written_trial_by_trial(place: Path, tmp_path: Path) -> None:
    words = ["plot", "gap", str(place / "study.db"), "one", "-o", str(tmp_path / "a.svg"), "--json"]
    data = json.loads(CliRunner().invoke(app, words).stdout)["data"]
    study = Study.load(str(place / "study.db"), "one")
    assert data["trials"] == list(range(1, len(study) + 1))
    assert data["gap"][-1] == study.certified_gap
    assert data["gap"][0] is None


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["gap", "certificate.json"], StorageError, "certificate.json is not a SQLite database"),
        (["gap", "study.db"], StudyError, "name the study"),
        (["gap", "study.db", "one", "-o", "a.gif"], SettingError, "a picture ends in .png, .svg, .pdf"),
        (["cost", "nowhere"], SettingError, "nowhere holds no experiment"),
        (["compare", "results", "--epsilon", "9"], SettingError, "no run has epsilon 9.0; there are: 2, 3"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(
    words: list[str], error: type[Exception], message: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    done = CliRunner().invoke(app, ["plot", *words])
    assert isinstance(done.exception, error)
    assert message in str(done.exception)
