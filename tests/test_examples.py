"""Every example runs from a shell and says what it promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import SOURCE
from tests.documents import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
APART = "dspy_program.py"  # run by tests/beside_dspy.py, in an environment that holds DSPy and MLflow
# (arguments that make it short, what it prints); {postgres} is the address of an empty database.
RUNS = {
    "commute.py": ("", "within 1 minute of the quickest route"),
    "end_score.py": ("", "Whatever the model, by 10 fresh plays of each: better than chunk=512, search=bm25"),
    "gymnasium_worlds.py": ("", "CliffWalking-v1: 993 options"),
    "kernel_pipeline.py": ("--repeats 3 --epsilon 5", r"proven within [\d.]+ ms of the quickest of 36 plans"),
    "lab_plate.py": ("", r"After \d+ trials: the plan solvent="),
    "llm_workflow.py": (
        "--budget 1",
        r"within [\d.]+ of the best workflow.*\nspent [\d.]+ dollars; hardest tickets: T-",
    ),
    "many_hosts.py": ("{postgres} --workers 2", r"proven within [\d.]+ of the best"),
    "optuna_side_by_side.py": ("--worlds 2", "surepath, one score at the end"),
    "plate_rounds.py": ("", r"After \d+ trials: .* if effects add up"),
    "route.py": ("", r"proven within [\d.]+ minutes of the quickest"),
    "unknown_graph.py": ("", "short of the best"),
}


@pytest.mark.slow
@pytest.mark.parametrize("file", [file for file in EXAMPLES if file.name != APART], ids=lambda file: file.name)
def test_an_example_runs(file: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    given, expected = RUNS[file.name]
    address = request.getfixturevalue("postgres") if "{postgres}" in given else ""
    command = [sys.executable, str(file), *given.format(postgres=address).split()]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    answer = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment, timeout=300
    )
    assert answer.returncode == 0, answer.stderr
    assert re.search(expected, answer.stdout), answer.stdout


def test_the_page_lists_every_example() -> None:
    text = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(\.\./examples/(\w+\.py)\)", text)) == {file.name for file in EXAMPLES} == {*RUNS, APART}


def test_an_example_says_how_it_is_run() -> None:
    for file in EXAMPLES:
        assert f"Run: python examples/{file.name}" in file.read_text(encoding="utf-8"), file.name
