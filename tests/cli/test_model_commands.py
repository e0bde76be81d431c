"""All commands: --json, a help line, what is imported; new and show: what they print, and how they fail."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from surepath._text import write_table
from surepath._version import __version__
from surepath.cli.main import app
from surepath.errors import MissingExtraError, ProblemError
from surepath.model.files import load_problem
from surepath.study.sheets import read_table
from tests.cli.shell import shell


def call(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def call_json(*arguments: str) -> Any:
    return json.loads(call(*arguments, "--json"))


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
    assert "…" not in call(*name.split(), "--help"), "a word is too long for a terminal of 80 columns"


def test_version_and_help() -> None:
    assert call("--version").strip() == f"surepath {__version__}"
    text = " ".join(call("--help").split())
    assert (
        "Exit codes: 0 done; 1 the answer is no; 2 bad usage; 3 bad input; 4 a missing extra; 5 cannot write, or too "
        "little memory; 130 interrupted." in text
    )
    assert all(name.split()[0] in text for name in ALL)
    assert len(ALL) == 33


def test_help_imports_neither_numpy_nor_numba_and_the_package_no_compiler() -> None:
    code = (
        "import sys, surepath; from surepath.cli.main import app; from typer.testing import CliRunner; "
        "CliRunner().invoke(app, ['--help']); "
        "print([name for name in ('numpy', 'numba', 'pydantic', 'scipy', 'matplotlib') if name in sys.modules]); "
        "surepath.MDP, surepath.Instance, surepath.families; print('numba' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["[]", "False"]


@pytest.mark.parametrize(("kind", "suffix"), [("steps", ".json"), ("routes", ".json"), ("routes", ".csv")])
def test_new_writes_a_problem_that_loads(tmp_path: Path, kind: str, suffix: str) -> None:
    file = tmp_path / f"mine{suffix}"
    assert call_json("new", str(file), "--kind", kind)["written"] == str(file)
    problem = load_problem(file)
    assert problem.instance is not None
    assert problem.mdp.direction == ("minimize" if kind == "routes" else "maximize")
    assert problem.mdp.is_known.any()
    assert problem.about or "#" in file.read_text(encoding="utf-8")
    assert f"surepath show {file}" in call("new", str(file), "--kind", kind, "--force")


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_a_sheet_has_a_column_for_each_step(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"problem{suffix}"
    call("new", str(file))
    found = load_problem(file)
    assert found.mdp.step_labels == ("retrieve", "draft", "review")
    assert (found.mdp.n_paths, found.epsilon, found.delta, found.name) == (12, 0.2, 0.05, "problem")
    assert found.mdp.reward_range is not None
    made = call("study", "create", str(file), "--storage", f"sqlite:///{tmp_path / 's.db'}")
    assert "3 steps" in made
    plate = str(tmp_path / f"plate{suffix}")
    call("study", "ask", "--n", "3", "--csv", plate, "--storage", f"sqlite:///{tmp_path / 's.db'}")
    text = read_table(Path(plate)).splitlines()
    assert text[0] == "number,plan.retrieve,plan.draft,plan.review,score.retrieve,score.draft,score.review"
    write_table(Path(plate), "\n".join([text[0], *(line.replace(",,,", ",0.5,0.25,1") for line in text[1:])]) + "\n")
    assert "3 recorded" in call("study", "tell", plate, "--storage", f"sqlite:///{tmp_path / 's.db'}")


def test_a_sheet_of_steps_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, message in [
        ("a,b,a\nx,y,z\n", "names the column 'a' twice"),
        ("a,,b\nx,y,z\n", "has a cell in a column without a name"),
        ("# low: 0\na,b\nx,y\n", "low and high go together"),
        ("a,b\nx,\n", "steps"),
    ]:
        (tmp_path / "p.csv").write_text(text)
        with pytest.raises(ProblemError, match=message):
            load_problem(tmp_path / "p.csv")
    (tmp_path / "p.xlsx").write_text("no workbook")
    with pytest.raises(ProblemError, match=r"is not a workbook that can be read .* save it as CSV"):
        load_problem(tmp_path / "p.xlsx")
    write_table(tmp_path / "f.xlsx", "'=1+2,-5\n")
    assert read_table(tmp_path / "f.xlsx") == "'=1+2,-5\n"
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"to read \.xlsx, .*surepath\[excel\].*; or save it as CSV"):
        load_problem(tmp_path / "p.xlsx")


def test_show_says_what_a_problem_is(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    call("new", str(file), "--kind", "routes")
    text = call("show", str(file))
    for part in (
        "starter: routes (minimize: smaller scores are better)",
        "steps 3, states 6, options 9, 3 of them with a known score",
        "plans  4",
        "sigma  2 to 5",
        "asks   epsilon 1, delta 0.05",
        "best   22 by the means in the file, which a learner never sees:\n       bicycle > bridge > bicycle",
        "    walk      -> station   known score 8\n",
    ):
        assert part in text
    facts = call_json("show", str(file))
    assert (facts["stages"], facts["states"], facts["arcs"], facts["plans"]) == (3, 6, 9, 4)
    assert facts["best"]["return"] == 22


def test_show_takes_ids_and_counts_beyond_counting() -> None:
    assert call_json("show", "chain-v1/n3k2/seed7")["plans"] == 8
    text = call("show", "chain-v1/n90k4/seed0")
    assert "plans  about 10^54.2" in text
    assert "more than 60 options: surepath plot graph chain-v1/n90k4/seed0 draws them" in text
    assert call_json("show", "chain-v1/n90k4/seed0")["plans"] is None
    assert " > ... > " in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "absent.json"], 3, "error: there is no file absent.json"),
        (
            ["show", "chain/n3k2"],
            3,
            "error: there is no file chain/n3k2; ids of instances have a version, such as chain-v1",
        ),
        (
            ["show", "chain-v1/n3k2/sead7"],
            3,
            "error: id 'chain-v1/n3k2/sead7': 'sead7' names no parameter (did you mean",
        ),
        (["plot", "graph", "bandit-v1/k3/seed0", "-o", "no/g.png"], 5, "error: cannot write no/g.png: No such file"),
        (["plot", "graph", "bandit-v1/k3001/seed0"], 3, "error: a picture of 3,001 options shows nothing"),
        (["new", "p.txt"], 3, "error: a problem file ends in .json, .csv or .xlsx, not '.txt': p.txt"),
        (
            ["new", "there.json"],
            3,
            "error: there.json is there already; choose another name, or replace it with --force",
        ),
        (["new", "x.json", "--kind", "rotes"], 2, "--kind"),
        (["shwo"], 2, "No such command 'shwo'"),
    ],
)
def test_failures_end_in_one_line_and_a_code(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    (tmp_path / "there.json").write_text("{}")
    answer = shell(*arguments, folder=tmp_path)
    assert answer.returncode == code
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr
    if code in (3, 5):
        assert answer.stderr.count("\n") == 1
