"""Every command line of the README and the guides runs, in their order."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from surepath import Study
from surepath.cli.main import app
from tests.documents import DOCUMENTS, POSTGRES, ROOT, blocks, host, run, script, shown_output

WITH_COMMANDS = [name for name in dict.fromkeys(block.document for block in blocks()) if script(name)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of one process that runs the commands of all documents."""
    with host(tmp_path_factory.mktemp("host")) as place:
        yield place


@pytest.mark.slow
@pytest.mark.xdist_group("guides")
@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_every_command_of_the_document_runs(
    name: str, place: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for block in blocks():
        if block.document == name and block.saved_as:
            (work / block.saved_as).write_text(block.body, encoding="utf-8")
    commands = script(name)
    database = request.getfixturevalue("postgres") if POSTGRES in commands else POSTGRES
    done = run(commands, tmp_path, database, place)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = re.sub(r"\s+", " ", done.stdout + done.stderr)
    for line in shown_output(name):
        pattern = r".*?".join(re.escape(re.sub(r"\s+", " ", part)) for part in line.split("..."))
        assert re.search(pattern, printed), f"{name} shows {line!r}; printed was {done.stdout}{done.stderr}"
    if name == "docs/studies.md":
        assert "filled.csv: 6 recorded; 2 without scores, left as they are (trials 7, 8)\n" in done.stdout
        assert "filled.csv: 6 recorded before, nothing changed" in done.stdout
        assert "yes: the certificate holds" in done.stdout
        assert Study.load(str(work / "copy.db")).status().states["complete"] > 7


@pytest.mark.xdist_group("guides")
def test_the_test_sees_a_command_that_fails(tmp_path: Path, place: Path) -> None:
    assert run("surepath study status\necho on", tmp_path, place=place).returncode == 3


def in_prose() -> Iterator[tuple[str, str]]:
    """(document, command) of every `surepath ...` inside a sentence."""
    for file in DOCUMENTS:
        text = re.sub(r"^```.*?^```", "", file.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for snippet in re.findall(r"`(surepath [^`]+)`", text):
            yield file.relative_to(ROOT).as_posix(), re.sub(r"\s+", " ", snippet)


@pytest.mark.parametrize(("document", "snippet"), list(in_prose()))
def test_commands_in_sentences_exist_with_their_options(document: str, snippet: str) -> None:
    words = shlex.split(snippet)[1:]
    command: Any = get_command(app)
    while words and not words[0].startswith("-") and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    vague = not words or words[0] in ("...", "COMMAND") or words[0].startswith("--")
    assert vague or not hasattr(command, "commands"), f"{document}: no command {snippet!r}"
    if vague and "..." in words:
        return  # about several commands at once
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for word in words:
        if word.startswith("--"):
            assert word.partition("=")[0] in known | {"--help", "--install-completion", "--show-completion"}, snippet


def test_the_table_has_every_state() -> None:
    from surepath.study.trial import STATES

    text = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| (\w+) \| .* \| .* \|$", text, re.MULTILINE)[1:]) == STATES
