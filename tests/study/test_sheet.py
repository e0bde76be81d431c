"""Results by CSV: what is read, what is refused with its line, one transaction for a whole file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP, Study
from surepath.errors import RewardError, StudyError, SurepathError
from surepath.study.certificate import verify
from surepath.study.sheets import import_past, random_wells, read_past, read_sheet, read_table, sheet_text
from surepath.study.storage import Storage
from tests.study.worlds import STEPS, new_study

HEAD = "number,plan.model,plan.prompt,score.model,score.prompt\n"


def asked(n: int = 4, **options: Any) -> tuple[Study, str]:
    study = new_study(epsilon=1e-6, **options)
    return study, sheet_text(study.mdp, study.ask(n))


def tell(study: Study, text: str, name: str = "plate.csv") -> tuple[list[str], list[int]]:
    sheet = read_sheet(study.mdp, text, name)
    return study.tell_many(sheet.results), sheet.empty


def states(study: Study) -> list[str]:
    return [row.state for row in study._read(lambda log: log.trials(1, 1000))]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            "1,small,short,0.5,0.5\n2,large,short,0.5,abc\n",
            "line 3: score.prompt must be a number, or failed, not 'abc'",
        ),
        ("1,small,short,0.5,0.5\n2,large,short,0.5,nan\n", "line 3: score.prompt must be a number"),
        ("1,small,short,0.5,0.5\n2,large,short,0.5,1_0\n", "line 3: score.prompt must be a number"),
        ("1,small,short,0.5,0.5\n2,large,short,0.5,\n", "line 3: score.prompt is empty"),
        (
            "1,small,short,0.5,0.5\n2,large,short,failed,0.5\n",
            "line 3: score.model says failed, but score.prompt after",
        ),
        ("1,small,short,0.5,0.5\n9,large,short,0.5,0.5\n", "line 3: there is no trial 9; the last one is 4"),
        (
            "1,small,short,0.5,0.5\n2,small,short,0.5,0.5\n",
            "line 3: trial 2 is the plan model=large, prompt=short; not model=small, prompt=short",
        ),
        ("1,small,short,0.5,0.5\n2,larg,short,0.5,0.5\n", "line 3: .* has no option 'larg'"),
        ("1,small,short,0.5,0.5\n,large,short,0.5,0.5\n", "line 3: number must be the number of a trial, not ''"),
        ("1,small,short,0.5,0.5\n2,large,short,0.5\n", "line 3 has 4 cells; the header has 5 columns"),
        ("1,small,short,0.5,0.5\n1,small,short,0.5,0.6\n", "line 3: trial 1 was already recorded as"),
        ('1,small,short,0.5,0.5\n2,"large,short,0.5,0.5\n', "line 3 is not valid CSV"),
        ('1,small,short,0.5,"0,447"\n', r"line 2: .* not '0,447'; write a decimal point"),
        (
            "1;small;short;;\n2;large;short;1,5;1.234\n",
            r"line 3: score.model is '1,5' with a decimal comma, but .*line 3: score.prompt is '1.234' with a point",
        ),
        ("1;small;short;0,5;1.234,5\n", r"line 2: score.prompt must be a number, or failed, not '1\.234,5'$"),
        ("1;small;short;0,5;0,5\n2;large;short;0,5;12.5\n", "line 2: score.model is '0,5' .*line 3: score.prompt is"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_taken(rows: str, words: str) -> None:
    study, _ = asked(4)
    with pytest.raises((StudyError, RewardError), match=f"plate.csv, {words}"):
        tell(study, HEAD.replace(",", ";" if rows[1] == ";" else ",") + rows)
    assert set(states(study)) == {"running"}


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("", "is empty; its first line names the columns: number, plan.model, plan.prompt, score.model, score.prompt"),
        (
            "number,plan.model,score.model,score.prompt\n",
            "lacks the column 'plan.prompt'; it needs 'number', 'plan.model', 'plan.prompt', 'score.model', "
            "'score.prompt', and has 'number', 'plan.model', 'score.model', 'score.prompt'$",
        ),
        (
            "number,plan.model,plan.prompt,score.model,score.prompts\n",
            r"lacks .* 'score.prompt' \(is 'score.prompts' meant to be it\?\); it",
        ),
        ("number,score.model,score.prompt,score.model\n", "names the column 'score.model' twice"),
    ],
)
def test_wrong_headers(head: str, words: str) -> None:
    study, _ = asked(1)
    with pytest.raises(StudyError, match=f"plate.csv {words}"):
        tell(study, head)


EXCEL = "number;plan.größe;score.größe\r\n1,0;weiß;0,5\r\n2.0;weiß;failed\r\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(EXCEL, "cp1252"), (EXCEL.replace(";", "\t"), "utf-16"), (EXCEL, "utf-8-sig"), (EXCEL, "utf-8")],
)
def test_what_spreadsheets_save(tmp_path: Path, text: str, encoding: str) -> None:
    """Excel's plain CSV is in Windows' encoding, its Unicode text in UTF-16 with tabs; 1 may be written as 1.0."""
    mdp = MDP.from_steps({"größe": ["weiß"]}, sigma=0.1)
    (tmp_path / "plate.csv").write_bytes(text.encode(encoding))
    sheet = read_sheet(mdp, read_table(tmp_path / "plate.csv"), "plate.csv")
    assert [(one.number, one.rewards, one.failed, one.path) for one in sheet.results] == [
        (1, [0.5], False, (0,)),
        (2, [], True, (0,)),
    ]


@pytest.mark.parametrize("data", [b"number\n1\n\x81\n", "number\n1\n\u0141\n".encode("utf-16-le")])
def test_other_encodings_are_refused_with_the_way_out(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "plate.csv").write_bytes(data)
    with pytest.raises(StudyError, match=rf"plate\.csv, line {3 if data[-2] == 0x81 else 1} .*save it as CSV UTF-8"):
        read_table(tmp_path / "plate.csv")


def test_one_score_at_the_end_has_a_column_for_every_step_and_one_score() -> None:
    mdp = MDP.from_steps(STEPS, sigma=0.1, scores="end")
    study = new_study(mdp=mdp, epsilon=1e-6)
    text = sheet_text(mdp, study.ask(3))
    assert text.startswith("number,plan.model,plan.prompt,score\n1,small,short,\n")
    lines = text.splitlines()
    filled = "\n".join([lines[0], lines[1] + "0.5", lines[2] + "failed", lines[3]])
    assert tell(study, filled) == (["told", "told"], [3])
    assert [row.note for row in study._read(lambda log: log.trials(1, 2))] == ["", "failed"]
    with pytest.raises(StudyError, match="line 2: trial 3 is"):  # rows are compared with the log
        tell(study, f"{lines[0]}\n3,small,short,0.5")


def test_known_scores_are_filled_in() -> None:
    edges = [
        {"stage": 0, "state": "a", "action": "x", "next_state": "b", "known": 0.5},
        {"stage": 0, "state": "a", "action": "y", "next_state": "b", "sigma": 0.1},
        {"stage": 1, "state": "b", "action": "p", "sigma": 0.1},
        {"stage": 1, "state": "b", "action": "q", "sigma": 0.1},
    ]
    mdp = MDP.from_edges(edges)
    study = new_study(mdp=mdp, epsilon=1e-6)
    study.enqueue({0: "x", 1: "p"})
    text = sheet_text(mdp, study.ask(4))
    assert "x,p,0.5,\n" in text
    assert len(read_sheet(mdp, text, "s").empty) == 4  # a score that is known anyway is not filled in by anybody
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if ",x," in line)
    filled = "\n".join([lines[0], lines[at].replace("0.5,", ",") + "0.7"])
    assert tell(study, filled)[0] == ["told"]
    assert study._read(lambda log: log.trial(at)).rewards == (0.5, 0.7)  # type: ignore[union-attr]


# Past results ------------------------------------------------------------------------------------------------------


def test_past_results_are_trials(tmp_path: Path) -> None:
    study = new_study(epsilon=1e-6)
    file = tmp_path / "past.csv"
    file.write_text("model,prompt,score.model,score.prompt\nlarge,long,0.9,0.8\nsmall,long,0.2,\nsmall,short,,\n")
    assert import_past(study, file) == (2, 0, 1, 0)
    assert import_past(study, file) == (0, 2, 1, 0)  # a second time it would count twice
    first, second = study._read(lambda log: log.trials(1, 9))
    assert (first.state, first.source, first.rewards) == ("complete", "imported", (0.9, 0.8))
    assert (second.state, second.rewards, second.note) == ("partial", (0.2,), "imported from past.csv")
    assert study.evidence_trials == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model,prompt,score.model,score.prompt\nlarge,long,0.5,0.5\nlarge,lon,0.5,0.5\n", "line 3: .*'lon'"),
        ("model,prompt,score.model,score.prompt\nlarge,long,0.5,1e300\n", "line 2: the .* is 1e\\+300"),
    ],
)
def test_wrong_past_results(tmp_path: Path, text: str, words: str) -> None:
    study = new_study()
    (tmp_path / "past.csv").write_text(text)
    with pytest.raises(SurepathError, match=words):
        import_past(study, tmp_path / "past.csv")
    assert len(study) == 0


PAST = "model,prompt,score.model,score.prompt\nlarge,long,0.9,0.8\nsmall,long,0.2,0.7\n"


def test_a_file_that_grew_is_refused(tmp_path: Path, opening: Callable[[], Storage]) -> None:
    study, file = new_study(opening(), epsilon=1e-6), tmp_path / "past.csv"
    file.write_text(PAST)
    assert import_past(study, file).imported == 2
    file.write_text(PAST + "small,short,0.2,0.1\n")
    words = r"^past\.csv: 2 of 3 results are in the log already, from an earlier import: nothing was taken.*--again"
    for other in (study, Study.load(opening())):
        with pytest.raises(StudyError, match=words):
            import_past(other, file)
    assert len(study) == 2
    assert import_past(study, file, again=True).imported == 3
    file.write_text(
        "model,prompt,score.model,score.prompt\nlarge,long,0.9,0.8\n"
    )  # a part of an import is no grown one
    assert import_past(study, file).imported == 1
    assert import_past(study, file).repeated == 1
    assert import_past(study, file, again=True).imported == 1


@pytest.mark.parametrize("late", [False, True])
def test_a_plate_that_was_reported_is_refused_as_past_results(tmp_path: Path, late: bool) -> None:
    study, text = asked(3)
    file = tmp_path / "plate.csv"
    file.write_text(text.replace("short,,", "short,0.5,0.25"))
    done = read_sheet(study.mdp, file.read_text(), "plate.csv").results
    if late:
        study.cancel(done[0].number)
    study.tell_many(done[:1])
    with pytest.raises(
        StudyError, match=rf"1 of {len(done)} results is in the log .*as trial {done[0].number} of this"
    ):
        import_past(study, file)
    study.tell_many(done)
    with pytest.raises(StudyError, match=rf"all {len(done)} results are in the log already, as trials 1, 2"):
        import_past(study, file)
    assert len(study) == 3 + late
    assert import_past(study, file, again=True).imported == len(done)


cells = st.sampled_from(
    ["", "1", "2", "small", "large", "short", "0.5", "failed", "nan", "-", '"', "#", "é", "\n", "9" * 30]
)
tables = st.lists(st.lists(cells | st.text(max_size=3), min_size=1, max_size=6), max_size=5)


@given(
    tables, st.sampled_from([HEAD, "", "number;score.model;score.prompt\n", "score.model,score.prompt,model,prompt\n"])
)
def test_any_text_is_read_or_refused_in_words(table: list[list[str]], head: str) -> None:
    mdp = MDP.from_steps(STEPS, sigma=0.1)
    text = head + "\n".join(",".join(row) for row in table)
    for read in (read_sheet, read_past):
        words = ""
        try:
            read(mdp, text, "plate.csv")
        except SurepathError as error:
            words = str(error)
        assert not words or words.startswith("plate.csv")


FORMULAS = {"=step": ["=1+2", "-x", "-5"], "@two": ["+a;=b", "\t=c", "\x1b[2J"]}


def test_names_that_a_spreadsheet_would_run_go_through_every_file(tmp_path: Path) -> None:
    """A sheet, an export, and past results; an edge table has them as options."""
    study = Study.create(FORMULAS, "memory", epsilon=0.5, delta=0.1, sigma=1.0)
    trials = study.ask(6)
    text = sheet_text(study.mdp, trials)
    assert "'=1+2" in text
    assert ",=" not in text
    assert "\t" not in text
    assert "\x1b" not in text
    filled = "".join(line.removesuffix(",,") + end for line, end in zip(text.splitlines(), ["\n"] + [",-0.5,1\n"] * 6))
    study.tell_many(read_sheet(study.mdp, filled, "plate.csv").results)
    assert [row.path for row in study._read(lambda log: log.trials(1, 9))] == [tuple(t.path.tolist()) for t in trials]
    failing = study.ask()
    study.fail(failing, [], note="=HYPERLINK(1)")
    study.export(tmp_path / "log.csv")
    written = (tmp_path / "log.csv").read_text()
    assert "'=HYPERLINK(1)" in written
    assert ",-0.5," in written
    other = Study.create(FORMULAS, "memory", epsilon=0.5, delta=0.1, sigma=1.0)
    assert import_past(other, tmp_path / "log.csv").imported == 6
    study.export(tmp_path / "log.jsonl")
    assert verify(study.certificate(), log=tmp_path / "log.jsonl").answer == "yes"


def test_wells_are_drawn_at_random_and_left_alone() -> None:
    assert len(set(random_wells(96))) == 96
    assert {well[0] for well in random_wells(96)} == set("ABCDEFGH")
    assert {well[0] for well in random_wells(384)} == set("ABCDEFGHIJKLMNOP")
    with pytest.raises(StudyError, match="385 trials do not fit on a plate of 384 wells"):
        random_wells(385)
    study = new_study(epsilon=1e-6)
    text = sheet_text(study.mdp, study.ask(96), wells=True)
    rows = [line.split(",") for line in text.splitlines()]
    assert rows[0][:3] == ["number", "well", "plan.model"]
    assert [row[1] for row in rows[1:]] != sorted(row[1] for row in rows[1:])
    filled = "\n".join([text.splitlines()[0], *(line[:-1] + "0.5,0.5" for line in text.splitlines()[1:])])
    assert set(study.tell_many(read_sheet(study.mdp, filled, "plate.csv").results)) == {"told"}
