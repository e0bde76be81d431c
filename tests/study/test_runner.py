"""Trials run in this process: budgets, callbacks, threads, leases, interrupts, other workers."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Study
from surepath.errors import RewardError, SettingError, StudyError
from surepath.study import runner
from surepath.study.performing import Outcome, Performed
from surepath.study.runner import Runner
from surepath.study.status import status_line
from surepath.study.storage import Storage
from tests.study.conftest import Clock
from tests.study.worlds import BEST, NEVER, bounded, new_study, scores, states


@pytest.mark.parametrize(("on_failure", "limit"), [("leave-out", 10), ("worst", 50)])
def test_when_the_first_trials_all_fail_the_function_is_wrong(on_failure: str, limit: int) -> None:
    study = new_study(mdp=bounded(), on_failure=on_failure, epsilon=NEVER)

    def broken(plan: dict[Any, Any]) -> Iterator[float]:
        if plan:
            raise ModuleNotFoundError("No module named 'tourch'")
        yield 0.0

    with pytest.raises(
        StudyError, match=f"the first {limit} trials all failed, the last one with: ModuleNotF"
    ) as caught:
        study.optimize(broken)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert len(study) == limit


def test_one_good_trial_says_that_the_function_works() -> None:
    study = new_study(epsilon=NEVER)
    turn = itertools.count()

    def mostly(plan: dict[Any, Any]) -> list[float]:
        if next(turn) == 8:
            return [0.5, 0.5]
        raise TimeoutError

    study.optimize(mostly, n_trials=40)
    assert states(study) == {"complete": 1, "failed": 39}


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_budget_is_kept(jobs: int) -> None:
    study = new_study(epsilon=NEVER)
    study.optimize(scores, n_trials=7, n_jobs=jobs)
    study.optimize(scores, n_trials=2, n_jobs=jobs)
    assert states(study) == {"complete": 9}


def test_a_timeout_begins_nothing_more() -> None:
    study = new_study(epsilon=NEVER)
    begun = time.monotonic()

    def slow(plan: dict[Any, Any]) -> list[float]:
        time.sleep(0.2)
        return scores(plan)

    study.optimize(slow, timeout=0.5)
    assert 1 <= len(study) <= 4
    assert time.monotonic() - begun < 60
    assert set(states(study)) == {"complete"}


def test_callbacks_see_each_trial_and_can_end_the_run() -> None:
    study = new_study(epsilon=NEVER)
    seen: list[Outcome] = []

    def call(which: Study, outcome: Outcome) -> bool:
        assert which is study
        seen.append(outcome)
        return len(seen) == 3

    study.optimize(lambda plan: [0.5, 0.25], callbacks=[call])
    assert [outcome.trial.number for outcome in seen] == [1, 2, 3]
    assert seen[0].rewards == (0.5, 0.25)
    assert seen[0].state == "complete"
    with pytest.raises(ZeroDivisionError):  # nor is an error of theirs swallowed
        study.optimize(scores, callbacks=[lambda *_: 1 / 0], n_jobs=2)


@pytest.mark.parametrize(
    "options", [{"n_jobs": 0}, {"n_jobs": 1.5}, {"n_trials": 0}, {"timeout": "soon"}, {"timeout": -1}]
)
def test_absurd_options_are_refused_before_anything_runs(options: dict[str, Any]) -> None:
    study = new_study()
    with pytest.raises(SettingError):
        study.optimize(scores, **options)
    assert len(study) == 0


def test_every_storage_serves_threads(opening: Callable[[], Storage]) -> None:
    study = new_study(opening(), epsilon=0.2)
    study.optimize(scores, n_jobs=3)
    assert study.best_plan == BEST
    replay = Study.load(opening(), study.name)
    assert (replay.digest, replay.done, replay.certified_gap) == (study.digest, True, study.certified_gap)


def test_leases_are_renewed_while_a_trial_runs(tmp_path: Path, clock: Clock) -> None:
    """The clock of leases moves on when a lease has been renewed, so that a busy machine cannot be too slow for it."""
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = new_study(Storage(url, clock), epsilon=NEVER, lease=0.3)
    other = Study.load(Storage(url, clock))

    def slow(plan: dict[Any, Any]) -> list[float]:
        for _ in range(5):  # three leases and more
            clock.time += 0.2
            end = time.monotonic() + 60
            while other.status().running[0].lease_until < clock.time + 0.25:  # marks what has expired
                assert time.monotonic() < end
                time.sleep(0.01)
        return scores(plan)

    study.optimize(slow, n_trials=1)
    assert states(study) == {"complete": 1}


def test_another_worker_may_finish_the_study() -> None:
    study = new_study(epsilon=0.5)
    other = Study.load(study.storage, study.name)
    turn = itertools.count()

    def meanwhile(plan: dict[Any, Any]) -> list[float]:
        if next(turn) == 0:
            for trial in other.ask(30):  # they count once the trial that runs here is told
                other.tell(trial, scores(trial.plan))
        return scores(plan)

    study.optimize(meanwhile)
    assert study.done
    assert next(turn) == 1


def test_an_interrupt_gives_the_trial_back_and_is_raised_again() -> None:
    study = new_study(epsilon=NEVER)
    turn = itertools.count()

    def interrupted(plan: dict[Any, Any]) -> list[float]:
        if next(turn) == 2:
            raise KeyboardInterrupt
        return scores(plan)

    with pytest.raises(KeyboardInterrupt):
        study.optimize(interrupted)
    assert states(study) == {"complete": 2, "cancelled": 1}
    study.optimize(scores, n_trials=2)
    assert states(study) == {"complete": 4, "cancelled": 1}


def test_an_interrupt_between_asking_and_hearing_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    study = new_study(epsilon=NEVER)
    ask = study.ask

    def cut(*args: Any, **more: Any) -> Any:
        ask(*args, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "ask", cut)
    with pytest.raises(KeyboardInterrupt):
        study.optimize(scores)
    assert states(study) == {"cancelled": 1}


def test_an_error_in_one_thread_lets_the_others_finish() -> None:
    study = new_study(epsilon=NEVER)
    both, turn = threading.Barrier(2, timeout=30), itertools.count()
    threads: dict[int, threading.Thread] = {}

    def one_is_wrong(plan: dict[Any, Any]) -> list[float]:
        mine = next(turn)
        threads[mine] = threading.current_thread()
        both.wait()
        if mine == 0:
            return [math.nan, 0.5]
        threads[0].join(60)  # the error has been passed on
        return scores(plan)

    with pytest.raises(RewardError, match="nan"):
        study.optimize(one_is_wrong, n_jobs=2, n_trials=4)
    assert states(study) == {"complete": 1, "failed": 1}


def test_a_trial_that_somebody_forgot_is_waited_for_and_costs_no_further_trials() -> None:
    study = new_study()
    forgotten = study.ask(worker="the bench")
    study.optimize(scores, timeout=1.0)
    now = study.status()
    assert not now.done, "trials count in the order in which they were asked for"
    assert now.enough
    assert now.ahead == len(study) - 1 < 40
    assert str(now).splitlines()[3].startswith(f"{now.ahead} results count once trial 1, taken by hand by the bench, ")
    assert str(now).splitlines()[3].endswith("; that is then enough")
    assert status_line(now).startswith(f"0 trials, {now.ahead} waiting for their turn, 1 running: ")
    study.cancel(forgotten)
    assert study.done
    assert study.best_plan == BEST
    assert not study.status().ahead
    assert not study.status().enough


@pytest.mark.parametrize("before", [0, 30])
def test_a_trial_that_is_never_told_does_not_blind_those_after_it(before: int) -> None:
    needed = {}
    for forgets in (False, True):
        rng, study = np.random.default_rng(1), pipeline()
        while len(study) < before:
            tell_noisy(study, rng)
        forgotten = study.ask() if forgets else None
        while not (study.done or study.status().enough) and len(study) < 2_000:
            tell_noisy(study, rng)
        needed[forgets] = len(study)
        again = Study.load(study.storage, study.name)
        again.sync()
        if not study.done:
            assert again._fold.choose(3).tolist() == study._fold.choose(3).tolist()
        if forgotten is not None:
            study.cancel(forgotten)
            assert study.done
    assert needed[True] <= 1.5 * needed[False] + 20, needed


def pipeline() -> Study:
    """Create a study of three steps with four options each."""
    steps = {name: ["a", "b", "c", "d"] for name in ("first", "second", "third")}
    return Study.create(MDP.from_steps(steps), "memory", epsilon=0.3, delta=0.1, sigma=0.2)


def tell_noisy(study: Study, rng: np.random.Generator) -> None:
    """Play a trial; options are the better the later they come."""
    trial = study.ask()
    study.tell(trial, ["abcd".index(str(option)) / 5 + 0.2 * rng.normal() for option in trial.plan.values()])


def test_the_run_goes_on_once_the_trial_that_it_waits_for_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "HOLD", 0.02)
    study = new_study()
    forgotten = study.ask()
    said: list[str] = []

    def settle(words: str) -> None:
        said.append(words)
        study.tell(forgotten, scores(forgotten.plan))

    Runner(study, lambda trial: Performed(scores(trial.plan)), say=settle).run(2)
    assert study.done
    assert [words[:8] for words in said] == ["waiting:"]


def test_a_run_does_not_wait_while_what_was_reported_does_not_suffice() -> None:
    study = new_study(epsilon=NEVER)
    study.ask()
    study.optimize(scores, n_trials=30)
    assert len(study) == 31
    assert not study.status().enough


def test_a_run_that_has_made_its_trials_waits_for_nobody() -> None:
    study = new_study()
    study.ask()
    study.optimize(scores, timeout=1.0)
    assert study.status().enough
    again = new_study()
    again.ask()
    said: list[str] = []
    limits: dict[str, Any] = {"n_trials": len(study) - 1, "timeout": 2.0}
    Runner(again, lambda trial: Performed(scores(trial.plan)), say=said.append, **limits).run()
    assert again.status().enough
    assert len(again) == len(study)
    assert said == []
