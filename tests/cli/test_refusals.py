"""What commands refuse, and what they never obey."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath import families
from surepath.cli.main import app
from surepath.errors import ProblemError, SurepathError
from tests.cli.shell import ENVIRONMENT, SOURCE, process, shell
from tests.model.sources.problem_texts import problem

# What the machine refuses and what nobody can mean: an error in words with the exit code of the documents -------------


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = process("show", "chain-v1/n3k2/seed7", folder=tmp_path, capture_output=False, stdout=full, stderr=-1)
    assert done.returncode == 5
    assert re.fullmatch("error: cannot .*: No space left on device\n", done.stderr)


def test_too_little_memory_is_said(tmp_path: Path) -> None:
    program = (
        "import resource, sys; import numpy, surepath.model.families; "
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30)); "
        "sys.argv = ['surepath', 'show', 'bandit-v1/k100000000/seed0']; from surepath.cli.main import run; run()"
    )
    done = process(folder=tmp_path, way_in=("-c", program))
    assert done.returncode == 5
    assert done.stderr == "error: there is not enough memory for a problem of this size\n"


def test_no_line_is_wider_than_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(problem(sigma=0.1, epsilon=0.1, delta=0.1))
    terminal, end = pty.openpty()
    words = ("study", "create", "p.json", "--name", "a name that makes the first line of the answer longer than it was")
    done = process(*words, folder=tmp_path, capture_output=False, stdout=end, stderr=end, env={**ENVIRONMENT, **NARROW})
    os.close(end)
    lines = os.read(terminal, 10_000).decode().splitlines()
    assert done.returncode == 0
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60
    assert " ".join(" ".join(lines).split()).endswith("or take them one by one with surepath study ask")


NARROW = {"COLUMNS": "60"}  # of a terminal
LONG, LONGEST = "9" * 401, "9" * 5001
HUGE = "999999999"


@pytest.mark.parametrize(
    "id",
    [
        f"chain-v1/n{HUGE}k{HUGE}/seed0",
        f"tree-v1/a{HUGE}h{HUGE}/seed0",
        "minimax_hard-v1/s536870912a2h90",
        f"cover_gap-v1/m{HUGE}",
        "paper_random-v1/s2a2h3/min_gap5.0/seed0",
        "chain-v1/n3k2/sigma1e999/seed0",
        f"chain-v1/n3k2/seed{LONGEST}",
    ],
    ids=lambda id: id[:40],
)
def test_absurd_ids_are_refused_before_anything_is_made(id: str) -> None:
    with pytest.raises(ProblemError) as caught:
        families.from_id(id)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--set", f"prior={LONGEST}"], 3),
        (["--set", "prior=" + "[" * 100_000], 3),
        (["--set", "prior"], 3),
        (["--delta", "1e-320"], 3),
        (["--seed", LONG], 3),
        (["--seed", LONGEST], 2),
        (["--workers", "0"], 2),
    ],
    ids=lambda words: " ".join(words)[:30] if isinstance(words, list) else str(words),
)
def test_absurd_settings_end_in_words(words: list[str], code: int) -> None:
    command = ["simulate", "chain-v1/n3k2/seed7", "--runs", "2", "--learner", "WholePlan"]
    if "--epsilon" not in words:
        command += ["--epsilon", "0.5"]
    result = CliRunner().invoke(app, [*command, *words])
    if code == 2:
        assert result.exit_code == 2
    else:
        assert isinstance(result.exception, SurepathError), result.exception
        assert len(str(result.exception)) < 700


# Commands among hostile files: nothing is imported from the working directory, names are escaped ----------------------

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


ESC = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\x7f"


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
        ["bound"],
        ["estimate", "--worlds", "2"],
        ["simulate", "--runs", "2", "--no-progress"],
        ["simulate", "--runs", "2", "--set", f"sampling=x{ESC}"],
        ["show", "extra", f"more{ESC}"],
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
