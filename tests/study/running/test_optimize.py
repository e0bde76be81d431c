"""optimize: functions that return, yield and raise; budgets, threads, leases, interrupts, other workers."""

from __future__ import annotations

import functools
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from surepath import Study
from surepath._numbers import rounded_up
from surepath.errors import RewardError, SettingError, StudyError
from surepath.study.running import runner
from surepath.study.running.optimize import yields
from surepath.study.running.performed import Outcome
from surepath.study.status.progress import rough_trials_left
from surepath.study.storage.contract import Storage
from surepath.study.storage.sql import SqlStorage
from tests.study.conftest import Clock
from tests.study.worlds import BEST, SCORE, bounded, new_study, scores

NEVER = 1e-6  # an epsilon that no test proves


def states(study: Study) -> dict[str, int]:
    return {state: count for state, count in study.status().states.items() if count}


def rows(study: Study) -> list[Any]:
    return study._read(lambda log: log.trials(1, 10_000))


# What functions answer ---------------------------------------------------------------------------------------------


def yielding(plan: dict[Any, Any]) -> Iterator[float]:
    yield from scores(plan)


@pytest.mark.parametrize(
    "function",
    [
        scores,
        yielding,
        lambda plan: {step: SCORE[option] for step, option in plan.items()},
        lambda plan: tuple(scores(plan)),
        lambda plan: iter(scores(plan)),
    ],
    ids=["list", "generator", "mapping", "tuple", "iterator"],
)
def test_every_kind_of_answer_ends_with_the_best_plan(function: Any) -> None:
    study = new_study()
    study.optimize(function)
    assert study.done
    assert study.best_plan == BEST
    assert study.certified_gap <= 0.3
    assert set(states(study)) == {"complete"}


def test_the_function_gets_a_plan_of_its_own() -> None:
    study = new_study(epsilon=NEVER)

    def greedy(plan: dict[Any, Any]) -> list[float]:
        found = scores(plan)
        plan.clear()
        return found

    seen: list[Outcome] = []
    study.optimize(greedy, n_trials=3, callbacks=[lambda _, outcome: seen.append(outcome)])
    assert [len(outcome.trial.plan) for outcome in seen] == [2, 2, 2]


def test_an_error_is_a_failed_trial_with_what_was_yielded() -> None:
    study = new_study(epsilon=NEVER)
    turn = itertools.count()

    def shaky(plan: dict[Any, Any]) -> Iterator[float]:
        number = next(turn)
        if number == 1:
            raise ValueError("no disk")
        yield 0.5
        if number == 2:
            raise KeyError
        yield 0.25

    study.optimize(shaky, n_trials=4)
    first, second, third, last = rows(study)
    assert (first.state, first.rewards) == ("complete", (0.5, 0.25))
    assert (second.state, second.rewards, second.note) == ("failed", (), "ValueError: no disk")
    assert (third.state, third.rewards, third.note) == ("partial", (0.5,), "KeyError")
    assert last.state == "complete"


def test_an_error_after_the_last_step_loses_nothing() -> None:
    study = new_study(epsilon=NEVER)

    def late(plan: dict[Any, Any]) -> Iterator[float]:
        yield from (0.5, 0.5)
        raise OSError("while tidying up")

    study.optimize(late, n_trials=2)
    assert states(study) == {"complete": 2}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0.5, math.nan], "trial 1: the reward at stage 1 .* is nan"),
        ([0.5, 0.5, 0.5], "trial 1: rewards must be 2 numbers"),
        (None, "trial 1: rewards must be 2 numbers"),
        ([], "trial 1: no score for steps model, prompt, but the function came to its end; where a trial fails, raise"),
        ([0.5], "trial 1: no score for step prompt, but"),
        ({"model": 0.5}, "trial 1: no score for step prompt, but"),
        (iter([0.5]), "trial 1: no score for step prompt, but"),
        ("good", "trial 1: rewards must be 2 numbers"),
        ({"modle": 0.5}, "trial 1: no step is called 'modle'"),
    ],
    ids=["nan", "many", "none", "empty", "few", "few by name", "few yielded", "text", "step"],
)
def test_an_answer_that_is_no_reward_ends_the_run(answer: Any, words: str) -> None:
    study = new_study()
    with pytest.raises(RewardError, match=words):
        study.optimize(lambda plan: answer)
    (row,) = rows(study)
    assert row.state == "failed"
    assert row.note.startswith("RewardError: ")


def test_a_reward_outside_the_range_is_no_failure_to_be_left_out() -> None:
    study = new_study(mdp=bounded())
    with pytest.raises(RewardError, match=r"trial 1: the reward 7\.0 at stage 1"):
        study.optimize(lambda plan: [0.5, 7.0])


def test_a_generator_without_end_is_refused() -> None:
    study = new_study()

    def endless(plan: dict[Any, Any]) -> Iterator[float]:
        while True:
            yield 0.5

    with pytest.raises(RewardError, match="2 numbers"):
        study.optimize(endless)


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(SettingError, match="optimize needs a function"):
        new_study().optimize([0.5, 0.5])  # type: ignore[arg-type]


# Failures as part of the score -------------------------------------------------------------------------------------


def test_worst_needs_to_know_the_step() -> None:
    study = new_study(mdp=bounded(), on_failure="worst")
    with pytest.raises(SettingError, match="write the function as a generator"):
        study.optimize(scores)
    assert len(study) == 0


def test_worst_counts_the_step_that_failed() -> None:
    study = new_study(mdp=bounded(), on_failure="worst", epsilon=NEVER)

    def dies(plan: dict[Any, Any]) -> Iterator[float]:
        yield 0.5
        raise RuntimeError("second step")

    study.optimize(dies, n_trials=1)
    (row,) = rows(study)
    learner = study.learner
    assert learner.visits[list(row.path)].tolist() == [1, 1]
    assert learner.means[list(row.path)].tolist() == [0.5, 0.0]


def test_generators_are_known_in_every_dress() -> None:
    class Method:
        def play(self, plan: Any) -> Iterator[float]:
            yield 0.0

        def __call__(self, plan: Any) -> Iterator[float]:
            yield 0.0

    generators: list[Any] = [yielding, Method().play, Method(), functools.partial(functools.partial(yielding))]
    others: list[Any] = [scores, functools.partial(scores), print, Method]
    assert [yields(function) for function in generators + others] == [True] * 4 + [False] * 4


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


# Budgets and callbacks ---------------------------------------------------------------------------------------------


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


def test_an_error_in_a_callback_is_not_swallowed() -> None:
    study = new_study(epsilon=NEVER)

    def call(*_: object) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        study.optimize(scores, callbacks=[call], n_jobs=2)


@pytest.mark.parametrize(
    "options", [{"n_jobs": 0}, {"n_jobs": 1.5}, {"n_trials": 0}, {"timeout": "soon"}, {"timeout": -1}]
)
def test_absurd_options_are_refused_before_anything_runs(options: dict[str, Any]) -> None:
    study = new_study()
    with pytest.raises(SettingError):
        study.optimize(scores, **options)
    assert len(study) == 0


# Threads, leases, other workers ------------------------------------------------------------------------------------


def test_jobs_run_at_the_same_time() -> None:
    study = new_study(epsilon=NEVER)
    meeting = threading.Barrier(4, timeout=60)

    def together(plan: dict[Any, Any]) -> list[float]:
        meeting.wait()  # passes only when four trials run at once
        return scores(plan)

    study.optimize(together, n_jobs=4, n_trials=8)
    assert states(study) == {"complete": 8}


def test_every_storage_serves_threads(opening: Callable[[], Storage]) -> None:
    study = new_study(opening(), epsilon=0.2)
    study.optimize(scores, n_jobs=3)
    assert study.best_plan == BEST
    replay = Study.load(opening(), study.name)
    assert (replay.digest, replay.done, replay.certified_gap) == (study.digest, True, study.certified_gap)


def test_leases_are_renewed_while_a_trial_runs(tmp_path: Path, clock: Clock) -> None:
    """The clock of leases moves on when a lease has been renewed, so that a busy machine cannot be too slow for it."""
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = new_study(SqlStorage(url, clock), epsilon=NEVER, lease=0.3)
    other = Study.load(SqlStorage(url, clock))

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
            while not other.done:
                trial = other.ask()
                other.tell(trial, scores(trial.plan))
                if trial.number > 1000:
                    pytest.fail("the other worker does not get done")
                if other.status().settled == 0 and trial.number > 30:
                    break  # the prefix waits for the trial that runs here
        return scores(plan)

    study.optimize(meanwhile)
    assert study.done
    assert next(turn) < 20


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


def test_an_interrupt_in_the_middle_of_a_fold_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    study = new_study(epsilon=NEVER)
    study.optimize(scores, n_trials=3)
    learner, tell = study._fold.learner, study._fold.learner.tell

    def cut(*args: Any, **more: Any) -> None:
        tell(*args, **more)
        raise KeyboardInterrupt  # told, but not yet counted as told

    monkeypatch.setattr(learner, "tell", cut)
    with pytest.raises(KeyboardInterrupt):
        study.optimize(scores)
    assert study.learner.episodes == sum(row.state == "complete" for row in rows(study))
    assert study.digest == Study.load(study.storage, study.name).digest


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
        threads[0].join(60)  # the error has been handed on
        return scores(plan)

    with pytest.raises(RewardError, match="nan"):
        study.optimize(one_is_wrong, n_jobs=2, n_trials=4)
    assert states(study) == {"complete": 1, "failed": 1}


# What is said ------------------------------------------------------------------------------------------------------


def test_nothing_is_said_where_no_terminal_listens(capfd: pytest.CaptureFixture[str]) -> None:
    study = new_study(epsilon=NEVER)

    def failing(plan: dict[Any, Any]) -> list[float]:
        raise ValueError

    study.optimize(scores, n_trials=2)
    study.optimize(failing, n_trials=2)
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.replace("surepath: compiling kernels, once; this takes a few seconds\n", "") == ""


def test_the_progress_line(capsys: pytest.CaptureFixture[str]) -> None:
    study = new_study()
    study.optimize(scores, progress=True)
    said = capsys.readouterr().err
    assert "1 running: nothing proven yet" in said
    assert (
        f"{len(study)} trials, 0 running: proven gap {rounded_up(study.certified_gap)}, wanted 0.3, done (model="
        in said
    )
    assert "more trials" not in said


def test_a_spent_budget_says_what_more_would_buy(capsys: pytest.CaptureFixture[str]) -> None:
    study = new_study(epsilon=NEVER)
    study.optimize(lambda plan: [0.5, 0.25], n_trials=8, progress=True)
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("the budget is spent; ")
    assert "50 more trials would bring the certified gap" in said
    study.optimize(lambda plan: [0.5, 0.25], n_trials=1, progress=False)
    assert capsys.readouterr().err == ""


def test_the_log_tells_each_trial(caplog: pytest.LogCaptureFixture) -> None:
    study = new_study(epsilon=NEVER)
    with caplog.at_level(logging.INFO, logger="surepath.study"):
        study.optimize(lambda plan: [0.5, 0.25], n_trials=1)
    assert [record.message for record in caplog.records] == [
        "begin trial 1: model=small, prompt=short",
        "trial 1 is complete [0.5, 0.25]",
        f"the budget is spent; {study.forecast(50)}",
    ]


@pytest.mark.parametrize(
    ("trials", "gap", "expected"), [(100, 0.2, 300), (1, 0.1, 0), (0, 0.5, None), (9, 1e30, None), (57, 0.33, 560)]
)
def test_the_square_law(trials: int, gap: float, expected: int | None) -> None:
    assert rough_trials_left(trials, gap, 0.1) == expected


def test_renewal_comes_well_before_the_end_of_a_lease() -> None:
    assert runner.RENEW <= 0.5
