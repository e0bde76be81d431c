"""What holds for all commands: --json, a help line, a module of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import typer
from typer.main import get_command

from surepath.cli.main import COMMANDS, app


def leaves(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, object]]:
    """Every command that does something, groups opened."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(path), command
        return
    for name, child in inner.items():
        yield from leaves(child, (*path, name))


ALL = dict(leaves(get_command(app)))


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_json_and_a_help_line(name: str) -> None:
    command = ALL[name]
    options = {option for parameter in command.params for option in parameter.opts}  # type: ignore[attr-defined]
    assert "--json" in options, f"surepath {name} lacks --json"
    assert command.help, f"surepath {name} lacks a help line"  # type: ignore[attr-defined]


def test_every_module_brings_its_command() -> None:
    assert {name.split()[0] for name in ALL} == {name.replace("_", "-") for name in COMMANDS}
    assert isinstance(app, typer.Typer)
