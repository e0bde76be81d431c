"""One word for one thing: help pages speak of trials, plans, steps, options and scores."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from surepath.cli.main import app


def leaves(command: Any, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """List the words of every command below one."""
    if not hasattr(command, "commands"):
        return [words]
    return [found for name, below in command.commands.items() for found in leaves(below, (*words, name))]


COMMANDS = leaves(get_command(app))
THEIRS = re.compile(r"\b(episode|stage|arc|reward)s?\b", re.IGNORECASE)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_help_page_uses_the_words_of_users(command: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(app, [*command, "--help"])
    assert answer.exit_code == 0
    assert THEIRS.findall(answer.output) == []


@pytest.mark.parametrize("command", ["show", "bound"])
def test_what_is_printed_uses_the_words_of_users(command: str) -> None:
    asked = ["--epsilon", "0.5", "--delta", "0.1", "--no-time"] if command == "bound" else []
    answer = CliRunner().invoke(app, [command, "chain-v1/n3k2/seed0", *asked])
    assert answer.exit_code == 0, answer.output
    assert THEIRS.findall(answer.output) == []
    assert "returns" not in answer.output.replace("return gaps", "")
    assert "step 0" in answer.output
