"""Paths by name: plan and path are inverse to each other, and what is no plan is refused in words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath.errors import PathError, ProblemError, SettingError
from surepath.model.mdp import MDP
from surepath.model.paths import option_arcs
from tests.naive.paths import all_paths
from tests.strategies import mdps


def labelled(steps: Any = ("chunk", "answer")) -> MDP:
    rows = [
        (0, "start", "256", "small"),
        (0, "start", "512", "large"),
        (1, "small", "fast", None),
        (1, "large", "fast", None),
        (1, "large", "careful", None),
    ]
    return MDP.from_edges(rows)._replaced(action_labels=("256", "512", "fast", "careful"), step_labels=steps)


@given(mdps(), st.data())
def test_plans_with_names_are_inverse_too(mdp: MDP, data: st.DataObject) -> None:
    names = st.text(min_size=1, max_size=3)
    steps = data.draw(st.lists(names, min_size=mdp.horizon, max_size=mdp.horizon, unique=True))
    top = int(mdp.action.max()) + 1
    options = data.draw(st.lists(names, min_size=top, max_size=top, unique=True))
    mdp = mdp._replaced(step_labels=tuple(steps), action_labels=tuple(options))
    for path in all_paths(mdp):
        assert list(mdp.plan(path)) == steps
        assert mdp.path(mdp.plan(path)).tolist() == list(path)


def test_steps_and_options_go_by_name_or_number() -> None:
    mdp = labelled()
    assert mdp.plan([1, 4]) == {"chunk": "512", "answer": "careful"}
    for plan in ({"chunk": "512", "answer": "careful"}, {0: 1, 1: 3}, {np.int64(0): 512, "answer": np.int64(3)}):
        assert mdp.path(plan).tolist() == [1, 4]
    assert (mdp.step("answer"), mdp.step(1)) == (1, 1)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"chunk": "512"}, "the plan lacks step 'answer'; it needs an option for every step"),
        ({"chunk": "512", "anser": "fast"}, "no step is called 'anser' (did you mean \"answer\"?)"),
        ({"chunk": "512", 7: "fast"}, 'no step is called 7 (valid: "chunk", "answer")'),
        ({"chunk": "512", "answer": "carefull"}, "no option 'carefull' in state 'large' (did you mean \"careful\"?)"),
        ({"chunk": "512", "answer": 9}, "step 'answer' has no option 9 in state 'large'"),
        ({"chunk": "512", "answer": True}, "a plan names each option by text or by a whole number, not True"),
        ({"chunk": "512", 0: "512", 1: "fast"}, "the plan names step 'chunk' twice"),
        ([0, 1], "a plan is a mapping {step: option}, not [0, 1]"),
    ],
)
def test_what_is_no_plan_is_refused_in_words(plan: Any, message: str) -> None:
    with pytest.raises(PathError, match=re.escape(message)):
        labelled().path(plan)


@pytest.mark.parametrize("option", [{}, "512", [], [[0]]])
def test_what_names_no_option_is_refused_in_words(option: Any) -> None:
    with pytest.raises(SettingError, match=r"^name options as \{step: option\}"):
        option_arcs(labelled(), option)
    with pytest.raises(SettingError, match=re.escape("step 'answer' has no option 'fats' (did you mean \"fast\"?)")):
        option_arcs(labelled(), {"answer": "fats"})


def test_a_number_that_may_be_a_name_is_not_guessed() -> None:
    mdp = MDP.from_arrays([[[0, 0, 0]]])._replaced(action_labels=("2", "1", "0"))
    assert mdp.path({0: 1}).tolist() == mdp.path({0: "1"}).tolist() == [1]
    assert mdp.path({0: "2"}).tolist() == [0]
    with pytest.raises(PathError, match=re.escape("2 may be the option number 2 or the one called '2'; write")):
        mdp.path({0: 2})


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("ab", "the names of steps must be a list of texts, not 'ab'"),
        (("a",), "there are 2 steps but 1 names of steps; give one per step"),
        (("a", "a"), "two steps are both called 'a'; names of steps differ"),
        (("a", 1), "the name of a step must be text and not empty, not 1"),
    ],
)
def test_names_of_steps_are_checked(steps: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        labelled(steps)
