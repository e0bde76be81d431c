"""Commands that need the noise refuse without it, in the same words and with the same code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath.cli.main import app
from tests.cli.shell import shell
from tests.model.sources.problem_texts import EDGE, problem

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
    assert answer.exit_code == 0, answer.output
    assert "sigma  not declared" in answer.stdout
    assert "best   0.5 by the means in the file" in answer.stdout
    facts = json.loads(CliRunner().invoke(app, ["show", str(file), "--json"]).stdout)
    assert facts["sigma"] is None
    assert "the problem file p.json: the noise of the scores is not declared" in facts["noise_missing"]
    file.write_text(problem(low=0, high=4))
    facts = json.loads(CliRunner().invoke(app, ["show", str(file), "--json"]).stdout)
    assert (facts["sigma"], facts["noise_missing"], facts["noise_learned"]) == ([2.0, 2.0], None, True)
    answer = CliRunner().invoke(app, ["show", str(file)])
    assert "sigma  2 at most, half of the declared range; a study learns within it" in answer.stdout
    file.write_text(problem(low=0, high=4, edges=MEANS))  # a learner never sees means, so they change nothing
    assert json.loads(CliRunner().invoke(app, ["show", str(file), "--json"]).stdout)["noise_learned"] is True
