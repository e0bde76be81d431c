"""`surepath study` in words: errors in one line, the words of users, one and none, names shown and not obeyed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath._text import word
from surepath.cli.main import app
from surepath.errors import ConflictError, StudyError
from tests.cli.shell import shell
from tests.cli.studies import call, created, facts, problem


def test_a_forgotten_score_is_asked_for_since_it_could_never_be_added(here: Path) -> None:
    created()
    call("ask", "--n", "2")
    for words in (("0.1",), ("chunk=0.1",), ("[0.1]",)):
        assert call("tell", "1", *words, error=StudyError) == (
            "trial 1 has no score for step model; give a score for every step, or report a trial that failed there by "
            "`study fail 1 0.1` on the same study"
        )
    assert facts("show", "1")["state"] == "running"
    assert call("tell", "1", "0.1", "0.5") == "trial 1: recorded\n"
    assert call("fail", "2", "0.1") == "trial 2: failed, its first score is kept\n"


def test_a_wrong_number_among_several_cancels_none(here: Path) -> None:
    created()
    call("ask", "--n", "2")
    assert call("cancel", "1", "99", "2", error=StudyError) == "there is no trial 99; the last one is 2"
    assert [facts("show", number)["state"] for number in ("1", "2")] == ["running", "running"]


def test_a_late_result_names_both_trials(here: Path) -> None:
    created()
    call("ask", "--n", "2")
    call("cancel", "1", "2")
    assert call("tell", "1", "0.5", "0.25") == "trial 1: was cancelled before, kept as trial 3\n"
    again = "trial 1: its late result was kept as trial 3 before, nothing changed\n"
    assert call("tell", "1", "0.5", "0.25") == again
    assert "trial 1's late result was kept as trial 3, recorded as [0.5, 0.25]" in call(
        "tell", "1", "0.5", "0.3", error=ConflictError
    )
    assert call("fail", "2", "0.5").endswith("; it was cancelled before, kept as trial 4\n")
    assert facts("tell", "1", "0.5", "0.25")["kept_as"] == 3


def test_many_running_trials_are_one_line_a_worker(here: Path) -> None:
    created("--lease", "7d", "--epsilon", "0.01")
    call("ask", "--n", "5", "--worker", "ann")
    assert call("status").count("\nrunning: trial ") == 5
    call("ask", "--n", "91", "--worker", "bob")
    said = call("status")
    assert "\nrunning: 5 by ann, lease 7d\nrunning: 91 by bob, lease 7d\n" in said + "\n"
    assert said.count("running: ") == 2


def test_words_for_one_and_for_none(here: Path) -> None:
    text = {"steps": {"chunk": ["256", "512"]}, "sigma": 0.1, "epsilon": 0.2, "delta": 0.05, "name": "one"}
    (here / "one.json").write_text(json.dumps({"format": "surepath-problem", "version": 1, **text}))
    assert ": 1 step, 2 options;" in call("create", "one.json")
    call("ask")
    assert call("export", "log.csv") == "wrote log.csv: 1 trial\n"
    call("delete", "--yes")
    assert call("status", error=StudyError) == (
        "there is no study in sqlite:///study.db; create one with surepath study create"
    )


def test_a_short_lease_is_pointed_out(here: Path) -> None:
    created()
    done = CliRunner().invoke(app, ["study", "ask", "--csv", "one.csv"])
    assert "note: the lease of this study is 10min" in done.stderr
    assert "--lease 7d" in done.stderr


def test_errors_are_one_line_with_an_exit_code(here: Path) -> None:
    done = shell("study", "status", folder=here)
    assert (done.returncode, done.stderr) == (3, "error: there is no file study.db; surepath study create makes one\n")
    (here / "study.db").write_text("x" * 5000)
    done = shell("study", "status", folder=here)
    assert done.returncode == 3
    assert re.fullmatch("error: .*study.db is not a SQLite database.*\n", done.stderr)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tell", "1", "0.5", "7"], "the score 7.0 of step 'model' lies outside its range [0, 1]"),
        (
            ["tell", "1", "nan", "0.5"],
            "the score of step 'chunk' is nan; scores must be finite. A failed step is not a",
        ),
        (["tell", "1", "0.5", "0.5", "0.5"], "scores must be 2 numbers, one per step, or fewer; got 3"),
        (["tell", "1", "model=0.5"], "the scores name step 'model' but not step 'chunk'; tell every step up to"),
        (["tell", "1", "[[1]]"], "scores must be 2 numbers, "),
        (["tell", "1", "[]"], "trial 1 has no score for steps chunk, model"),
        (["fail", "1", "0.5", "0.5"], "trial 1 has all 2 scores: that is no failure"),
        (["enqueue", "chunk=512", "model=larg"], "step 'model' has no option 'larg' in state '512'"),
        (["exclude", "chunk=256", "chunk=512"], "named twice"),
        (["exclude", "small"], "an option is written STEP=OPTION, such as model=large; 'small' has no '='"),
        (["enqueue", "chunk=512", "large"], "a plan is written STEP=OPTION, such as model=large; 'large' has no"),
        (["tell", "1", "chunk=0.5", "0.7"], "a score is written STEP=SCORE, such as model=0.7; '0.7' has no '='"),
        (
            ["tell", "plate.csv"],
            "plate.csv, line 2: trial 1 is the plan chunk=256, model=small; not chunk=512, model=sm",
        ),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_errors_use_the_words_of_users(here: Path, words: list[str], message: str) -> None:
    problem(here, low=0, high=1, sigma=None)
    created()
    call("ask")
    (here / "plate.csv").write_text("number,plan.chunk,plan.model,score.chunk,score.model\n1,512,small,1,1\n")
    done = CliRunner().invoke(app, ["study", *words], env={"COLUMNS": "200"})
    said = f"{done.output} {done.exception}"
    assert message in said
    assert word("theirs", "users") == "theirs"  # what a command chooses ends with it


ESC = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


def test_names_are_shown_and_not_obeyed(here: Path) -> None:
    text = problem(here).read_text().replace('"small"', json.dumps(f"small{ESC}"))
    (here / "problem.json").write_text(text.replace('"chunk"', json.dumps(f"chunk{ESC}")))
    program = f"import sys; sys.exit('broken{ESC}')"
    (here / "trial.py").write_text(program)
    for words in (
        ["create", "problem.json", "--name", "n\u200bé"],
        ["ask", "--worker", f"w{ESC}"],
        ["show", "1"],
        ["status"],
        ["exclude", f"model=small{ESC}"],
        ["tell", f"x{ESC}.csv"],
        ["run", "--command", f"{sys.executable} trial.py", "--trials", "2"],
        ["run", "--command", f"x{ESC}"],
        ["restore", f"log{ESC}.jsonl"],
    ):
        done = shell("study", *words, folder=here)
        for stream in (done.stdout, done.stderr):
            assert all(c == "\n" or not (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e") for c in stream), words
        assert "Traceback" not in done.stderr
