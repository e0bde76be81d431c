"""Commands about a problem: bound, estimate, simulate, what they ask for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath import MDP, families, simulate, theory
from surepath.cli.main import app
from surepath.errors import ProblemError
from surepath.simulation.estimate import estimate
from tests.cli.shell import shell
from tests.model.sources.problem_texts import EDGE, problem, with_means

# `surepath bound`: the table, the JSON, what it asks for --------------------------------------------------------------

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
    file.write_text(with_means(instance, epsilon=0.1, delta=0.05))
    answer = run.invoke(app, ["bound", str(file), "--json", "--no-time"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["epsilon"] == 0.1
    missing = run.invoke(app, ["bound", PROBLEM, "--delta", "0.05"])
    assert missing.exit_code == 2
    assert "give --epsilon" in missing.output


# surepath estimate on the command line --------------------------------------------------------------------------------

NAME = "chain-v1/n3k2/seed7"


def estimate_run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["estimate", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_holds_what_estimate_gives() -> None:
    options = ["--epsilon", "0.3", "--delta", "0.1", "--sigma", "0.2", "--spread", "0", "2", "--worlds", "4"]
    answer = json.loads(estimate_run(NAME, *options, "--seed", "3", "--json"))
    mdp = families.from_id(NAME).mdp
    expected = estimate(mdp, 0.3, 0.1, 0.2, spread=(0.0, 2.0), worlds=4, seed=3)
    assert answer["simulated"] is True
    assert answer["means_drawn_from"] == [0.0, 2.0]
    assert answer["estimates"]["Challenger"]["trials"] == expected.trials["Challenger"].tolist()


@pytest.mark.parametrize(("options", "missing"), [([], "epsilon"), (["--epsilon", "1", "--delta", "0.1"], "sigma")])
def test_what_the_file_leaves_open_is_asked_for(tmp_path: Path, options: list[str], missing: str) -> None:
    file = tmp_path / "bare.json"
    families.from_id(NAME).mdp.save(file)
    noise = ["--sigma", "1"] if missing == "epsilon" else []
    result = CliRunner().invoke(app, ["estimate", str(file), *options, *noise])
    assert result.exit_code == 2
    words = " ".join(result.output.replace("│", " ").split())  # the box wraps its lines
    assert f"give --{missing}" in words


# surepath simulate on the command line --------------------------------------------------------------------------------

SIMULATE_NAME = "paper_random-v1/s2a2h3/seed0"


def simulate_run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["simulate", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_json_holds_what_simulate_gives() -> None:
    options = ["--learner", "EPRL", "--set", "sampling=max-diameter", "--epsilon", "2", "--epsilon", "4"]
    answer = json.loads(simulate_run(SIMULATE_NAME, *options, "--runs", "5", "--seed", "3", "--json", "--rows"))
    spec = {"name": "EPRL", "delta": 0.1, "sampling": "max-diameter"}
    expected = simulate(spec, families.from_id(SIMULATE_NAME), runs=5, seed=3, epsilons=[2.0, 4.0])
    assert [row["tau"] for row in answer["rows"]] == expected.tau.tolist()
    assert [line["epsilon"] for line in answer["summary"]] == [2.0, 4.0]
    assert answer["summary"][0]["mean_tau"] == expected.mean_tau(2.0)
    assert answer["settings"]["learner"]["sampling"] == "max-diameter"
    assert answer["settings"]["seed"] == 3


def test_the_table_names_settings_and_missing_guarantees() -> None:
    text = simulate_run(
        SIMULATE_NAME, "--learner", "BPIUCRL", "--set", "preset=experiment", "--epsilon", "3", "--runs", "3"
    )
    assert "BPIUCRL" in text
    assert "preset=experiment" in text
    assert "preset experiment has no guarantee" in text


def test_a_graph_without_laws_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    families.from_id(SIMULATE_NAME).mdp.save(file)
    with pytest.raises(ProblemError, match="a simulation needs the true means"):
        simulate_run(str(file), "--sigma", "1")


# Commands that need the noise refuse without it, in the same words and with the same code -----------------------------

MEANS = [{**EDGE, "mean": 0.5}, {**EDGE, "action": "y", "mean": 0.25}]
ASKED = ["--epsilon", "0.1", "--delta", "0.1"]


def words(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("command", ["bound", "estimate", "simulate"])
@pytest.mark.parametrize("means", [True, False], ids=["means", "graph"])
def test_commands_refuse_without_noise(tmp_path: Path, command: str, means: bool) -> None:
    file = tmp_path / "p.json"
    file.write_text(problem(edges=MEANS) if means else problem())
    answer = shell(command, str(file), *ASKED, folder=tmp_path)
    assert answer.returncode == 2
    text = words(answer.stderr)
    assert "the problem file p.json: the noise of the scores is not declared" in text
    for way in ("a sigma (", "a range of scores (", "or a pilot: try each option a few times", "give --sigma"):
        assert way in text
    assert "Traceback" not in answer.stderr


def test_show_says_that_the_noise_is_not_declared(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(problem())
    answer = CliRunner().invoke(app, ["show", str(file)])
    assert answer.exit_code == 0
    assert (
        "sigma  not declared, and without it nothing can be proven. Three ways to declare it: a sigma" in answer.stdout
    )
    facts = json.loads(CliRunner().invoke(app, ["show", str(file), "--json"]).stdout)
    assert facts["sigma"] is None
    assert "Three ways to declare it" in facts["noise_missing"]
    file.write_text(problem(edges=MEANS))  # means without noise make no world, and are shown all the same
    answer = CliRunner().invoke(app, ["show", str(file)])
    assert "sigma  not declared" in answer.stdout
    assert "best   0.5 by the means in the file" in answer.stdout
    file.write_text(problem(low=0, high=4))
    facts = json.loads(CliRunner().invoke(app, ["show", str(file), "--json"]).stdout)
    assert (facts["sigma"], facts["noise_missing"], facts["noise_learned"]) == ([2.0, 2.0], None, True)
    answer = CliRunner().invoke(app, ["show", str(file)])
    assert "sigma  2 at most, half of the declared range; a study learns within it" in answer.stdout
    file.write_text(problem(low=0, high=4, edges=MEANS))  # a learner never sees means, so they change nothing
    assert json.loads(CliRunner().invoke(app, ["show", str(file), "--json"]).stdout)["noise_learned"] is True


def test_steps_are_counted_from_one_and_the_curve_names_its_learner(tmp_path: Path) -> None:
    file = tmp_path / "end.json"
    MDP.from_steps({"x": ["a", "b"], "y": ["c", "d"]}, scores="end", structure="additive", sigma=0.1).save(file)
    shown = shell("show", str(file), folder=tmp_path).stdout
    assert "step 1 (x)" in shown
    assert "step 2 (y)" in shown
    options = ("--epsilon", "0.5", "--delta", "0.1", "--worlds", "2", "--seconds", "0")
    assert (
        "What Rounds needs for each epsilon, each played alone"
        in shell("estimate", str(file), *options, folder=tmp_path).stdout
    )
