"""A study is a durable run of real trials: nothing about simulations uses the word, in code, columns, help or docs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import surepath
from surepath.cli.main import app
from surepath.experiments.results import read
from surepath.experiments.runner import run
from surepath.experiments.spec import Spec
from tests.experiments.specs import small

PACKAGE = Path(surepath.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
STUDY = re.compile(r"stud(y|ies)", re.IGNORECASE)


def test_no_module_or_page_about_simulations_uses_the_word() -> None:
    files = [file for part in ("experiments", "simulation") for file in (PACKAGE / part).rglob("*.py")]
    files += [PACKAGE / "cli" / f"{name}.py" for name in ("experiment", "reproduce", "simulate")]
    files += [ROOT / "docs" / "experiments.md", ROOT / "benchmarks" / "bench_experiments.py"]
    assert len(files) > 30
    assert [str(file) for file in files if STUDY.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "command", ["experiment", "experiment run", "experiment check", "experiment table", "reproduce"]
)
def test_no_help_text_uses_the_word(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert not STUDY.search(result.stdout)


def test_the_column_the_manifest_and_the_default_name_are_experiments(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    values = small(runs=1)
    del values["name"]
    run(Spec.from_dict(values), tmp_path, workers=1)
    frame = read(tmp_path)
    assert frame.columns[0] == "experiment"
    assert frame["experiment"].unique().to_list() == ["experiment"]
    manifest = json.loads((tmp_path / "experiment.json").read_text())
    assert manifest["format"] == 3
    assert not STUDY.search(json.dumps(manifest))
