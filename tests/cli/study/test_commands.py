"""`surepath study`: every command as a user meets it, one after another."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surepath import Study
from surepath.cli.main import app
from surepath.cli.study import again
from surepath.errors import ConflictError, PathError, RewardError, SettingError, StorageError, StudyError
from tests.cli.shell import shell
from tests.cli.studies import SCORE, STEPS, call, created, facts, problem
from tests.cli.test_refusals import ESC, harmless


def test_a_study_by_hand(here: Path) -> None:
    said = call("create", "problem.json")
    assert said.startswith(
        "created pipeline in sqlite:///study.db: 2 steps, 6 options; the answer may be 0.2 from the best"
    )
    assert (here / "study.db").exists()
    assert call("ask") == "trial 1: chunk=256, model=small\n"
    assert call("tell", "1", "0.5", "-0.25") == "trial 1: recorded\n"
    assert call("tell", "1", "chunk=0.5", "model=-0.25") == "trial 1: recorded before, nothing changed\n"
    assert "never changes" in call("tell", "1", "0.5", "0.3", error=ConflictError)
    assert facts("ask")["trials"][0]["plan"].keys() == {"chunk", "model"}
    assert call("tell", "2", '{"chunk": 0.5, "model": 0.25}') == "trial 2: recorded\n"
    assert facts("status")["states"]["complete"] == 2
    shown = call("show", "2")
    assert "state: complete\n" in shown
    assert "scores: chunk=0.5, model=0.25\n" in shown
    assert re.search(r"^told: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$", shown, re.MULTILINE)


def test_failures_cancellations_and_leases(here: Path) -> None:
    created("--lease", "2h")
    assert len(facts("ask", "--n", "4")["trials"]) == 4
    assert call("fail", "1", "--note", "no disk") == "trial 1: failed\n"
    assert call("fail", "1") == "trial 1: failed before, nothing changed\n"
    assert call("fail", "2", "0.5") == "trial 2: failed, its first score is kept\n"
    said = "trial 3: cancelled\ntrial 1: failed, and stays so\n"
    assert call("cancel", "3", "1", "--note", "no time") == said
    assert "note: no time" in call("show", "3")
    assert "not a failure; tell it" in call("fail", "4", "0.5", "0.5", error=StudyError)
    assert "there is no trial 9" in call("cancel", "4", "9", error=StudyError)  # nor is trial 4 cancelled
    assert "note: no disk" in call("show", "1")
    counts = facts("status")["states"]
    assert [counts[state] for state in ("failed", "partial", "cancelled", "running")] == [1, 1, 1, 1]


def test_plans_and_options_of_your_own(here: Path) -> None:
    created()
    assert call("enqueue", "model=large", "chunk=512") == "queued chunk=512, model=large\n"
    assert facts("status")["states"]["waiting"] == 1
    assert call("ask") == "trial 1: chunk=512, model=large\n"
    assert "lacks step 'model'" in call("enqueue", "chunk=512", error=PathError)
    assert "named twice" in call("enqueue", "chunk=512", "chunk=256", code=2)
    assert "in further calls the others" in " ".join(call("exclude", "model=small", "model=large", code=2).split())
    assert call("exclude", "chunk=256") == "excluded chunk=256, for good\n"
    assert call("status", "--explain").count("excluded: chunk=256; the proof is over the rest\n") == 1
    assert all(trial["plan"]["chunk"] == "512" for trial in facts("ask", "--n", "5")["trials"])
    assert "'larg'" in call("exclude", "model=larg", error=SettingError)
    assert call("tighten", "0.1") == "epsilon is 0.1 now; nothing proven yet\n"
    assert "below 0.1" in call("tighten", "0.15", error=SettingError)


def test_the_storage_and_the_name(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created("--name", "one", "--storage", "mine.db")
    monkeypatch.setenv("SUREPATH_STORAGE", "sqlite:///mine.db")
    assert call("ask").startswith("trial 1")
    created("--name", "two")
    assert "name the study with --name: sqlite:///mine.db has 2 ('one', 'two')" in call("ask", error=StudyError)
    assert call("ask", "--name", "two").startswith("trial 1")
    assert [row["name"] for row in facts("list")["studies"]] == ["one", "two"]
    assert re.search(r"^one: 1 trial, created \d{4}-", call("list"))
    assert "no study 'tow'" in call("status", "--name", "tow", error=StudyError)
    assert "there is no file" in call("list", "--storage", "other.db", error=StorageError)
    assert not (here / "other.db").exists()


def test_the_commands_that_are_said_to_come_next_reach_the_same_study(here: Path) -> None:
    said = call("create", "problem.json")
    assert said.endswith("surepath study run --command ..., or take them one by one with surepath study ask\n"), (
        "what the defaults reach needs no options"
    )
    said = call("create", "problem.json", "--name", "my lab", "--storage", "my file.db")
    assert said.endswith("surepath study ask --storage 'my file.db'\n")
    call("create", "problem.json", "--name", "it's", "--storage", "my file.db")
    said = call("ask", "--n", "2", "--csv", "plate.csv", "--storage", "my file.db", "--name", "my lab")
    assert said.endswith("  surepath study tell plate.csv --storage 'my file.db' --name 'my lab'\n")
    study = Study.load("my file.db", "my lab")
    study.cancel(1)
    study.cancel(2)
    study.optimize(lambda plan: [SCORE[option] for option in plan.values()])
    said = " ".join(call("ask", "--storage", "my file.db", "--name", "my lab", code=1).split())
    assert "surepath study tighten --storage 'my file.db' --name 'my lab' EPSILON goes on" in said


def test_a_password_is_not_repeated_among_the_commands_that_come_next() -> None:
    study = Study.create({"a": ["x", "y"]}, "memory", epsilon=1, delta=0.1, sigma=1)
    assert again(study, "postgresql://me:secret@host/studies") == " --storage ..."


def test_what_a_study_needs_is_asked_for_by_its_option(here: Path) -> None:
    text = (here / "problem.json").read_text()
    (here / "problem.json").write_text(text.replace('"epsilon": 0.2, ', ""))
    said = call("create", "problem.json", error=SettingError)
    assert said == "the study needs epsilon, and the problem does not say it; give epsilon=... (--epsilon)"


def test_creating_twice(here: Path) -> None:
    created()
    assert "already exists" in call("create", "problem.json", error=StudyError)
    created("--exist-ok")
    assert "exist_ok=True, --exist-ok" in call("create", "problem.json", error=StudyError)
    said = call("create", "problem.json", "--exist-ok", "--epsilon", "0.5", "--lease", "2h", error=StudyError)
    assert "differs in epsilon (0.2 there, 0.5 here); lease (600.0 there, 7200.0 here)" in said
    problem(here, direction="minimize")
    said = call("create", "problem.json", "--exist-ok", error=StudyError)
    assert "differs in the problem. What is frozen never changes" in said
    problem(here)
    assert "on_failure" in call("create", "problem.json", "--name", "b", "--on-failure", "shrug", error=SettingError)
    assert "lease" in call("create", "problem.json", "--name", "b", "--lease", "soon", error=SettingError)


def test_a_setting_that_has_an_option_of_its_own_is_not_passed_over(here: Path) -> None:
    for pair, way in (("epsilon=3", "epsilon 3"), ("sigma=2", "sigma 2")):
        assert call("create", "problem.json", "--set", pair, error=SettingError).endswith(f": say --{way}")
    assert "a study runs Challenger" in " ".join(call("create", "problem.json", "--set", "name=EPRL", code=2).split())


def test_what_is_frozen_is_shown(here: Path) -> None:
    created("--lease", "7d", "--set", "seed=3")
    found = facts("show")
    assert found["steps"] == STEPS
    assert found["settings"]["name"] == "Challenger"
    assert found["settings"]["seed"] == 3
    assert found["options"]["lease"] == 7 * 86400.0
    assert "  chunk: 256, 512\n  model: small, large\n" in call("show")


def test_a_forgotten_score_is_asked_for_since_it_could_never_be_added(here: Path) -> None:
    created()
    call("ask", "--n", "2")
    assert call("tell", "1", "chunk=0.1", error=RewardError) == (
        "no score for step model, but a recorded trial never changes; report a trial that failed there by "
        "`study fail` on the same study"
    )
    assert facts("show", "1")["state"] == "running"
    assert call("tell", "1", "0.1", "0.5") == "trial 1: recorded\n"
    assert call("fail", "2", "0.1") == "trial 2: failed, its first score is kept\n"


def test_a_late_result_does_not_count_and_is_kept(here: Path) -> None:
    created()
    call("ask", "--n", "2")
    call("cancel", "1", "2")
    late = "came too late to count, after the lease had ended or the trial was cancelled; kept in the log"
    assert call("tell", "1", "0.5", "0.25") == f"trial 1: {late}\n"
    again = "trial 1: recorded before, nothing changed\n"
    assert call("tell", "1", "0.5", "0.25") == again
    assert "trial 1's late result was kept as trial 3, recorded as [0.5, 0.25]" in call(
        "tell", "1", "0.5", "0.3", error=ConflictError
    )
    assert call("fail", "2", "0.5").endswith(f"; {late}\n")
    assert (facts("status")["late"], facts("status")["evidence"]) == (2, 0)


def test_many_running_trials_are_one_line_a_worker(here: Path) -> None:
    created("--lease", "7d", "--epsilon", "0.01")
    call("ask", "--n", "5", "--worker", "ann")
    assert call("status").count("\nrunning: trial ") == 5
    call("ask", "--n", "91", "--worker", "bob")
    said = call("status")
    assert "\nrunning: 5 by ann, lease 7d\nrunning: 91 by bob, lease 7d\n" in said + "\n"
    assert said.count("running: ") == 2


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
    ("words", "message", "code"),
    [
        (["tell", "1", "0.5", "7"], "the score 7.0 of step 'model' lies outside the declared range [0, 1]", 1),
        (["tell", "1", "model=0.5"], "the scores name step 'model' but not step 'chunk'; tell every step up to", 1),
        (["enqueue", "chunk=512", "model=larg"], "step 'model' has no option 'larg' in state '512'", 1),
        (["exclude", "small"], "an option is written STEP=OPTION, such as model=large; 'small' has no '='", 2),
        (["tell", "1", "chunk=0.5", "0.7"], "a score is written STEP=SCORE, such as model=0.7; '0.7' has no '='", 2),
        (["tell", "9" * 30, "0.5"], "there is no trial 9999", 1),
        (["ask", "--n", "999999999"], "n must be at most 100,000, not 999,999,999", 1),
        (["tighten", "nan"], "epsilon must be finite, not nan", 1),
        (["tell", "absent.csv"], "there is no file absent.csv", 1),
        (["run", "--command", "echo {nothing}"], "the command has {nothing}, but no step is called so", 1),
        (["restore", "absent.jsonl"], "there is no file absent.jsonl", 1),
        (["import-log", "absent.csv"], "there is no file absent.csv", 1),
        (["tell", "1"], "give the scores of trial 1", 2),
        (["tell", "1", "{oops"], "is not JSON", 2),
        (["tell", "plate.csv", "0.5"], "give a CSV file alone", 2),
        (["ask", "--n", "0"], "Invalid value for", 2),
        (["run"], "Missing option '--command'", 2),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_is_refused_is_said_in_the_words_of_users_and_changes_nothing(
    here: Path, words: list[str], message: str, code: int
) -> None:
    problem(here, low=0, high=1, sigma=None)
    created()
    call("ask")
    done = CliRunner().invoke(app, ["study", *words], env={"COLUMNS": "200", "NO_COLOR": "1"})
    said = re.sub("\x1b\\[[0-9;]*m", "", f"{done.output} {done.exception}")
    assert message in re.sub(r"[\s│]+", " ", said)
    assert done.exit_code == code
    assert facts("status")["states"]["running"] == facts("status")["trials"] == 1


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
        ["run", "--command", f"{sys.executable} trial.py", "--trials", "2"],
        ["restore", f"log{ESC}.jsonl"],
    ):
        done = shell("study", *words, folder=here)
        assert harmless(done.stdout + done.stderr), words
        assert "Traceback" not in done.stderr
