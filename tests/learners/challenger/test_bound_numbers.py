"""Every number of the bound is a setting: it rebuilds the bound whatever the defaults are; nonsense is refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from surepath import MDP, Challenger, families, simulate
from surepath.errors import SettingError
from surepath.learners.base import build
from surepath.learners.challenger import numbers as bound_numbers

OPTIONS: list[dict[str, Any]] = [
    {"epsilon": 0.3},
    {"epsilon": 0.0},
    {"epsilon": 0.3, "prior": "both"},
    {"epsilon": 0.3, "prior": "uniform"},
]


def other_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a later version might choose."""
    monkeypatch.setattr(bound_numbers, "DIVISORS", (3.0, 70.0))
    monkeypatch.setattr(bound_numbers, "WEIGHTS", (0.3, 0.4, 0.3))
    monkeypatch.setattr(bound_numbers, "EXACT_SCALES", (9000.0, 300.0, 20.0, 2.0))
    monkeypatch.setattr(bound_numbers, "EXACT_WEIGHTS", (0.1, 0.2, 0.3, 0.4))
    monkeypatch.setattr(bound_numbers, "RHO", 0.2)
    monkeypatch.setattr(bound_numbers, "TIES_WEIGHT", 0.2)
    monkeypatch.setattr(bound_numbers, "STEADINESS", 3.0)
    monkeypatch.setattr(bound_numbers, "RATIO", 1.5)
    monkeypatch.setattr(bound_numbers, "LEAST_C", 3.0)


def assert_same(mine: Any, theirs: Any) -> None:
    """Equal bit by bit, tuples of arrays part by part."""
    if isinstance(mine, tuple):
        for one, other in zip(mine, theirs, strict=True):
            assert_same(one, other)
    else:
        assert np.array_equal(np.asarray(mine), np.asarray(theirs))


@pytest.mark.parametrize("options", OPTIONS)
def test_old_settings_decide_as_before_under_new_defaults(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = families.chain(steps=3, options=3, sigma=0.2, seed=2)
    learner = Challenger(instance.mdp, delta=0.1, sigma=0.2, dependence="independent", **options)
    settings = json.loads(json.dumps(learner.settings()))  # as a study keeps them
    before = simulate(learner, instance, runs=4, seed=5, budget=4000)
    other_defaults(monkeypatch)
    again = build(settings, instance.mdp)
    assert isinstance(again, Challenger)
    assert_same(learner.pairs, again.pairs)
    after = simulate(again, instance, runs=4, seed=5, budget=4000)
    for what in ("tau", "path", "gap", "reason", "eliminated"):
        assert getattr(before, what).tolist() == getattr(after, what).tolist()
    new = Challenger(instance.mdp, delta=0.1, sigma=0.2, dependence="independent", **options)
    assert new.settings()["bound"] != settings["bound"]
    assert simulate(new, instance, runs=4, seed=5, budget=4000).tau.tolist() != before.tau.tolist()
    assert again.fresh(options["epsilon"]).settings() == settings


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
