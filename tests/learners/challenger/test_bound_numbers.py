"""Every number of the bound is a setting: it rebuilds the bound whatever the defaults are; nonsense is refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Challenger
from surepath.errors import SettingError
from surepath.learners.base import build


def assert_same(mine: Any, theirs: Any) -> None:
    """Equal bit by bit, tuples of arrays part by part."""
    if isinstance(mine, tuple):
        for one, other in zip(mine, theirs, strict=True):
            assert_same(one, other)
    else:
        assert np.array_equal(np.asarray(mine), np.asarray(theirs))


def test_another_epsilon_gets_the_bound_that_suits_it_unless_one_was_given() -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 3), dtype=int))
    learner = Challenger(mdp, 0.2, 0.1, 1.0, dependence="independent")
    assert learner.fresh(0.5).settings() == Challenger(mdp, 0.5, 0.1, 1.0, dependence="independent").settings()
    again = build(learner.settings(), mdp)
    assert again.fresh(0.5).settings() == Challenger(mdp, 0.5, 0.1, 1.0, dependence="independent").settings()
    bound = learner.settings()["bound"]
    bound["rho"] = 0.3
    own = Challenger(mdp, 0.2, 0.1, 1.0, bound=bound, dependence="independent")
    assert own.fresh(0.5).settings()["bound"] == bound
    bound["entries"][0]["weight"] = 1e-9  # what was handed out is a copy
    assert own.settings()["bound"]["entries"][0]["weight"] == learner.bound["entries"][0]["weight"]


def _set(bound: dict[str, Any], place: str, value: Any) -> None:
    *way, last = place.split(".")
    inner: Any = bound
    for key in way:
        inner = inner[int(key) if key.isdigit() else key]
    inner[last] = value


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("entries.0.weight", 0.9, "the weights of a bound must sum to at most 1, not 1.14"),
        ("entries.1.weight", -0.1, "the weight of an entry must be above 0, not -0.1"),
        ("entries.0.scale", -4.0, "the scale of an entry must be above 0, not -4"),
        ("entries.0.kind", "halfnormal", "kind of entry 'halfnormal' is not known (did you mean \"half-normal\"?)"),
        ("entries.0.kind", "normal", "kind of entry 'normal' is not known"),
        ("entries.0.prior", "none", "prior of an entry 'none' is not known"),
        ("entries.0.prior", "excursion", 'either all entries of a bound have the prior "excursion" or none has'),
        ("entries.3.trials", -4.0, "the trials of an entry must be above 0, not -4"),
        ("entries.3.slope", 0.0, "the slope of an entry must be above 0, not 0"),
        ("entries.3.steadiness", -1, "the steadiness of an entry must be above 0, not -1"),
        ("entries.3.flow", "designed", "flow of an entry 'designed' is not known (did you mean \"design\"?)"),
        ("entries", [], "the entries of a bound are a list of at least one"),
        ("entries.0.c", 3.0, "entry of the bound must have exactly the keys"),
        ("rival.factor", 0.0, "the factor of the rival must be above 0, not 0"),
        ("incumbent.power", "half", "power of the incumbent must be a number, not 'half'"),
        ("least", -1.0, "the least c must be above 0, not -1"),
        ("most", 0.5, "the least c must not exceed the most; got 1 and 0.5"),
        ("rho", 1.0, "rho must lie strictly between 0 and 1, not 1"),
        ("rho", 0.0, "rho must lie strictly between 0 and 1, not 0"),
        ("ratio", 1.0, "the ratio of the slopes must lie between 1.001 and 100, not 1"),
        ("beta", 1.0, "bound must have exactly the keys"),
    ],
)
def test_numbers_that_make_no_bound_are_refused(place: str, value: Any, message: str) -> None:
    mdp = MDP.from_arrays(np.zeros((2, 1, 3), dtype=int))
    bound = copy.deepcopy(Challenger(mdp, 0.2, 0.1, 1.0, dependence="independent").bound)
    _set(bound, place, value)
    with pytest.raises(SettingError) as caught:
        Challenger(mdp, 0.2, 0.1, 1.0, bound=bound, dependence="independent")
    assert message in str(caught.value)


def test_a_bound_is_a_dict() -> None:
    with pytest.raises(SettingError, match="bound must be a dict with entries, rival"):
        Challenger(MDP.from_arrays([[[0, 0]]]), 0.2, 0.1, 1.0, bound=[1], dependence="independent")  # type: ignore[arg-type]
