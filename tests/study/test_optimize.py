"""optimize: functions that return, yield and raise, and what they may answer."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from surepath import MDP, Study
from surepath.errors import RewardError, SettingError
from surepath.study.performing import Outcome, yields
from tests.study.worlds import BEST, NEVER, SCORE, bounded, new_study, rows, scores, states


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
        return [SCORE[plan.pop(step)] for step in list(plan)]

    seen: list[Outcome] = []
    study.optimize(greedy, n_trials=3, callbacks=[lambda _, outcome: seen.append(outcome)])
    assert [len(outcome.trial.plan) for outcome in seen] == [2, 2, 2]


@pytest.mark.parametrize("waits", [False, True])
def test_an_error_is_a_failed_trial_with_what_was_yielded(waits: bool) -> None:
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

    async def later(plan: dict[Any, Any]) -> AsyncIterator[float]:
        for score in shaky(plan):
            yield score

    study.optimize(later if waits else shaky, n_trials=4)
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
        ([0.5, math.nan], "trial 1: the .* is nan"),
        ([0.5, 0.5, 0.5], "trial 1: scores must be 2 numbers"),
        (None, "trial 1: scores must be 2 numbers"),
        ([], "trial 1: no score for steps model, prompt, but the function came to its end; where a trial fails, raise"),
        ([0.5], "trial 1: no score for step prompt, but"),
        ({"model": 0.5}, "trial 1: no score for step prompt, but"),
        (iter([0.5]), "trial 1: no score for step prompt, but"),
        ("good", "trial 1: scores must be 2 numbers"),
        ({"modle": 0.5}, "trial 1: no step is called 'modle'"),
        (itertools.repeat(0.5), "trial 1: scores must be 2 numbers"),
    ],
    ids=["nan", "many", "none", "empty", "few", "few by name", "few yielded", "text", "step", "without end"],
)
def test_an_answer_that_is_no_reward_ends_the_run(answer: Any, words: str) -> None:
    study = new_study()
    with pytest.raises(RewardError, match=words):
        study.optimize(lambda plan: answer)
    (row,) = rows(study)
    assert row.state == "failed"
    assert row.note.startswith("RewardError: ")


def test_a_mistake_gives_no_step_its_worst_score() -> None:
    study = new_study(mdp=bounded(), on_failure="worst", epsilon=NEVER)

    def wrong(plan: dict[Any, Any]) -> Iterator[float]:
        yield from (0.5, 7.0)

    with pytest.raises(RewardError, match=r"trial 1: the (score|reward) 7\.0 "):
        study.optimize(wrong)
    assert states(study) == {"cancelled": 1}
    assert rows(study)[0].note.startswith("RewardError: ")
    assert study.status().last_failure.startswith("trial 1: RewardError: ")
    assert not study.learner.visits.any()


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(SettingError, match="optimize needs a function"):
        new_study().optimize([0.5, 0.5])  # type: ignore[arg-type]


def test_worst_needs_to_know_the_step() -> None:
    study = new_study(mdp=bounded(), on_failure="worst")
    with pytest.raises(SettingError, match="write the function as a generator"):
        study.optimize(scores)
    assert len(study) == 0


def test_generators_are_known_in_every_dress() -> None:
    class Method:
        def play(self, plan: Any) -> Iterator[float]:
            yield 0.0

        def __call__(self, plan: Any) -> Iterator[float]:
            yield 0.0

    generators: list[Any] = [yielding, Method().play, Method(), functools.partial(functools.partial(yielding))]
    others: list[Any] = [scores, functools.partial(scores), print, Method]
    assert [yields(function) for function in generators + others] == [True] * 4 + [False] * 4


def test_a_number_of_trials_with_epsilon_zero_is_warned_of() -> None:
    mdp = MDP.from_steps({"a": ["x", "y"]}, sigma=0.1)
    with Study.create(mdp, "memory", epsilon=0.0, delta=0.1) as study, pytest.warns(UserWarning, match="of 2 trials"):
        study.optimize(lambda plan: [0.5], n_trials=2, progress=False)
