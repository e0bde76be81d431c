"""`surepath study`: every command as a user meets it, and the lab cycle by CSV alone."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from surepath import Study
from surepath._text import word
from surepath.cli.main import app
from surepath.errors import ConflictError, PathError, RewardError, SettingError, StorageError, StudyError, SurepathError
from tests.cli.shell import shell

STEPS = {"chunk": ["256", "512"], "model": ["small", "large"]}
SCORE = {"256": 0.5, "512": 0.7, "small": 0.4, "large": 0.7}


def problem(folder: Path, **more: Any) -> Path:
    """A problem file of two steps."""
    edges = [{"stage": 0, "state": "start", "action": c, "next_state": c} for c in STEPS["chunk"]]
    edges += [{"stage": 1, "state": c, "action": m} for c in STEPS["chunk"] for m in STEPS["model"]]
    head = {"format": "surepath-problem", "version": 1, "name": "pipeline", "epsilon": 0.2, "delta": 0.05, "sigma": 0.1}
    file = folder / "problem.json"
    file.write_text(json.dumps({**head, "step_names": list(STEPS), **more, "edges": edges}))
    return file


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a problem file, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUREPATH_STORAGE", raising=False)
    problem(tmp_path)
    return tmp_path


def call(*words: str, code: int = 0, error: type[Exception] | None = None, answer: str | None = None) -> str:
    """Run a study command in this process; what it prints on standard output, or the words of its error."""
    done = CliRunner().invoke(app, ["study", *words], input=answer)
    if error is not None:
        assert isinstance(done.exception, error), (done.exception, done.output)
        return str(done.exception)
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout if code == 0 else done.output


def facts(*words: str) -> Any:
    return json.loads(call(*words, "--json"))


def created(*words: str) -> None:
    call("create", "problem.json", *words)


# One after another -------------------------------------------------------------------------------------------------


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
    assert call("cancel", "3", "1") == "trial 3: cancelled\ntrial 1: failed, and stays so\n"
    assert call("renew", "4") == "trial 4: 2h from now\n"
    assert "only a running trial's lease" in call("renew", "1", error=StudyError)
    assert "no failure; tell it" in call("fail", "4", "0.5", "0.5", error=StudyError)
    assert "there is no trial 9" in call("cancel", "9", error=StudyError)
    assert "note: no disk" in call("show", "1")
    counts = facts("status")["states"]
    assert [counts[state] for state in ("failed", "partial", "cancelled", "running")] == [1, 1, 1, 1]


def test_plans_and_options_of_your_own(here: Path) -> None:
    created()
    assert call("enqueue", "model=large", "chunk=512") == "queued chunk=512, model=large\n"
    assert facts("status")["states"]["waiting"] == 1
    assert call("ask") == "trial 1: chunk=512, model=large\n"
    assert "lacks step 'model'" in call("enqueue", "chunk=512", error=PathError)
    assert "'larg'" in call("enqueue", "chunk=512", "model=larg", error=PathError)
    assert "has no '='" in call("enqueue", "large", code=2)
    assert "named twice" in call("enqueue", "chunk=512", "chunk=256", code=2)
    assert call("exclude", "chunk=256") == "excluded chunk=256\n"
    assert all(trial["plan"]["chunk"] == "512" for trial in facts("ask", "--n", "5")["trials"])
    assert "'larg'" in call("exclude", "model=larg", error=SettingError)
    assert call("tighten", "0.1") == "epsilon is 0.1 now; nothing proven yet\n"
    assert "below 0.1" in call("tighten", "0.15", error=SettingError)


def test_when_the_answer_is_proven(here: Path) -> None:
    created()
    study = Study.load("sqlite:///study.db")
    study.optimize(lambda plan: [SCORE[option] for option in plan.values()])
    call("ask", code=1)
    assert facts("status")["done"] is True
    said = call("status")
    assert "best plan: chunk=512, model=large\n" in said
    assert re.search(r"proven gap 0\.\d+, wanted 0\.2, wrong with probability 0\.05 at most: done\n", said)
    assert call("status", "--watch") == said


# Where and which ---------------------------------------------------------------------------------------------------


def test_the_storage_and_the_name(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created("--name", "one", "--storage", "mine.db")
    monkeypatch.setenv("SUREPATH_STORAGE", "sqlite:///mine.db")
    assert call("ask").startswith("trial 1")
    created("--name", "two")
    assert "name the study: sqlite:///mine.db has 2 ('one', 'two')" in call("ask", error=StudyError)
    assert call("ask", "--name", "two").startswith("trial 1")
    assert [row["name"] for row in facts("list")["studies"]] == ["one", "two"]
    assert re.search(r"^one: 1 trial, created \d{4}-", call("list"))
    assert "no study 'tow'" in call("status", "--name", "tow", error=StudyError)
    assert "there is no file" in call("list", "--storage", "other.db", error=StorageError)
    assert not (here / "other.db").exists()


def test_creating_twice(here: Path) -> None:
    created()
    assert "already exists" in call("create", "problem.json", error=StudyError)
    created("--exist-ok")
    assert "exist_ok=True, --exist-ok" in call("create", "problem.json", error=StudyError)
    said = call("create", "problem.json", "--exist-ok", "--epsilon", "0.5", "--lease", "2h", error=StudyError)
    assert "differs in epsilon (0.2 there, 0.5 here); lease (600.0 there, 7200.0 here)" in said
    problem(here, direction="minimize")
    said = call("create", "problem.json", "--exist-ok", error=StudyError)
    assert "differs in the problem (direction: 'maximize' there, 'minimize' here)" in said
    problem(here)
    assert "on_failure" in call("create", "problem.json", "--name", "b", "--on-failure", "shrug", error=SettingError)
    assert "lease" in call("create", "problem.json", "--name", "b", "--lease", "soon", error=SettingError)


def test_what_is_frozen_is_shown(here: Path) -> None:
    created("--lease", "7d", "--learner", "eprl", "--set", "sampling=max-diameter")
    found = facts("show")
    assert found["steps"] == STEPS
    assert found["settings"]["name"] == "EPRL"
    assert found["settings"]["sampling"] == "max-diameter"
    assert found["options"]["lease"] == 7 * 86400.0
    assert "  chunk: 256, 512\n  model: small, large\n" in call("show")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tell", "1"], "give the scores of trial 1"),
        (["tell", "1", "good"], "a score is a number, not 'good'"),
        (["tell", "1", "{oops"], "is no JSON"),
        (["tell", "plate.csv", "0.5"], "give a CSV file alone"),
        (["ask", "--n", "0"], "Invalid value for"),
        (["show", "0"], "Invalid value for"),
        (["delete", "--yes", "--export", "log.csv"], "only that holds all of the log"),
        (["run"], "Missing option '--command'"),
        (["run", "--command", "echo", "--workers", "0"], "Invalid value for"),
    ],
)
def test_bad_usage(here: Path, words: list[str], message: str) -> None:
    created()
    done = CliRunner().invoke(app, ["study", *words], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.exit_code == 2
    assert message in re.sub(r"[\s│]+", " ", re.sub("\x1b\\[[0-9;]*m", "", done.output))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["tell", "1", "nan", "0.5"], RewardError),
        (["tell", "1", "0.5", "0.5", "0.5"], RewardError),
        (["tell", "1", "mod=0.5"], RewardError),
        (["tell", "99999999999", "0.5"], StudyError),
        (["tell", "9" * 30, "0.5"], SettingError),
        (["ask", "--n", "999999999"], SettingError),
        (["tighten", "nan"], SettingError),
        (["tell", "absent.csv"], SurepathError),
        (["run", "--command", "echo {nothing}"], SettingError),
        (["run", "--command", "echo", "--timeout", "soon"], SettingError),
        (["export", "log.txt"], SettingError),
        (["restore", "absent.jsonl"], StudyError),
        (["import-log", "absent.csv"], SurepathError),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_is_refused_changes_nothing(here: Path, words: list[str], error: type[Exception]) -> None:
    created()
    call("ask")
    call(*words, error=error)
    assert facts("status")["states"]["running"] == facts("status")["trials"] == 1


# The lab -----------------------------------------------------------------------------------------------------------


def fill(path: Path, **cells: str) -> list[list[str]]:
    """Fill in the scores of a sheet; "line_column" names cells that get something else."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    for row in rows[1:]:
        row[3], row[4] = str(SCORE[row[1]]), str(SCORE[row[2]])
    for key, text in cells.items():
        line, column = key.lstrip("_").split("_")
        rows[int(line) - 1][int(column)] = text
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return rows


def test_a_lab_cycle_by_csv_alone(here: Path) -> None:
    created("--lease", "7d", "--epsilon", "0.05")
    assert call("ask", "--n", "96", "--csv", "plate.csv") == (
        "wrote plate.csv: trials 1 to 96; fill in the scores (failed where a step failed), then\n"
        "  surepath study tell plate.csv\n"
    )
    plate = here / "plate.csv"
    assert plate.read_text().startswith("number,plan.chunk,plan.model,score.chunk,score.model\n1,256,small,,\n")
    assert "is there already" in call("ask", "--n", "2", "--csv", "plate.csv", error=StudyError)
    assert facts("status")["trials"] == 96
    fill(plate, _7_4="abc")
    assert "plate.csv, line 7: score.model must be a number, or failed, not 'abc'" in call(
        "tell", "plate.csv", error=RewardError
    )
    assert facts("status")["states"]["running"] == 96
    fill(plate, _7_4="failed", _9_3="", _9_4="", _10_3="failed", _10_4="")
    said = call("tell", "plate.csv")
    assert said.startswith("plate.csv: 95 recorded; 1 without scores, left as they are (trial 8)")
    counts = facts("status")["states"]
    assert [counts[state] for state in ("complete", "partial", "failed", "running")] == [93, 1, 1, 1]
    before = facts("status")
    assert "95 recorded before, nothing changed" in call("tell", "plate.csv")
    assert facts("tell", "plate.csv") == {"told": 0, "repeated": 95, "late": 0, "empty": [8], "done": before["done"]}
    assert {**facts("status"), "now": 0, "running": 0} == {**before, "now": 0, "running": 0}


def test_fewer_scores_are_said_to_be_so(here: Path) -> None:
    created()
    call("ask", "--n", "2")
    assert call("tell", "1", "0.5") == "trial 1: recorded as partial: no score for step model\n"
    assert facts("tell", "2", "0.5")["state"] == "partial"


def test_scores_of_the_scored_steps_alone_are_enough(here: Path) -> None:
    text = {"steps": STEPS, "scores": ["model"], "sigma": 0.1, "epsilon": 0.2, "delta": 0.05}
    (here / "one.json").write_text(json.dumps({"format": "surepath-problem", "version": 1, **text}))
    call("create", "one.json")
    call("ask")
    assert call("tell", "1", "0.75") == "trial 1: recorded\n"
    assert "scores: chunk=0.0, model=0.75\n" in call("show", "1")


def test_a_late_result_names_both_trials(here: Path) -> None:
    created()
    call("ask", "--n", "2")
    call("cancel", "1", "2")
    assert call("tell", "1", "0.5", "0.25") == "trial 1: came after the lease had ended, kept as trial 3\n"
    again = "trial 1: its late result was kept as trial 3 before, nothing changed\n"
    assert call("tell", "1", "0.5", "0.25") == again
    assert "trial 1's late result was kept as trial 3, recorded as [0.5, 0.25]" in call(
        "tell", "1", "0.5", "0.3", error=ConflictError
    )
    assert call("fail", "2", "0.5").endswith("; it came after the lease had ended, kept as trial 4\n")
    assert facts("tell", "1", "0.5", "0.25")["kept_as"] == 3


def test_many_running_trials_are_one_line_a_worker(here: Path) -> None:
    created("--lease", "7d", "--epsilon", "0.01")
    call("ask", "--n", "5", "--worker", "ann")
    assert call("status").count("\nrunning: trial ") == 5
    call("ask", "--n", "91", "--worker", "bob")
    said = call("status")
    assert "\nrunning: 5 by ann, lease 7d\nrunning: 91 by bob, lease 7d\n" in said + "\n"
    assert said.count("running: ") == 2


def test_a_sheet_without_plans_is_pointed_out(here: Path) -> None:
    created("--lease", "7d")
    call("ask", "--n", "2")
    (here / "plate.csv").write_text("number,score.chunk,score.model\n1,0.5,0.5\n")
    done = CliRunner().invoke(app, ["study", "tell", "plate.csv"])
    assert "note: plate.csv has no plan columns (plan.chunk, plan.model), so its rows could not be" in done.stderr


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


def test_a_sheet_that_cannot_be_written_takes_no_trials(here: Path) -> None:
    created()
    call("ask", "--n", "3", "--csv", "nowhere/plate.csv", error=SurepathError)
    assert facts("status")["states"]["cancelled"] == 3


def test_the_certificate_is_checked_against_the_log_in_every_form(here: Path) -> None:
    created()
    study = Study.load("sqlite:///study.db")
    study.enqueue({"chunk": "256", "model": "large"})
    study.exclude({"chunk": "256"})
    study.optimize(lambda plan: [SCORE[option] for option in plan.values()])
    study.enqueue({"chunk": "512", "model": "small"})
    said = call("certificate", "--out", "c.json")
    assert said.startswith("wrote c.json: After ")
    assert said.endswith("check it with surepath verify c.json\n")
    assert "is there already" in call("certificate", "--out", "c.json", error=StudyError)
    call("export", "log.jsonl")
    call("export", "log.csv")
    for words in ([], ["--storage", "study.db"], ["--log", "log.jsonl"], ["--log", "log.csv"]):
        done = CliRunner().invoke(app, ["verify", "c.json", *words])
        assert (done.exit_code, done.stdout.partition(":")[0]) == (0, "yes"), done.output


# Files -------------------------------------------------------------------------------------------------------------


def test_export_restore_and_delete(here: Path) -> None:
    created()
    call("ask", "--n", "3")
    call("tell", "1", "0.5", "0.25")
    call("exclude", "chunk=256")
    call("enqueue", "chunk=512", "model=small")
    assert call("export", "log.jsonl") == "wrote log.jsonl: 3 trials\n"
    assert "is there already" in call("export", "log.jsonl", error=StudyError)
    assert call("export", "log.csv", "--force") == "wrote log.csv: 3 trials\n"
    assert call("restore", "log.jsonl", "--storage", "other.db") == "restored pipeline: 3 trials\n"
    digests = {Study.load(f"sqlite:///{file}.db").digest for file in ("study", "other")}
    assert len(digests) == 1
    assert "nothing was deleted" in call("delete", answer="n\n", code=1)
    assert "nothing was deleted" in call("delete", answer="", code=1)
    assert facts("status")["trials"] == 3
    assert call("delete", "--export", "kept.jsonl", answer="y\n") == "deleted pipeline; its log is in kept.jsonl\n"
    assert call("list") == "no studies here; surepath study create makes one\n"
    call("restore", "kept.jsonl")
    assert Study.load("sqlite:///study.db").digest in digests
    assert call("delete", "--yes") == "deleted pipeline\n"


def test_past_results(here: Path) -> None:
    created()
    (here / "past.csv").write_text(
        "chunk,model,score.chunk,score.model\n256,small,0.5,0.4\n512,large,0.7,\n512,small,,\n"
    )
    said = call("import-log", "past.csv")
    assert said.startswith("imported 2 trials from past.csv; 1 row without any score left out\nThe proof now rests")
    assert "not picked by how they came out" in said
    assert call("import-log", "past.csv") == "past.csv was imported before; nothing changed\n"
    assert facts("status")["trials"] == 2
    with (here / "past.csv").open("a") as file:
        file.write("256,small,0.6,0.5\n")
    assert "past.csv: 2 of 3 results are in the log already" in call("import-log", "past.csv", error=StudyError)
    assert call("import-log", "past.csv", "--again").startswith("imported 3 trials")


# In processes of their own -----------------------------------------------------------------------------------------


def test_errors_are_one_line_with_an_exit_code(here: Path) -> None:
    done = shell("study", "status", folder=here)
    assert (done.returncode, done.stderr) == (3, "error: there is no file study.db; surepath study create makes one\n")
    (here / "study.db").write_text("x" * 5000)
    done = shell("study", "status", folder=here)
    assert done.returncode == 3
    assert re.fullmatch("error: .*study.db is not a SQLite database.*\n", done.stderr)


def test_help_pages_use_the_words_of_users() -> None:
    from surepath.cli.study import study

    theirs = re.compile(r"\b(episode|stage|arc|reward)s?\b", re.IGNORECASE)
    names = [command.name for command in study.registered_commands]
    assert len(names) == 18
    for name in names:
        assert theirs.findall(CliRunner().invoke(app, ["study", str(name), "--help"]).output) == []


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
        (["tell", "1", "[]"], "trial 1 needs at least one score"),
        (["fail", "1", "0.5", "0.5"], "trial 1 has all 2 scores: that is no failure"),
        (["enqueue", "chunk=512", "model=larg"], "step 'model' has no option 'larg' in state '512'"),
        (["exclude", "chunk=256", "chunk=512"], "named twice"),
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
    assert re.findall(r"\b(episode|stage|arc|reward)s?\b", said) == []
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
