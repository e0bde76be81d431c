"""Cases: drawn by the number of the trial alone, recorded, passed on everywhere, summed up."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency
from typer.testing import CliRunner

from surepath import MDP, Study
from surepath.cli.main import app
from surepath.errors import SettingError, StudyError
from surepath.study.cases import Cases, Reference, read_cases
from surepath.study.certificate import verify
from surepath.study.sheets import read_sheet, sheet_text

MDP_ = MDP.from_steps({"model": ["small", "large"], "prompt": ["short", "long"]}, sigma=0.5)


def new(storage: str = "memory", **options: Any) -> Study:
    return Study.create(MDP_, storage, epsilon=0.01, delta=0.1, **{"cases": 4, **options})


def test_cases_are_even_independent_and_the_same_for_the_same_study_and_number() -> None:
    cases = Cases(["a", "b", "c", "d", "e"], 1, "a study")
    drawn = [cases.drawn(number)[0] for number in range(1, 4_001)]
    counts = Counter(drawn)
    assert sum((count - 800) ** 2 / 800 for count in counts.values()) < chi2.isf(1e-4, 4)
    pairs = np.zeros((5, 5))
    for first, second in pairwise(drawn):
        pairs["abcde".index(first), "abcde".index(second)] += 1
    assert chi2_contingency(pairs).pvalue > 1e-4  # what comes next does not depend on what came before
    assert drawn == [Cases(list("abcde"), 1, "a study").drawn(number)[0] for number in range(1, 4_001)]
    assert drawn != [Cases(list("abcde"), 1, "another").drawn(number)[0] for number in range(1, 4_001)]
    assert len(set(Cases(1_000, 50, "x").drawn(1))) > 40  # each of several is drawn for itself


def test_a_trial_carries_the_case_of_its_number_whatever_its_plan(tmp_path: Path) -> None:
    study = new(f"sqlite:///{tmp_path / 'study.db'}", cases=["T-1", "T-2", "T-3"], cases_per_trial=2)
    study.enqueue({"model": "small", "prompt": "short"})
    trials = study.ask(30)
    assert [trial.cases for trial in trials] == [study._cases.drawn(trial.number) for trial in trials]
    assert trials[3].case == ",".join(trials[3].cases)
    assert str(trials[0]) == f"trial 1: model=small, prompt=short on case {trials[0].case}"
    for trial in trials[:20]:
        study.tell(trial, [0.5, 0.5])
    study.export(tmp_path / "log.jsonl")
    again = Study.from_export(tmp_path / "log.jsonl", "memory", "again")
    assert again.ask().cases == study.ask().cases  # the next one too, in a study restored from its log
    assert again.trials["case"].to_list()[:30] == [trial.case for trial in trials]


def test_cases_are_read_from_a_number_a_list_or_a_table(tmp_path: Path) -> None:
    table = tmp_path / "tickets.csv"
    table.write_text("text,case\nhello,T-1\nbye,T-2\n")
    assert (read_cases(3), read_cases(["x", 7]), read_cases(str(table)), read_cases(None)) == (
        3,
        ["x", "7"],
        ["T-1", "T-2"],
        None,
    )
    table.write_text("ticket\nT-9\n")
    assert read_cases(table) == ["T-9"]
    table.write_text("T-9\n")
    for wrong, message in [
        (0, "cases must be at least 1"),
        (["a", "b", "a"], "the case 'a' is named twice"),
        (["a,b"], "without commas, not 'a,b'"),
        ([], "there must be 1 to 100,000 cases"),
        (table, "holds no cases"),
        (0.5, "cases are a number, a list of names or a CSV file"),
    ]:
        with pytest.raises(SettingError, match=message):
            read_cases(wrong)
    with pytest.raises(SettingError, match="cases_per_trial needs cases"):
        new(cases=None, cases_per_trial=2)


def test_a_sheet_has_the_cases_and_a_row_with_another_case_is_refused() -> None:
    study = new(cases=["T-1", "T-2", "T-3", "T-4"])
    trials = study.ask(2)
    lines = sheet_text(MDP_, trials).splitlines()
    assert lines[0] == "number,case,plan.model,plan.prompt,score.model,score.prompt"
    assert lines[1].split(",")[1] == trials[0].case
    filled = "\n".join([f"{lines[0]},cost", *(line[:-1] + "0.5,0.25,0.03" for line in lines[1:])])
    other = next(case for case in ("T-1", "T-2") if case != trials[1].case)
    wrong = filled.replace(f"\n2,{trials[1].case},", f"\n2,{other},")
    with pytest.raises(StudyError, match=f"trial 2 is played on case {trials[1].case}; not {other}"):
        study.tell_many(read_sheet(MDP_, wrong, "plate.csv").results)
    assert study.tell_many(read_sheet(MDP_, filled, "plate.csv").results) == ["told", "told"]
    assert study.spent == pytest.approx(0.06)


def test_the_hardest_case_comes_first_whichever_plans_were_played_on_it() -> None:
    study, rng = new(cases=["easy", "hard", "usual"]), np.random.default_rng(5)
    luck, skill = {"easy": 0.3, "hard": -0.3, "usual": 0.0}, {"small": 0.2, "large": 0.9, "short": 0.1, "long": 0.4}
    for _ in range(120):
        trial = study.ask()
        study.tell(
            trial, [skill[option] + luck[trial.cases[0]] + rng.normal(0, 0.02) for option in trial.plan.values()]
        )
    found = study.cases
    assert [one.case for one in found] == ["hard", "usual", "easy"]
    assert [one.beside for one in found] == pytest.approx([-0.6, 0.0, 0.6], abs=0.15)
    frame = study.trials
    own = [one for one in frame.rows(named=True) if one["case"] == "hard"]
    totals = [one["score.model"] + one["score.prompt"] for one in own]
    assert found[0].trials == len(own)
    assert found[0].mean == pytest.approx(np.mean(totals))
    assert found[0].spread == pytest.approx(np.std(totals, ddof=1))


LUCK = {f"T-{i}": 0.8 * (i % 5 - 2) for i in range(20)}
SKILL = {"small": 0.2, "large": 0.9, "short": 0.1, "long": 0.4}
TODAY = {"model": "small", "prompt": "long"}


def score(plan: dict[Any, Any], case: str) -> list[float]:
    """A score with the luck of its case, which all steps share."""
    return [SKILL[str(option)] + LUCK[case] + np.random.default_rng().normal(0, 0.1) for option in plan.values()]


def test_a_reference_changes_no_mean_and_takes_the_luck_of_a_case_away() -> None:
    reference = Reference({case: [luck, 2 * luck + 1] for case, luck in LUCK.items()})
    mean = sum(LUCK.values()) / len(LUCK)
    assert np.mean([reference.baseline([case]) for case in LUCK], axis=0) == pytest.approx([0, 0])
    assert reference.baseline(["T-3"]) == pytest.approx((LUCK["T-3"] - mean, 2 * (LUCK["T-3"] - mean)))
    assert reference.baseline(["T-3", "T-4"])[0] == pytest.approx((LUCK["T-3"] + LUCK["T-4"]) / 2 - mean)


@pytest.mark.parametrize("how", ["function", "async", "scores"])
def test_a_study_with_a_reference_needs_fewer_trials_and_its_certificate_holds(tmp_path: Path, how: str) -> None:
    async def later(plan: dict[Any, Any], case: str) -> list[float]:
        return score(plan, case)

    mdp = MDP.from_steps({"model": ["small", "large"], "prompt": ["short", "long"]}, depends="none", sigma=0.2)
    place = f"sqlite:///{tmp_path / 'study.db'}"
    study = Study.create(mdp, place, epsilon=0.3, delta=0.1, cases=list(LUCK))
    given: Any = {"function": score, "async": later, "scores": {case: score(TODAY, case) for case in LUCK}}[how]
    study.reference(TODAY, given, n_jobs=4)
    assert len(study) == 0  # never told as trials
    study.optimize(score)
    rows = study._read(lambda log: log.trials(1, 999))
    assert len(rows) < 300  # with scores that scatter by 1.1, as they are, thousands
    assert study.best_plan == {"model": "large", "prompt": "long"}
    assert study.status().findings == ()
    study.certificate().save(tmp_path / "c.json")
    assert verify(tmp_path / "c.json", place).answer == "yes"
    study.export(tmp_path / "log.jsonl")
    assert verify(tmp_path / "c.json", log=tmp_path / "log.jsonl").answer == "yes"
    again = Study.from_export(tmp_path / "log.jsonl", "memory")
    assert (again.digest, again.certified_gap) == (study.digest, study.certified_gap)
    number = f'"baseline": [{rows[0].baseline[0]}'
    (tmp_path / "forged.jsonl").write_text((tmp_path / "log.jsonl").read_text().replace(number, '"baseline": [9.0', 1))
    assert verify(tmp_path / "c.json", log=tmp_path / "forged.jsonl").answer == "no"
    with pytest.raises(StudyError, match="a reference is told before the first trial and the first decision"):
        study.reference(TODAY, {case: [0.0, 0.0] for case in LUCK})


def test_a_reference_that_makes_no_sense_is_refused() -> None:
    study = new(cases=["a", "b"])
    refused: list[tuple[dict[str, list[float]], str]] = [
        ({"a": [0, 0]}, "the reference lacks 1 of 2 cases, 'b' among them"),
        ({"a": [0, 0], "b": [0, 0], "c": [0, 0]}, "the reference names 'c', which is no case of this study"),
        ({"a": [0], "b": [0, 0]}, "the reference has no score for every step of case 'a'"),
    ]
    for scores, message in refused:
        with pytest.raises(StudyError, match=message):
            study.reference(TODAY, scores)
    with pytest.raises(StudyError, match="the reference failed on case a: ZeroDivisionError"):
        study.reference(TODAY, lambda plan, case: 1 / 0)
    with pytest.raises(StudyError, match="this study has none; create it with cases="):
        new(cases=None).reference(TODAY, {})
    ranged = MDP.from_steps({"model": ["small", "large"], "prompt": ["short", "long"]}, reward_range=(0, 1))
    with pytest.raises(StudyError, match="may lie outside the declared range of scores"):
        Study.create(ranged, "memory", epsilon=0.1, delta=0.1, cases=2).reference(TODAY, {})


def test_the_command_plays_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.csv").write_text("case\n1\n2\n3\n")
    MDP_.save("p.json")
    for words, said in [
        ("study create p.json --epsilon 0.1 --delta 0.1 --cases cases.csv", "created"),
        ("study reference model=small prompt=long --workers 2 --command", "played model=small, prompt=long on 3 cases"),
        ("study ask --n 2", "on case"),
    ]:
        extra = ["sh -c 'echo $SUREPATH_CASE 0'"] if words.endswith("--command") else []
        done = CliRunner().invoke(app, [*words.split(), *extra], catch_exceptions=False)
        assert said in done.output
    study = Study.load("sqlite:///study.db")
    for row in study._read(lambda log: log.trials(1, 9)):
        assert row.baseline == pytest.approx((float(row.cases[0]) - 2, 0.0))
