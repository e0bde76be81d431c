"""Every number of the bound is a setting: it rebuilds the bound whatever the defaults are; nonsense is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Challenger
from surepath.errors import SettingError
from surepath.learners.base import build


def test_another_epsilon_gets_the_bound_that_suits_it_unless_one_was_given() -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 3), dtype=int))
    learner = Challenger(mdp, 0.2, 0.1, 1.0, dependence="independent")
    assert learner.fresh(0.5).settings() == Challenger(mdp, 0.5, 0.1, 1.0, dependence="independent").settings()
    again = build(learner.settings(), mdp)
    assert again.fresh(0.5).settings() == Challenger(mdp, 0.5, 0.1, 1.0, dependence="independent").settings()
    bound = learner.settings()["bound"]
    bound[0]["weight"] = 0.3
    own = Challenger(mdp, 0.2, 0.1, 1.0, bound=bound, dependence="independent")
    assert own.fresh(0.5).settings()["bound"] == bound
    bound[0]["weight"] = 1e-9  # what was handed out is a copy
    assert own.settings()["bound"][0]["weight"] == 0.3


@pytest.mark.parametrize(
    ("entry", "key", "value", "message"),
    [
        (0, "weight", 0.9, "the weights of a bound must sum to at most 1, not 1.14"),
        (1, "weight", -0.1, "the weight of an entry must be above 0, not -0.1"),
        (0, "kind", "halfnormal", "kind of an entry 'halfnormal' is not known (did you mean \"half-normal\"?)"),
        (0, "prior", "none", "prior of an entry 'none' is not known"),
        (0, "prior", "excursion", 'either all entries of a bound have the prior "excursion" or none has'),
        (0, "prior", "stages", 'the prior "stages" is that of dependence="any", and its only one'),
        (3, "trials", -4.0, "the trials of an entry must be above 0, not -4"),
        (3, "per_visit", "high", "per_visit of an entry must be a number, not 'high'"),
        (3, "flow", "designed", "flow of an entry 'designed' is not known (did you mean \"design\"?)"),
        (0, "c", 3.0, "an entry of a bound is a dict with kind, prior, weight, scale, not {"),
    ],
)
def test_numbers_that_make_no_bound_are_refused(entry: int, key: str, value: Any, message: str) -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 3), dtype=int))
    bound = Challenger(mdp, 0.2, 0.1, 1.0, dependence="independent").settings()["bound"]
    bound[entry][key] = value
    with pytest.raises(SettingError) as caught:
        Challenger(mdp, 0.2, 0.1, 1.0, bound=bound, dependence="independent")
    assert message in str(caught.value)


@pytest.mark.parametrize("bound", [{"entries": []}, [], "stages"])
def test_a_bound_is_a_list_of_entries(bound: Any) -> None:
    with pytest.raises(SettingError, match="a bound is a list of entries, at least one"):
        Challenger(MDP.from_arrays([[[0, 0]]]), 0.2, 0.1, 1.0, bound=bound, dependence="independent")
