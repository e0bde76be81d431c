"""`surepath study run` with real processes: several workers, failures, budgets, Ctrl-C, a scheduler that ends it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from surepath import Study
from tests.cli.shell import begin, shell

TRIAL = """
import os, random, sys
chunk, model = sys.argv[1:3]
assert os.environ["SUREPATH_STEP_CHUNK"] == chunk
if random.random() < float(os.environ.get("BAD", "0")):
    sys.exit("bad luck")
print("working")
print({"256": 0.5, "512": 0.7}[chunk] + random.gauss(0, 0.05), {"small": 0.4, "large": 0.7}[model])
"""


@pytest.fixture(autouse=True)
def _a_trial(here: Path) -> None:
    (here / "trial.py").write_text(TRIAL)


def create(folder: Path, *words: str) -> Study:
    done = shell("study", "create", "problem.json", *words, folder=folder)
    assert done.returncode == 0, done.stderr
    return Study.load(str(folder / "study.db"))


def run(folder: Path, *words: str, program: str = "trial.py {chunk} {model}") -> subprocess.CompletedProcess[str]:
    return shell("study", "run", "--command", f"{sys.executable} {program}", *words, folder=folder)


def rows(study: Study) -> list[Any]:
    return study._read(lambda log: log.trials(1, 1000))


def test_until_proven_then_nothing_more(here: Path) -> None:
    study = create(here)
    done = run(here, "--workers", "4")
    assert done.returncode == 0, done.stderr
    assert "best plan: chunk=512, model=large\nproven gap 0." in done.stdout
    assert done.stderr == ""  # no terminal, no progress line
    assert study.done
    assert len({row.worker for row in rows(study)}) == 1
    assert run(here).stdout.startswith("0 trials run now, as the study was done already\n")
    again = run(here, "--json")
    assert json.loads(again.stdout)["recorded"] == 0
    assert json.loads(again.stdout)["best_plan"] == {"chunk": "512", "model": "large"}


def test_a_budget_ends_with_a_forecast(here: Path) -> None:
    create(here, "--epsilon", "0.001")
    done = run(here, "--trials", "6", "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("6 trials run now\n")
    assert "50 more trials would" in done.stdout.splitlines()[-1]
    facts = json.loads(run(here, "--trials", "2", "--json").stdout)
    assert facts["forecast"]["more"] == 50
    assert not facts["done"]


def test_a_command_that_never_works_is_given_up(here: Path) -> None:
    study = create(here)
    (here / "trial.py").write_text("import tourch")
    done = run(here)
    assert done.returncode == 3
    assert done.stderr == (
        "error: the first 10 trials all failed, the last one with: exit code 1: "
        "ModuleNotFoundError: No module named 'tourch'\n"
    )
    assert [row.state for row in rows(study)] == ["failed"] * 10


def test_a_program_that_prints_no_scores_ends_the_run(here: Path) -> None:
    study = create(here)
    (here / "trial.py").write_text("print('hello')")
    done = run(here, "--trials", "2")
    assert done.returncode == 3
    assert done.stderr.startswith("error: trial 1: the command came to its end, but its last line is 'hello', not 2 n")
    assert [row.state for row in rows(study)] == ["failed"]


SLOW = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
name = os.environ["SUREPATH_TRIAL"]
open(name + ".part", "w").write(f"{os.getpid()} {other.pid}")
os.rename(name + ".part", name + ".pids")
time.sleep(600)
"""


def started(folder: Path, workers: int) -> list[int]:
    """Wait until so many slow trials run; return their processes and those of their children."""
    end = time.monotonic() + 120
    while len(list(folder.glob("*.pids"))) < workers and time.monotonic() < end:
        time.sleep(0.1)
    pids = [int(word) for file in folder.glob("*.pids") for word in file.read_text().split()]
    assert len(pids) == 2 * workers
    return pids


def ended(pids: list[int]) -> bool:
    """Wait until none of these processes is alive."""
    end = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    return not any(map(alive, pids))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_gives_all_trials_back(here: Path, number: signal.Signals) -> None:
    study = create(here)
    (here / "trial.py").write_text(SLOW)
    process = begin("study", "run", "--workers", "3", "--command", f"{sys.executable} trial.py", folder=here)
    pids = started(here, 3)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "interrupted; running trials were cancelled, all that was reported is kept\n"
    assert [row.state for row in rows(study)] == ["cancelled"] * 3
    assert ended(pids)


def test_a_second_interrupt_ends_it_at_once_with_its_children(here: Path) -> None:
    study = create(here)
    (here / "trial.py").write_text(SLOW)
    process = begin("study", "run", "--workers", "2", "--command", f"{sys.executable} trial.py", folder=here)
    pids = started(here, 2)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert ended(pids)
    assert {row.state for row in rows(study)} <= {"running", "cancelled"}  # what was not cancelled will expire


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
