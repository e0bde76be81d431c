"""One word for one thing: help pages speak of trials, plans, steps, options and scores."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from surepath.cli.main import app

# Sweeps of simulations and the paper's figures are for researchers, in the paper's words.
COMMANDS = ("demo", "new", "show", "schema", "bound", "estimate", "simulate")
THEIRS = re.compile(r"\b(episode|stage|arc|reward)s?\b", re.IGNORECASE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_page_uses_the_words_of_users(command: str) -> None:
    text = CliRunner().invoke(app, [command, "--help"]).output
    assert THEIRS.findall(text) == []


@pytest.mark.parametrize("command", ["show", "bound"])
def test_what_is_printed_uses_the_words_of_users(command: str) -> None:
    asked = ["--epsilon", "0.5", "--delta", "0.1", "--no-time"] if command == "bound" else []
    answer = CliRunner().invoke(app, [command, "chain-v1/n3k2/seed0", *asked])
    assert answer.exit_code == 0, answer.output
    assert THEIRS.findall(answer.output) == []
    assert "returns" not in answer.output.replace("return gaps", "")
    assert "step 0" in answer.output
