"""What is fixed when a study is created: the problem, and the worst score of every option where failures count."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Study
from surepath.errors import ProblemError, SettingError
from surepath.study.certificate import verify


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
    with pytest.raises(ProblemError, match=r'not 2\.5; write it as text: "2\.5"'):
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
