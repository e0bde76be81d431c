"""Commands among hostile files: nothing is imported from the working directory, names are escaped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import SOURCE, process, shell

SCRIPT = "import sys; sys.path.pop(0); from surepath.cli.main import run; sys.argv[0] = 'surepath'; run()"


PLANTED = ("numpy", "rich", "typer", "json", "numba", "pydantic", "scipy", "csv", "socket", "polars", "llvmlite")


@pytest.mark.parametrize("way_in", [("-m", "surepath"), ("-c", SCRIPT)], ids=["module", "script"])
def test_nothing_is_imported_from_the_working_directory(tmp_path: Path, way_in: tuple[str, ...]) -> None:
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + chr(10))\n")
    done = process("demo", "--fast", "--json", folder=tmp_path, way_in=way_in)
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "__pycache__").exists()


def test_a_checkout_without_an_install_works_from_its_own_folder() -> None:
    """There the package is found through the working directory alone."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [sys.executable, "-m", "surepath", "show", "chain-v1/n3k2/seed7", "--json"]
    done = subprocess.run(words, cwd=SOURCE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["plans"] == 8


ESC = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


def hostile(folder: Path) -> Path:
    """A problem all of whose names would be obeyed by a terminal, in a file with such a name."""
    file = folder / f"p{ESC}.json"
    edges = [
        {"state": f"a{ESC}", "action": f"x{ESC}{i}", "next_state": f"b{ESC}", "mean": float(i), "sigma": 0.5}
        for i in range(2)
    ]
    edges.append({"state": f"b{ESC}", "action": f"y{ESC}", "next_state": None, "known": 1.0})  # type: ignore[dict-item]
    head = {"format": "surepath-problem", "version": 1, "name": f"n{ESC}", "about": [f"r{ESC}\nforged line"]}
    file.write_text(json.dumps({**head, "epsilon": 0.5, "delta": 0.1, "edges": edges}))
    return file


def harmless(text: str) -> bool:
    return all(c == "\n" or not (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e") for c in text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["show", "--draw", f"picture{ESC}.svg"],
        ["bound"],
        ["estimate", "--worlds", "2"],
        ["simulate", "--runs", "2", "--no-progress"],
        ["simulate", "--runs", "2", "--set", f"sampling=x{ESC}"],
        ["show", "extra", f"more{ESC}"],
        ["show", f"--option{ESC}"],
    ],
    ids=lambda words: " ".join(words).split("\x1b")[0],
)
def test_names_are_shown_and_not_obeyed(tmp_path: Path, arguments: list[str]) -> None:
    file = hostile(tmp_path)
    command, *options = arguments
    done = shell(command, file.name, *options, folder=tmp_path)
    assert harmless(done.stdout), done.stdout
    assert harmless(done.stderr), done.stderr
    assert "\nforged line" not in done.stdout
    assert "\\x1b" in done.stdout + done.stderr or "--no-progress" in arguments  # which has no name to show
    assert "Traceback" not in done.stderr


def test_json_is_exact_and_harmless(tmp_path: Path) -> None:
    done = shell("show", hostile(tmp_path).name, "--json", folder=tmp_path)
    assert harmless(done.stdout)
    facts = json.loads(done.stdout)
    assert facts["name"] == f"n{ESC}"
    assert facts["best"]["plan"][0] == {"state": f"a{ESC}", "action": f"x{ESC}1"}
