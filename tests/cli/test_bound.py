"""`surepath bound`: the table, the JSON, what it asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath import MDP, Bernoulli, Gaussian, Instance, families, theory
from surepath.cli.main import app
from surepath.errors import ProblemError
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


def test_rewards_that_are_not_gaussian_are_reported(tmp_path: Path) -> None:
    mdp = MDP.from_edges([(0, "s", "a", None), (0, "s", "b", None)])
    file = tmp_path / "clicks.json"
    save_problem(file, mdp, Instance(mdp, Bernoulli([0.2, 0.8])), epsilon=0.1, delta=0.05)
    data = json.loads(run.invoke(app, ["bound", str(file), "--json"]).stdout)
    assert data["gaussian"] is False
    assert data["bounds"][0]["reading"].startswith("if the noise were Gaussian with this sigma")


def test_sigma_replaces_the_noise() -> None:
    common = ["bound", PROBLEM, "--epsilon", "0.1", "--delta", "0.05", "--no-time", "--json"]
    one, two = (json.loads(run.invoke(app, [*common, "--sigma", s]).stdout)["bounds"][0]["value"] for s in ("1", "2"))
    assert two == pytest.approx(4 * one)


def test_text_shows_bounds_and_the_options_that_cost_most() -> None:
    answer = run.invoke(app, ["bound", PROBLEM, "--epsilon", "0.1", "--delta", "0.05"])
    assert answer.exit_code == 0, answer.output
    for part in ("Theorem 1", "how to read it", "options that cost most"):
        assert part in answer.output
    easy = run.invoke(app, ["bound", PROBLEM, "--epsilon", "0.1", "--delta", "0.05", "--sigma", "0.05"])
    assert "A number below 1 is a bound on an average that says nothing" in easy.output


def test_infinite_bounds_are_said() -> None:
    answer = run.invoke(app, ["bound", "cover_gap-v1/m3", "--epsilon", "0", "--delta", "0.1"])
    assert answer.exit_code == 0, answer.output
    assert "infinite" in answer.output
    assert "several plans are best" in answer.output
    data = json.loads(
        run.invoke(app, ["bound", "cover_gap-v1/m3", "--epsilon", "0", "--delta", "0.1", "--json"]).stdout
    )
    assert data["bounds"][0]["infinite"]


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


def test_names_with_brackets_are_printed_as_they_are(tmp_path: Path) -> None:
    rows = [(0, "[/red]", "ask [fast]", None), (0, "[/red]", "ask [bold]twice", None)]
    mdp = MDP.from_edges(rows, sigma=1.0)
    file = tmp_path / "[x].json"
    save_problem(file, mdp, Instance(mdp, Gaussian([0.0, 1.0])), epsilon=0.1, delta=0.05)
    answer = run.invoke(app, ["bound", str(file)], env={"COLUMNS": "200"}, catch_exceptions=False)
    listing = answer.output[answer.output.index("options that cost most") :]
    for part in ("[/red]", "ask [fast]", "ask [bold]twice"):
        assert part in listing


def test_a_csv_of_costs_takes_a_direction(tmp_path: Path) -> None:
    file = tmp_path / "costs.csv"
    file.write_text("state,action,next_state,mean,sigma\na,x,b,1,1\na,y,b,3,1\n")
    common = ["bound", str(file), "--epsilon", "0.1", "--delta", "0.05", "--no-time", "--json"]
    assert json.loads(run.invoke(app, common).stdout)["optimal_return"] == 3
    assert json.loads(run.invoke(app, [*common, "--direction", "minimize"]).stdout)["optimal_return"] == 1
    named = run.invoke(app, ["bound", PROBLEM, "--direction", "minimize"])
    assert 'says "maximize"; direction is for CSV tables' in str(named.exception)


def test_means_are_needed(tmp_path: Path) -> None:
    file = tmp_path / "bare.json"
    save_problem(file, families.from_id(PROBLEM).mdp)
    answer = run.invoke(app, ["bound", str(file), "--epsilon", "0.1", "--delta", "0.05", "--sigma", "1"])
    assert isinstance(answer.exception, ProblemError)
    assert "bounds need the true means" in str(answer.exception)
