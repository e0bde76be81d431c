"""surepath experiment: run, check, table."""

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
    text = CliRunner().invoke(app, ["experiment", "table", str(out), "--baseline", "BPIUCRL"]).stdout
    assert text.count("\n") == 4
    rows = json.loads(CliRunner().invoke(app, ["experiment", "table", str(out), "--json"]).stdout)["rows"]
    assert {row["learner"] for row in rows} == {"BPIUCRL", "max-diameter"}
    latex = CliRunner().invoke(app, ["experiment", "table", str(out), "--format", "latex"]).stdout
    assert latex.startswith("\\begin{tabular}")


def test_a_table_of_an_unfinished_experiment_says_so(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    assert CliRunner().invoke(app, ["experiment", "run", str(spec), "--out", str(out), "--quiet"]).exit_code == 0
    assert "note:" not in CliRunner().invoke(app, ["experiment", "table", str(out)]).stderr
    next((out / "rows").glob("*.parquet")).unlink()
    assert "runs are stored; play the others with" in CliRunner().invoke(app, ["experiment", "table", str(out)]).stderr


def test_check_lists_cells_and_runs_nothing(spec: Path) -> None:
    shown = CliRunner().invoke(app, ["experiment", "check", str(spec)])
    assert "chain-v1/n3k2/seed7 | max-diameter | delta 0.1" in shown.stdout
    assert "spec: 2 cells of 3 runs each" in shown.stdout
    told = json.loads(CliRunner().invoke(app, ["experiment", "check", str(spec), "--json"]).stdout)
    assert len(told["cells"]) == 2


def test_a_bad_back_end_is_named(spec: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["experiment", "run", str(spec), "--out", str(tmp_path), "--backend", "rai"])
    assert isinstance(result.exception, SettingError)
    assert "backend 'rai' is not known (did you mean \"ray\"?)" in str(result.exception)
