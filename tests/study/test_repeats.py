"""A commit whose answer was lost may have come through: every call may run twice and must count once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from surepath.study import Study
from surepath.study.fold import decode_tree, encode_tree
from surepath.study.storage import Reading, Storage, Writing
from surepath.study.tables import TransientError
from tests.study.conftest import Clock
from tests.study.workers import ENDLESS, STEPS, new_study, rewards_of


class Doubtful(Storage):
    """A storage that commits and then says that it does not know: each transaction once."""

    doubtful = False

    def __init__(self, clock: Any = None) -> None:
        super().__init__("memory", clock)
        self.lost = 0
        self._again = False

    def _lose(self) -> None:
        self._again = not self._again
        if self.doubtful and self._again:
            self.lost += 1
            raise TransientError("the connection was lost")

    def create(self, record: Any) -> None:
        super().create(record)
        self._lose()

    @contextmanager
    def reading(self, name: str, known: int = 0) -> Iterator[Reading]:
        with super().reading(name, known) as log:
            yield log
        self._lose()

    @contextmanager
    def writing(self, name: str, known: int = 0) -> Iterator[Writing]:
        with super().writing(name, known) as log:
            yield log
        self._lose()


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)


def calls(place: Doubtful, clock: Clock) -> list[Any]:
    """Make every call there is once; return the log."""
    study = new_study(place, STEPS, epsilon=1.0, lease=10)
    plan = {step: options[0] for step, options in STEPS.items()}
    study.enqueue(plan)
    study.enqueue(plan, request="mine")
    study.enqueue(plan, request="mine")
    assert study.import_trials([(plan, [0.1, 0.2, 0.3]), (plan, [0.1])]) == 2
    assert study.import_trials([(plan, [0.4])], request="file") == 1
    assert study.import_trials([(plan, [0.4])], request="file") == 1
    trials = study.ask(7)
    assert [trial.number for trial in trials] == [4, 5, 6, 7, 8, 9, 10]
    assert [trial.number for trial in study.ask(2, request="r")] == [11, 12]
    assert [trial.number for trial in study.ask(2, request="r")] == [11, 12]
    study.tell(trials[0], rewards_of(trials[0]))
    study.tell(trials[1], rewards_of(trials[1])[:1])
    study.fail(trials[2], note="it broke")
    study.fail(trials[3], [0.5])
    study.cancel(trials[4])
    study.exclude({"first": "a"})
    study.tighten(0.5)
    study.renew(trials[5])
    clock.time += 11
    study.sync()
    study.tell(trials[6], rewards_of(trials[6]))  # late
    assert study.ask().source == "retried"
    assert not study.done
    place.doubtful = False  # nobody repeats the reading of a test
    with place.reading(study.name) as log:
        rows = [row._replace(request=None, change=0) for row in log.trials(1, 99)]
        return [rows, [action._replace(change=0) for action in log.actions_after(0)], log.queue(99)]


def test_every_call_counts_once() -> None:
    sure, doubtful = Doubtful(clock := Clock()), Doubtful(other := Clock())
    expected = calls(sure, clock)
    doubtful.doubtful = True
    answer = calls(doubtful, other)
    assert doubtful.lost > 20
    assert answer == expected


def test_ctrl_c_amid_a_step_loses_and_doubles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Storage("memory")
    study, other = new_study(place, ENDLESS), Study.load(place, "work")
    for _ in range(6):
        trial = other.ask()
        other.tell(trial, rewards_of(trial))
    learner = type(study._fold.learner)
    plain, count = learner.tell, iter(range(100))

    def interrupted(self: Any, *given: Any, **more: Any) -> None:
        plain(self, *given, **more)
        if next(count) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(learner, "tell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.sync()
    study.sync()
    assert study.learner.visits.sum() == 18
    assert study.learner.sums.tolist() == other.learner.sums.tolist()
    assert study._fold.digest == other._fold.digest


def poisoned(content: bytes, kind: str) -> bytes:
    if kind == "bytes":
        return b"\x80\x04pickle?" + content[9:]
    if kind == "empty":
        return b""
    tree = decode_tree(content)
    if kind == "version":
        tree["of"][0] = "0.0.0"
        tree["learner"]["evidence"]["sums"] += 1.0
    elif kind == "other study":
        tree["of"][1] = "0" * 64
        tree["learner"]["evidence"]["sums"] += 1.0
    elif kind == "shape":
        tree["learner"]["evidence"]["sums"] = tree["learner"]["evidence"]["sums"][:3]
    elif kind == "lacking":
        del tree["tally"]
    return encode_tree(tree)


@pytest.mark.parametrize("kind", ["bytes", "empty", "version", "other study", "shape", "lacking", "prefix", "ahead"])
def test_a_spoilt_snapshot_changes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surepath.study.fold.SAVE_EVERY", 5)
    place = Storage("memory")
    study = new_study(place, ENDLESS, epsilon=0.001)
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, rewards_of(trial))
    study.sync()
    with place.writing("work") as log:
        row = log.snapshot()
        assert row is not None
        assert row.prefix >= 5
        if kind == "prefix":
            log.save_snapshot(row._replace(prefix=row.prefix - 1))
        elif kind == "ahead":
            log.save_snapshot(row._replace(prefix=99))
        else:
            log.save_snapshot(row._replace(content=poisoned(row.content, kind)))
    other = Study.load(place, "work")
    other.sync()
    assert other._fold.digest == study._fold.digest
    assert other.learner.sums.tolist() == study.learner.sums.tolist()
    assert other._fold.choose(2).tolist() == study._fold.choose(2).tolist()
    assert other._fold.tally.states == study._fold.tally.states
