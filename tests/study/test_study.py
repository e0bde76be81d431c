"""Study: the life of trials, from asking to the answer."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Study
from surepath.errors import (
    ConflictError,
    ProblemError,
    RewardError,
    SettingError,
    StoppedError,
    StorageError,
    StudyError,
)
from surepath.study.certificate import verify
from surepath.study.status import gap_history
from surepath.study.storage import Storage
from surepath.study.trial import Result
from surepath.verify.file import content_hash, statement
from tests.study.conftest import Clock

STEPS = {"chunk": ["256", "512"], "model": ["small", "large"]}
SCORES = {"256": 0.1, "512": 0.6, "small": 0.2, "large": 0.9}


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Clock]:
    clock = Clock()
    if request.param == "memory":
        return Storage("memory", clock), clock
    return Storage(f"sqlite:///{tmp_path / 'study.db'}", clock), clock


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
    assert study.learner.episodes == 0  # trial 1 is awaited still
    assert study.tell(trial, [0.3, 0.3]) == "told"  # at its own number
    assert study.tell(trial, [0.3, 0.3]) == "repeated"
    with pytest.raises(ConflictError):
        study.tell(trial, [0.3, 0.4])
    assert study.learner.episodes == 1
    clock.time += 601
    study.sync()
    assert "given up in" not in str(study.status())  # nothing waits for trial 2
    study.tell(again, [0.3, 0.3])
    assert "1 result counts once trial 2, taken by hand by" in str(study.status())
    assert "its lease has ended; it is given up in 1.33h" in str(study.status())
    clock.time += 9 * 600
    assert study.learner.episodes == 3  # trial 2 is given up: a failure of which nothing was seen
    assert study.tell(2, [0.5, 0.5]) == "late"
    assert study.tell(2, [0.5, 0.5]) == "repeated"
    with pytest.raises(ConflictError, match="trial 2's late result was kept as trial 4"):
        study.tell(2, [0.5, 0.6])
    assert (study.learner.episodes, study.learner.visits.sum(), study.evidence_trials) == (3, 4, 2)
    status = study.status()
    assert (status.late, status.answer) == (1, "in doubt")
    assert "1 result came too late to count" in str(status)
    certificate = study.certificate()
    assert "(1 results came too late to count)" in " ".join(certificate["assumptions"])


def test_a_trial_that_a_runner_attended_is_given_up_when_its_lease_ends(place: Any) -> None:
    storage, clock = place
    study = new(storage, lease="10min")
    trial, other = study.ask(2, attended=True, worker="cluster")
    study.tell(other, [0.3, 0.3])
    assert "1 result counts once trial 1 by cluster is reported" in str(study.status())
    clock.time += 601
    assert study.learner.episodes == 2  # its worker died: it counts as lost
    assert study.tell(trial, [0.5, 0.5]) == "late"
    assert study.status().answer == "in doubt"
    assert study.ask().source == "retried"
    study.optimize(lambda plan: [0.5, 0.5], n_trials=1)  # so does optimize
    assert study._read(lambda log: [row.attended for row in log.trials(4, 9)]) == [False, True]


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


def test_a_study_of_610_trials_takes_less_than_a_megabyte(tmp_path: Path) -> None:
    steps = {f"step {i}": ["a", "b", "c", "d"] for i in range(6)}
    mdp = MDP.from_steps(steps, depends="previous", reward_range=(0, 1))  # whose bets take megabytes
    study = Study.create(mdp, f"sqlite:///{tmp_path / 'study.db'}", epsilon=1e-6, delta=0.1)
    rng = np.random.default_rng(0)
    for trial in study.ask(610):
        study.tell(trial, rng.random(6))
    study.close()
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 1_000_000


def test_what_the_learner_would_refuse_is_refused_before_it_is_written(place: Any) -> None:
    study = new(place[0])
    first, second = study.ask(2)
    plan, huge = first.plan, [-1e15, 0.5]
    for call in (
        lambda: study.tell(first, huge),
        lambda: study.fail(first, huge[:1]),
        lambda: study.tell_many([Result(first.number, huge)]),
        lambda: study.import_trials([(plan, [0.5, 0.5]), (plan, huge)]),
        lambda: study.tell(first, [-1e30, 0.5]),
        lambda: study.tell(first, [float("nan"), 0.5]),
    ):
        with pytest.raises(RewardError):
            call()
    assert (len(study), len(study.status().running)) == (2, 2)
    study.tell(second, [1e12, 0.5])  # waits for the first; a smaller epsilon would make the learner refuse it
    with pytest.raises(RewardError, match="too coarse for epsilon 1e-09"):
        study.tighten(1e-9)
    study.tell(first, [0.5, 0.5])
    assert (study.epsilon, study.evidence_trials) == (0.2, 2)
    assert "could not be counted" not in str(study.status())


def test_scores_that_cannot_be_counted_put_a_study_in_doubt(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = new(url)
    play(study)
    assert verify(study.certificate(), storage=study.storage).answer == "yes"
    change(tmp_path, "update trials set rewards = '[-1e30, 0.5]' where number = 2")
    study = Study.load(url)
    play(study, seed=1)
    status = study.status()
    assert status.answer == "in doubt"
    assert "1 trial could not be counted, with scores too large or outside what was declared" in str(status)
    certificate = study.certificate()
    assert "In doubt" in certificate["statement"]
    for storage in (None, study.storage):
        assert verify(certificate, storage=storage).answer == "in doubt"
    quiet = {**certificate.to_dict(), "warnings": []}
    quiet["statement"] = statement(quiet)
    quiet["sha256"] = content_hash(quiet)
    assert verify(quiet).answer == "no"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("delete from trials where number = 2", "trial 2 is missing from the log"),
        ("update trials set asked = 'noon' where number = 2", "trial 2 of the log is damaged: its asked is 'noon'"),
        ("update trials set worker = x'ff' where number = 2", "trial 2 of the log is damaged: its worker"),
        ("update trials set lease = 'x', state = 'running' where number = 2", "damaged: its (told|lease) is 'x'"),
        ("update heads set changes = 1e300", "the study 'study' is damaged: its changes is"),
        ("update studies set options = '[]'", "the record of study 'study' is damaged"),
        ("delete from trials where number = (select max(number) from trials)", r"trial \d+ is missing from the log"),
        ("update trials set path = '[0, 99]' where number = 2", "trial 2 of the log is damaged"),
        ("update trials set state = 'gone' where number = 2", "trial 2 of the log is damaged"),
        ("update trials set rewards = '[\"x\", 1]' where number = 2", "trial 2 of the log is damaged"),
    ],
)
def test_a_missing_or_damaged_row_is_an_error_in_words(tmp_path: Path, statement: str, said: str) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    play(new(url), limit=5)
    change(tmp_path, statement)
    for read in (
        lambda study: study.certified_gap,
        lambda study: study.status(),
        lambda study: study.trials,
        lambda study: study.certificate(),
        lambda study: study.ask(),
        lambda study: study.export(tmp_path / "log.jsonl"),
        lambda study: gap_history(study),
    ):
        with pytest.raises(StudyError, match=said):
            read(Study.load(url))


@pytest.mark.parametrize("content", ["[0,", "[1e300]", "{}"])
@pytest.mark.parametrize("kind", ["exclude", "tighten"])
def test_a_damaged_decision_is_an_error_in_words(tmp_path: Path, kind: str, content: str) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = new(url, epsilon=0.01)
    play(study, limit=5)
    study.exclude({"chunk": "512"}) if kind == "exclude" else study.tighten(0.005)
    change(tmp_path, f"update actions set content = '{content}' where number = 1")
    for read in (
        lambda: Study.load(url).certified_gap,
        lambda: Study.load(url).status(),
        lambda: Study.load(url).ask() if kind == "exclude" else Study.load(url).import_trials([([0, 2], [0.5, 0.5])]),
    ):
        with pytest.raises((StorageError, StudyError), match="action 1 of the log is damaged"):
            read()


@pytest.mark.parametrize("damage", ["prefix = 'x'", "actions = 'x'", "content = 7", "content = x'00'"])
def test_a_damaged_snapshot_is_passed_over(tmp_path: Path, damage: str) -> None:
    study = new(f"sqlite:///{tmp_path / 'study.db'}")
    play(study, limit=5)
    study.sync()
    with study.storage.writing(study.name) as log:
        log.save_snapshot(study._fold.snapshot())
    with closing(sqlite3.connect(tmp_path / "study.db")) as database, database:
        database.execute(f"update surepath_snapshots set {damage}")
    assert Study.load(f"sqlite:///{tmp_path / 'study.db'}").digest == study.digest


def test_a_damaged_plan_of_the_queue_is_an_error_in_words(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = new(url)
    study.enqueue({step: options[0] for step, options in STEPS.items()})
    change(tmp_path, "update queue set path = '[0,'")
    with pytest.raises(StorageError, match=r"waiting plan -?\d+ of the log is damaged"):
        Study.load(url).ask()


def test_a_row_that_went_missing_is_noticed_by_who_has_the_study_open(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = new(url, epsilon=0.001)
    play(study, limit=5)
    with Study.load(url) as other:
        for trial in other.ask(3):
            other.tell(trial, [0.5, 0.5])
    change(tmp_path, "delete from trials where number = 7")
    for read in (lambda: study.certified_gap, lambda: study.status(), lambda: study.ask()):
        with pytest.raises(StudyError, match="trial 7 is missing from the log"):
            read()
    with study.storage.reading(study.name) as log, pytest.raises(StorageError, match="trial 7 is missing"):
        log.trials(5, 9)


def change(folder: Path, statement: str) -> None:
    """Change a database by hand; snapshots are dropped, which would know better."""
    with closing(sqlite3.connect(folder / "study.db")) as database, database:
        tables = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        ends = ("trials", "snapshots", "actions", "queue", "heads", "studies")
        full = {end: next(n for n in tables if n.endswith(end)) for end in ends}
        database.execute(f"delete from {full['snapshots']}")
        database.execute(re.sub(r"\b(trials|actions|queue|heads|studies)\b", lambda found: full[found[0]], statement))


# What is fixed when a study is created: the problem, and the worst score of every option where failures count --------


def mixed(known: float) -> MDP:
    """Two options with a range, then a step without one: known, or with a sigma where that is NaN."""
    base = MDP.from_steps({"a": ["x", "y"], "b": ["u"]}, depends="none")
    names = ("first", "target", "stage_node", "node_state", "action", "state_labels", "action_labels", "step_labels")
    fields = {name: getattr(base, name) for name in names}
    ends = np.array([0.0, 0.0, -np.inf]), np.array([1.0, 1.0, np.inf])
    if np.isnan(known):
        return MDP(**fields, sigma=np.array([np.nan, np.nan, 0.5]), reward_range=ends)
    return MDP(**fields, known=np.array([np.nan, np.nan, known]), reward_range=ends)


def test_an_option_without_a_worst_score_is_refused() -> None:
    """A trial that failed there would be left out whole, because of what its first step scored perhaps."""
    with pytest.raises(SettingError, match=re.escape("needs a declared range of every score")):
        Study.create(mixed(np.nan), "memory", epsilon=0.3, delta=0.1, on_failure="worst")


def test_a_failure_at_a_known_score_counts_as_that_in_the_log_too() -> None:
    study = Study.create(mixed(0.25), "memory", epsilon=0.8, delta=0.5, on_failure="worst")
    trial = study.ask()
    study.fail(trial, [1.0])
    while not study.done:
        study.tell(study.ask(), [1.0, 0.25])
    content = study.certificate().to_dict()
    assert content["trials"]["refused"] == 0
    verdict = verify(content, storage=study.storage)
    assert verdict.answer == "yes", verdict


def test_a_study_takes_the_options_of_each_step_as_they_are() -> None:
    steps: dict[str, list[Any]] = {"retriever": ["bm25", "dense"], "temperature": [0.2, 0.7]}
    study = Study.create(steps, storage="memory", epsilon=0.1, delta=0.1, sigma=0.1)
    assert study.mdp == MDP.from_steps(steps, sigma=0.1)
    assert study.ask().plan.keys() == steps.keys()
    with pytest.raises(ProblemError, match="unknown field 'stepps'"):
        Study.create({"stepps": {"a": ["x"]}}, storage="memory", epsilon=0.1, delta=0.1, sigma=0.1)
    file = {"format": "surepath-problem", "version": 1, "steps": {"a": [2.5, 1]}}
    with pytest.raises(ProblemError, match=r"must be a valid string or be a valid integer, not 2\.5"):
        Study.create(file, storage="memory", epsilon=0.1, delta=0.1, sigma=0.1)


def test_what_the_learner_is_given_counts_before_what_the_problem_asks() -> None:
    asks = {
        "format": "surepath-problem",
        "version": 1,
        "steps": {"a": ["x", "y"]},
        "sigma": 1,
        "epsilon": 0.5,
        "delta": 0.1,
    }
    study = Study.create(asks, storage="memory", learner={"name": "challenger", "epsilon": 2.0})
    assert (study.epsilon, study.delta) == (2.0, 0.1)
    assert (
        Study.create(asks, storage="memory", learner={"name": "challenger", "epsilon": 2.0}, epsilon=3.0).epsilon == 3
    )
