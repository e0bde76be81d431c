"""surepath simulate on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath import families, simulate
from surepath.cli.main import app
from surepath.errors import ProblemError, SettingError

COSTS = ["--direction", "minimize"]
NAME = "paper_random-v1/s2a2h3/seed0"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["simulate", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_json_holds_what_simulate_gives() -> None:
    options = ["--learner", "EPRL", "--set", "sampling=max-diameter", "--epsilon", "2", "--epsilon", "4"]
    answer = json.loads(run(NAME, *options, "--runs", "5", "--seed", "3", "--json", "--rows"))
    spec = {"name": "EPRL", "delta": 0.1, "sampling": "max-diameter"}
    expected = simulate(spec, families.from_id(NAME), runs=5, seed=3, epsilons=[2.0, 4.0])
    assert [row["tau"] for row in answer["rows"]] == expected.tau.tolist()
    assert [line["epsilon"] for line in answer["summary"]] == [2.0, 4.0]
    assert answer["summary"][0]["mean_tau"] == expected.mean_tau(2.0)
    assert answer["settings"]["learner"]["sampling"] == "max-diameter"
    assert answer["settings"]["seed"] == 3


def test_the_table_names_settings_and_missing_guarantees() -> None:
    text = run(NAME, "--learner", "BPIUCRL", "--set", "preset=experiment", "--epsilon", "3", "--runs", "3")
    assert "BPIUCRL" in text
    assert "widths=empirical" in text
    assert "empirical widths have no guarantee" in text


def test_bad_settings_are_named() -> None:
    with pytest.raises(SettingError, match="--set takes name=value, such as sampling=max-diameter, not 'sampling'"):
        run(NAME, "--set", "sampling")
    with pytest.raises(SettingError, match=r'no setting \'smapling\' \(did you mean "sampling"\?\)'):
        run(NAME, "--epsilon", "1", "--set", "smapling=max-diameter")


def test_a_graph_without_laws_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    families.from_id(NAME).mdp.save(file)
    with pytest.raises(ProblemError, match="a simulation needs the true means"):
        run(str(file), "--sigma", "1")
