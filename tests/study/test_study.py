"""Study: the life of trials, from asking to the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Study
from surepath.errors import ConflictError, RewardError, SettingError, StoppedError, StudyError
from surepath.study.storage.memory import MemoryStorage
from surepath.study.storage.sql import SqlStorage

STEPS = {"chunk": ["256", "512"], "model": ["small", "large"]}
SCORES = {"256": 0.1, "512": 0.6, "small": 0.2, "large": 0.9}


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Clock]:
    clock = Clock()
    if request.param == "memory":
        return MemoryStorage(clock), clock
    return SqlStorage(f"sqlite:///{tmp_path / 'study.db'}", clock), clock


def new(storage: Any, **settings: Any) -> Study:
    mdp = MDP.from_steps(STEPS, sigma=settings.pop("declared", 0.1))
    return Study.create(mdp, storage, **{"epsilon": 0.2, "delta": 0.1, **settings})


def score(plan: dict[Any, Any], rng: np.random.Generator) -> list[float]:
    return [SCORES[option] + 0.1 * rng.normal() for option in plan.values()]


def play(study: Study, seed: int = 0, limit: int = 10_000) -> int:
    rng = np.random.default_rng(seed)
    for count in range(limit):
        if study.done:
            return count
        trial = study.ask()
        study.tell(trial, score(trial.plan, rng))
    return limit


def test_a_study_finds_the_best_plan(place: Any) -> None:
    study = new(place[0])
    assert not study.done
    assert study.certified_gap == np.inf
    trials = play(study)
    assert study.best_plan == {"chunk": "512", "model": "large"}
    assert study.certified_gap <= 0.2
    assert len(study) == trials
    with pytest.raises(StoppedError, match=r"is done after \d+ trials"):
        study.ask()


def test_another_object_and_a_replay_see_the_same(place: Any) -> None:
    study = new(place[0], declared=1.0)
    play(study, limit=7)
    study.ask(2)
    other = Study.load(place[0], study.name)
    assert not other.done
    assert other.learner.active.tolist() == study.learner.active.tolist()
    assert other.best_path.tolist() == study.best_path.tolist()
    assert other._fold.digest == study._fold.digest
    assert other._fold.choose(3).tolist() == study._fold.choose(3).tolist()


def test_results_enter_in_the_order_asked(place: Any) -> None:
    study = new(place[0])
    first, second, third = study.ask(3)
    study.tell(third, [0.1, 0.1])
    study.tell(second, [0.1, 0.1])
    assert study.learner.episodes == 0
    assert sorted(study._fold.pending()) == sorted(tuple(t.path.tolist()) for t in (first, second, third))
    study.tell(first, [0.1, 0.1])
    assert study.learner.episodes == 3


def test_the_same_result_twice_changes_nothing_and_another_is_refused(place: Any) -> None:
    study = new(place[0])
    trial = study.ask()
    assert study.tell(trial, [0.5, 0.25]) == "told"
    assert study.tell(trial.number, {"chunk": 0.5, "model": 0.25}) == "repeated"
    with pytest.raises(ConflictError, match=r"already recorded as \[0.5, 0.25\]"):
        study.tell(trial, [0.5, 0.26])
    assert study.learner.episodes == 1
    with pytest.raises(StudyError, match="there is no trial 9; the last one is 1"):
        study.tell(9, [1.0, 1.0])


@pytest.mark.parametrize(
    "rewards", [[np.nan, 1.0], ["a", 1.0], [1.0, 1.0, 1.0], {"chunk": 1.0, "mode": 1.0}, [1e200, 0.0]]
)
def test_what_is_no_result_changes_nothing(place: Any, rewards: Any) -> None:
    study = new(place[0])
    trial = study.ask()
    with pytest.raises(RewardError):
        study.tell(trial, rewards)
    assert study.tell(trial, [0.0, 0.0]) == "told"


def test_a_lease_that_ends_hands_the_plan_out_again(place: Any) -> None:
    storage, clock = place
    study = new(storage, lease="10min")
    trial = study.ask(worker="ann")
    clock.time += 599
    assert study.renew(trial) == clock.time + 600
    clock.time += 599
    assert study.ask().number == 2
    clock.time += 601
    again = study.ask(worker="bob")
    assert (again.number, again.source, again.path.tolist()) == (3, "retried", trial.path.tolist())
    with pytest.raises(StudyError, match="trial 1 is expired"):
        study.renew(trial)
    assert study.tell(trial, [0.3, 0.3]) == "late"
    assert study.tell(trial, [0.3, 0.3]) == "repeated"
    with pytest.raises(ConflictError):
        study.tell(trial, [0.3, 0.4])
    assert study.learner.episodes == 2  # the two that expired, which count as failures; trial 3 still runs
    study.tell(again, [0.3, 0.3])
    assert study.learner.visits[trial.path[0]] == 2


def test_a_plan_that_kills_its_worker_is_not_assigned_for_ever(place: Any) -> None:
    storage, clock = place
    study = new(storage, lease=1)
    rng = np.random.default_rng(0)
    for _ in range(100):
        trial = study.ask()
        if trial.plan["chunk"] == "512":  # kills its worker
            clock.time += 2
        else:
            study.tell(trial, score(trial.plan, rng))
    visits = study.learner.visits
    assert visits[[0, 2, 3]].min() >= 5
    study.exclude({"chunk": "512"})
    assert study.done


def test_a_failed_trial_keeps_what_it_had_seen(place: Any) -> None:
    study = new(place[0])
    trial = study.ask()
    assert study.fail(trial, [0.7], note="timeout") == "told"
    assert study.learner.visits.sum() == 1
    assert study.fail(trial, [0.7]) == "repeated"
    other = study.ask()
    study.fail(other)
    assert study.learner.visits.sum() == 1
    study.cancel(study.ask())
    study.sync()
    assert study._fold.prefix == 3
    states = study._fold.tally.states
    assert (states["partial"], states["failed"], states["cancelled"]) == (1, 1, 1)


def test_a_failure_can_count_as_the_worst_score(place: Any) -> None:
    mdp = MDP.from_steps(STEPS, reward_range=(0.0, 1.0))
    study = Study.create(mdp, place[0], epsilon=0.2, delta=0.1, on_failure="worst")
    trial = study.ask()
    study.fail(trial, [0.7])
    assert study.learner.sums[trial.path].tolist() == [0.7, 0.0]
    assert study.learner.visits[trial.path].tolist() == [1, 1]
    assert study.learner.failures[trial.path].tolist() == [0, 1]  # of the step that failed, not of one after it
    first = study.ask()
    study.fail(first, [])
    assert study.learner.failures.sum() == 2
    assert study.learner.failures[first.path[0]] == 1
    with pytest.raises(SettingError, match="needs a declared range"):
        new(place[0], name="other", on_failure="worst")


def test_a_person_may_queue_exclude_and_tighten(place: Any) -> None:
    study = new(place[0])
    study.enqueue({"chunk": "512", "model": "small"})
    trial = study.ask()
    assert (trial.source, trial.plan) == ("queued", {"chunk": "512", "model": "small"})
    study.tell(trial, [0.6, 0.2])
    study.exclude({"chunk": "512"})
    play(study)
    assert study.best_plan == {"chunk": "256", "model": "large"}
    study.tighten(0.05)
    with pytest.raises(SettingError, match="tighten needs an epsilon below"):
        study.tighten(0.1)
    play(study, seed=1)
    assert study.certified_gap <= 0.05
    replay = Study.load(place[0], study.name)
    assert replay.learner.exclusions == study.learner.exclusions
    assert replay._fold.digest == study._fold.digest


def test_past_results_are_data(place: Any) -> None:
    study = new(place[0])
    assert study.import_trials([({"chunk": "256", "model": "small"}, [0.1, 0.2]), ([0, 3], [0.1])]) == 2
    assert study.learner.visits.sum() == 3


def test_a_repeated_request_gives_the_same_trials(place: Any) -> None:
    study = new(place[0])
    first = study.ask(3, request="r1")
    assert [t.number for t in study.ask(3, request="r1")] == [t.number for t in first] == [1, 2, 3]
    assert study.ask().number == 4


def test_studies_have_names(place: Any) -> None:
    study = new(place[0], name="one")
    with pytest.raises(StudyError, match="already exists"):
        new(place[0], name="one")
    assert new(place[0], name="one", exist_ok=True).record == study.record
    with pytest.raises(StudyError, match=r"exists, but differs in epsilon \(0.2 there, 0.1 here\)"):
        new(place[0], name="one", exist_ok=True, epsilon=0.1)
    with pytest.raises(StudyError, match=r"no study 'onee' here \(did you mean \"one\"\?\)"):
        Study.load(place[0], "onee")
    new(place[0], name="two")
    with pytest.raises(StudyError, match="name the study"):
        Study.load(place[0])
    place[0].delete("two")
    assert Study.load(place[0]).name == "one"


def test_the_bound_is_frozen(place: Any) -> None:
    study = new(place[0])
    assert json.loads(study.record.settings) == study.learner.settings()


def test_snapshots_change_nothing(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surepath.study.fold.SAVE_EVERY", 3)
    study = new(place[0], declared=1.0)
    play(study, limit=20)
    quick = Study.load(place[0], study.name)
    quick.sync()
    assert quick._fold.saved > 10
    monkeypatch.setattr("surepath.study.fold.Fold._load", lambda self, row, last: None)
    slow = Study.load(place[0], study.name)
    slow.sync()
    assert slow._fold.saved == 0
    assert slow._fold.choose(2).tolist() == quick._fold.choose(2).tolist()
    assert slow._fold.digest == quick._fold.digest
    assert slow.learner.snapshot()["evidence"]["sums"].tolist() == quick.learner.snapshot()["evidence"]["sums"].tolist()
