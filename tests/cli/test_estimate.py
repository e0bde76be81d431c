"""surepath estimate on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath import families
from surepath.cli.main import app
from surepath.model.files import save_problem
from surepath.simulation.estimate import estimate

NAME = "chain-v1/n3k2/seed7"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["estimate", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_holds_what_estimate_gives() -> None:
    options = ["--epsilon", "0.3", "--delta", "0.1", "--sigma", "0.2", "--spread", "0", "2", "--worlds", "4"]
    answer = json.loads(run(NAME, *options, "--seed", "3", "--json"))
    mdp = families.from_id(NAME).mdp
    expected = estimate(mdp, 0.3, 0.1, 0.2, spread=(0.0, 2.0), worlds=4, seed=3)
    assert answer["simulated"] is True
    assert answer["means_drawn_from"] == [0.0, 2.0]
    assert answer["estimates"]["Challenger"]["trials"] == expected.trials["Challenger"].tolist()
    assert answer["estimates"]["EPRL"]["median"] == expected.quantile("EPRL", 0.5)


@pytest.mark.parametrize(("options", "missing"), [([], "epsilon"), (["--epsilon", "1", "--delta", "0.1"], "sigma")])
def test_what_the_file_leaves_open_is_asked_for(tmp_path: Path, options: list[str], missing: str) -> None:
    file = tmp_path / "bare.json"
    save_problem(file, families.from_id(NAME).mdp)
    noise = ["--sigma", "1"] if missing == "epsilon" else []
    result = CliRunner().invoke(app, ["estimate", str(file), *options, *noise])
    assert result.exit_code == 2
    words = " ".join(result.output.replace("│", " ").split())  # the box wraps its lines
    assert f"give --{missing}" in words
