"""Costs and budgets on the command line: show, study run, ask, status."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from surepath.cli.main import app

PROBLEM = {
    "format": "surepath-problem",
    "version": 1,
    "steps": {"model": ["small", "large"], "prompt": ["short", "long"]},
    "depends": "none",
    "costs": {"model": {"small": 0.25, "large": 2.0}, "prompt": 0.5},
    "cost_weight": 0.1,
    "sigma": 0.1,
    "epsilon": 0.1,
    "delta": 0.1,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUREPATH_STORAGE", raising=False)
    Path("problem.json").write_text(json.dumps(PROBLEM))
    return tmp_path


def call(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result.output


def data(*words: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_show_says_what_a_trial_costs_and_how_worth_is_counted(folder: Path) -> None:
    said = call("show", "problem.json")
    assert "cost   0.75 to 2.5 a trial; worth = score - 0.1 x cost" in said
    assert "cost 0.25" in said
    assert data("show", "problem.json")["trial_cost"] == [0.75, 2.5]


def test_a_budget_ends_a_run_and_more_of_it_goes_on(folder: Path) -> None:
    call("study", "create", "problem.json", "--dependence", "independent")
    program = "import sys; print({'small': 0.4, 'large': 1.0}[sys.argv[1]], {'short': 0.1, 'long': 0.7}[sys.argv[2]])"
    command = shlex.join([sys.executable, "-c", program.replace("{", "{{").replace("}", "}}")]) + " {model} {prompt}"
    found = data("study", "run", "--command", command, "--budget", "4")
    assert found["budget_spent"] is True
    assert found["spent"] <= 4
    now = data("study", "status")
    assert now["spent"] == found["spent"]
    said = call("study", "status")
    assert f"; spent {found['spent']:.2f}" in said
    assert "counted: worth = score - 0.1 x cost" in said
    refused = call("study", "ask", "--budget", "4", code=1)
    assert "the budget of 4.00 is spent" in refused
    none = data("study", "ask", "--budget", "4", code=1)
    assert none == {"trials": [], "done": False, "budget_spent": True, "spent": found["spent"]}
    said = call("study", "run", "--command", command, "--budget", "100", "--quiet")
    assert "best plan: model=large, prompt=long" in said
    call("study", "certificate", "--out", "c.json")
    call("verify", "c.json")
