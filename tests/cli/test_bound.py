"""`surepath bound`: the table, the JSON, what it asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath import families, theory
from surepath.cli.main import app
from surepath.model.files import save_problem

run = CliRunner()
PROBLEM = "paper_random-v1/s2a2h3/seed1"


def test_json_holds_every_bound() -> None:
    answer = run.invoke(app, ["bound", PROBLEM, "--epsilon", "0.1", "--delta", "0.05", "--json"])
    assert answer.exit_code == 0, answer.output
    data = json.loads(answer.stdout)
    values = {row["name"]: row["value"] for row in data["bounds"]}
    expected = theory.lower_bound(families.from_id(PROBLEM), 0.1, 0.05)
    assert values["Theorem 1"] == pytest.approx(expected.value)
    assert data["demand"] == pytest.approx(expected.local.tolist())
    assert data["cut"] == expected.cut.tolist()
    assert data["costliest_arcs"][0]["demand"] == pytest.approx(expected.local.max())
    assert data["characteristic_time"]["gap"] < 0.01
    assert data["gaussian"] is True
    assert all(row["reading"] for row in data["bounds"])


def test_text_shows_bounds_and_the_options_that_cost_most() -> None:
    answer = run.invoke(app, ["bound", PROBLEM, "--epsilon", "0.1", "--delta", "0.05"])
    assert answer.exit_code == 0, answer.output
    for part in ("Theorem 1", "how to read it", "options that cost most"):
        assert part in answer.output
    easy = run.invoke(app, ["bound", PROBLEM, "--epsilon", "0.1", "--delta", "0.05", "--sigma", "0.05"])
    assert "A number below 1 is a bound on an average that says nothing" in easy.output


def test_the_file_may_say_epsilon_and_delta(tmp_path: Path) -> None:
    instance = families.from_id(PROBLEM)
    file = tmp_path / "problem.json"
    save_problem(file, instance.mdp, instance, epsilon=0.1, delta=0.05)
    answer = run.invoke(app, ["bound", str(file), "--json", "--no-time"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["epsilon"] == 0.1
    missing = run.invoke(app, ["bound", PROBLEM, "--delta", "0.05"])
    assert missing.exit_code == 2
    assert "give --epsilon" in missing.output
