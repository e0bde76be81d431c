"""surepath experiment: run, check, report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath.cli.main import app
from surepath.errors import SettingError

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
    assert text.startswith("| learner | cells | runs | mean trials (geometric) | wrong at most | ratio |\n")
    rows = json.loads(CliRunner().invoke(app, [*report, "--json"]).stdout)["rows"]
    assert {row["learner"] for row in rows} == {"BPIUCRL", "max-diameter"}
    assert "runs are stored" not in text
    next((out / "rows").glob("*.parquet")).unlink()
    assert "runs are stored; play the others with" in CliRunner().invoke(app, report).stdout


def test_check_lists_cells_and_runs_nothing(spec: Path) -> None:
    shown = CliRunner().invoke(app, ["experiment", "run", str(spec), "--check"])
    assert "chain-v1/n3k2/seed7 | max-diameter | delta 0.1" in shown.stdout
    assert "spec: 2 cells of 3 runs each" in shown.stdout
    told = json.loads(CliRunner().invoke(app, ["experiment", "run", str(spec), "--check", "--json"]).stdout)
    assert len(told["cells"]) == 2
    assert list(spec.parent.iterdir()) == [spec]
    assert CliRunner().invoke(app, ["experiment", "run", str(spec)]).exit_code == 2


def test_a_bad_back_end_is_named(spec: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["experiment", "run", str(spec), "--out", str(tmp_path), "--backend", "rai"])
    assert isinstance(result.exception, SettingError)
    assert "backend 'rai' is not known (did you mean \"ray\"?)" in str(result.exception)
