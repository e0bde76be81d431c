"""Studies in rounds: plans fixed before their scores, workers in any order, lost plans again, gaps at round ends."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Study
from surepath.errors import SettingError, StoppedError, StudyError, WaitingError
from surepath.learners.rounds.learner import Rounds
from surepath.study.certificate import verify
from surepath.study.rounds import MOST_FAILURES
from surepath.study.sheets import read_sheet, sheet_text
from surepath.study.storage import Storage
from surepath.verify.file import assumptions, content_hash
from tests.study.conftest import Clock

STEPS = {"model": ["small", "large"], "prompt": ["short", "long", "cot"], "search": ["bm25", "dense"]}
WORTH = {"large": 0.1, "long": 0.03, "cot": 0.06, "dense": 0.05}
MINE = MDP.from_steps(STEPS, "none", scores="end", structure="additive", sigma=0.05)


def value(plan: Any) -> float:
    return 0.2 + sum(WORTH.get(option, 0.0) for option in plan.values())


def new(storage: Any = "memory", mdp: MDP = MINE, epsilon: float = 0.06, **more: Any) -> Study:
    return Study.create(mdp, storage, epsilon=epsilon, delta=0.1, **more)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_workers_in_any_order_with_losses_give_the_learner_its_rounds(data: st.DataObject) -> None:
    """Trials are told in any order, some fail or are cancelled; the learner itself, told the same scores, agrees."""
    study, seed = new(), data.draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    learner = Rounds(MINE, 0.06, 0.1)
    gaps, running = [study.certified_gap], list[Any]()
    while not study.done:
        size = study.status().round or {}
        try:
            running += study.ask(int(rng.integers(1, 12)))
        except WaitingError:
            assert running
        rng.shuffle(running)
        for _ in range(int(rng.integers(0, len(running) + 1))):
            trial, lot = running.pop(), rng.random()
            if lot < 0.15:
                study.fail(trial, note="lost")
            elif lot < 0.2:
                study.cancel(trial)
            else:
                study.tell(trial, value(trial.plan) + 0.05 * rng.normal())
        if (study.status().round or {}).get("number") == size["number"] and not study.done:
            assert study.certified_gap == gaps[-1]  # nothing is proven inside a round
        gaps.append(study.certified_gap)
    while not learner.stopped:  # its plans in its order, each with the scores that the study counted
        told = study.learner.rounds()[learner.round - 1]
        assert learner.plans.tolist() == told["plans"]
        for place, (path, score) in enumerate(zip(learner.plans, told["scores"])):
            learner.tell(path, score, place=place)
    assert learner.certified_gap() == study.certified_gap
    assert learner.recommend().tolist() == study.best_path.tolist()
    assert verify(study.certificate()).answer == "yes"
    assert not running
    with pytest.raises(StoppedError):
        study.ask()


def test_a_study_in_rounds_is_a_function_of_its_log(tmp_path: Path) -> None:
    study, rng = new(f"sqlite:///{tmp_path}/a.db", epsilon=0.01), np.random.default_rng(1)
    for _ in range(5):
        for trial in study.ask(9):
            study.tell(trial, value(trial.plan) + 0.05 * rng.normal())
    study.export(tmp_path / "log.jsonl")
    again = Study.from_export(tmp_path / "log.jsonl", "memory")
    copy = study._fold.copy().restore(study._fold.learner.snapshot())
    for other in (again.learner, Study.load(f"sqlite:///{tmp_path}/a.db").learner, copy):
        assert other.plans.tolist() == study.learner.plans.tolist()
        assert other.progress == study.learner.progress
        assert other.rounds() == study.learner.rounds()
        assert other.certified_gap() == study.certified_gap
    assert again.digest == study.digest
    assert [t.plan for t in again.ask(3)] == [t.plan for t in study.ask(3)]


def test_a_slow_trial_is_awaited_its_copy_is_assigned_once_and_a_second_score_counts_for_nothing(clock: Clock) -> None:
    study = new(Storage("memory", clock), lease="10min")
    first, *others = study.ask(study.learner.progress[1])
    with pytest.raises(WaitingError, match=re.escape("every plan of round 1 is assigned: 0 of 16 have their score")):
        study.ask()
    for trial in others:
        study.tell(trial, value(trial.plan))
    clock.time += 601
    again = study.ask()
    assert (again.source, again.plan) == ("retried", first.plan)
    with pytest.raises(WaitingError):
        study.ask()
    study.tell(again, 0.9)
    assert study.status().round == {"number": 1, "told": 0, "size": 16, "effects": 5}  # trial 1 is awaited
    assert "round 1: 0 of 16 plans have their score" in str(study.status())
    study.tell(first, 0.1)
    assert study.learner.round == 2
    at = study.learner.rounds()[0]["plans"].index(first.path.tolist())
    assert study.learner.rounds()[0]["scores"][at] == [0.1]  # the copy came second
    trials = study.ask(99)
    clock.time += 601
    study.sync()  # copies of them all wait to be assigned
    for trial in trials:
        study.tell(trial, value(trial.plan))
    assert {trial.source for trial in study.ask(99)} == {"asked"}  # they were reported after all
    assert verify(study.certificate()).answer == "yes"


def test_what_would_change_a_round_is_refused_in_words(tmp_path: Path) -> None:
    study = new()
    plan = {"model": "small", "prompt": "long", "search": "bm25"}
    for attempt in (
        lambda: study.enqueue(plan),
        lambda: study.import_trials([(plan, 0.5)]),
        lambda: study.exclude({"model": "small"}),
        lambda: study.tighten(0.01),
    ):
        with pytest.raises(StudyError, match="the plans of a round are fixed before its first score, and only their"):
            attempt()
    with pytest.raises(SettingError, match="studies of this problem use Rounds, not Challenger"):
        new(learner="challenger")
    trial, *others = study.ask(99)
    for other in others:
        study.tell(other, value(other.plan))
    for _ in range(MOST_FAILURES - 1):
        study.fail(trial)
        trial = study.ask()
    study.fail(trial)
    with pytest.raises(StudyError, match="failed 10 times, and a round needs a score of each of its plans: repair"):
        study.ask()


def test_failures_can_count_as_the_worst_score() -> None:
    mdp = MDP.from_steps(STEPS, "none", scores="end", structure="additive", reward_range=(0, 1), sigma=0.05)
    study = new(mdp=mdp, on_failure="worst")

    def run(plan: Any) -> Any:
        if plan["model"] == "small":
            raise RuntimeError("out of memory")
        yield value(plan)

    study.optimize(run)
    assert study.best_plan == {"model": "large", "prompt": "cot", "search": "dense"}
    assert verify(study.certificate()).answer == "yes"
    told = study.learner.rounds()[0]
    small = [score for path, score in zip(told["plans"], told["scores"]) if mdp.plan(path)["model"] == "small"]
    assert Counter(map(tuple, small)) == {(0.0,): len(small)}


def test_a_round_is_a_plate_on_a_sheet_and_threads_share_it(tmp_path: Path) -> None:
    study = new()
    trials = study.ask(99)
    assert len(trials) == study.learner.progress[1]  # the whole round, and no more
    text = sheet_text(study.mdp, trials)
    assert text.splitlines()[0] == "number,plan.model,plan.prompt,plan.search,score"
    first, *trials = trials
    study.tell(first, value(first.plan), batch="plate 7")
    assert study.trials["note"][0] == "plate 7"
    filled = [line + str(value(trial.plan)) for line, trial in zip(text.splitlines()[2:], trials)]
    sheet = read_sheet(study.mdp, "\n".join([text.splitlines()[0], *filled]), "plate.csv")
    study.tell_many(sheet.results)
    assert study.learner.round == 2
    study.optimize(value, n_jobs=3)
    assert study.best_plan == {"model": "large", "prompt": "cot", "search": "dense"}
    assert study.certified_gap <= 0.06


def test_the_answer_is_confirmed_in_fresh_plays_whatever_the_model(tmp_path: Path) -> None:
    study, rng = new(), np.random.default_rng(3)

    def play(plan: Any) -> float:
        return value(plan) + 0.05 * float(rng.normal())

    with pytest.raises(StudyError, match=re.escape("confirm() plays the proven plan against rivals, and the study is")):
        study.confirm(play, margin=0.04)
    study.optimize(play)
    today = {"model": "small", "prompt": "short", "search": "bm25"}
    assert value(study.best_plan) - value(today) > 0.1
    with pytest.raises(ZeroDivisionError):
        study.confirm(lambda plan: 1 / 0, margin=0.04, rivals=[today])  # it was begun: the certificate says so
    found = study.confirm(play, margin=0.04, rivals=[today], delta=0.05)
    assert found.plays == 19  # 4 sigma^2 log(1 / delta) / margin^2, rounded up
    assert 0.04 < found.at_least[0] <= value(study.best_plan) - value(today)
    assert str(found).startswith("Whatever the model, by 19 fresh plays of each: better than model=small, prompt=short")
    closest = study.confirm(play, margin=0.1)
    assert 1 <= len(closest.rivals) <= 3
    certificate = study.certificate()
    said = certificate["assumptions"]
    assert sum(str(found) in one for one in said) == 1
    assert sum("A confirmation was begun and not finished" in one for one in said) == 1
    study.export(tmp_path / "log.jsonl")
    assert verify(certificate, log=tmp_path / "log.jsonl").answer == "yes"
    assert Study.from_export(tmp_path / "log.jsonl", "memory").digest == study.digest
    content = certificate.to_dict()
    content["actions"][2]["content"]["scores"][0][0] += 1.0
    content["assumptions"] = assumptions(content, study.mdp)
    changed = {**content, "sha256": content_hash(content)}
    assert verify(changed, log=tmp_path / "log.jsonl").answer == "no"
    content["actions"][2]["content"]["scores"][0].pop()
    assert "other plays than were fixed before" in str(verify({**content, "sha256": content_hash(content)}))
