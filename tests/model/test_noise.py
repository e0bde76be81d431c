"""Noise that nobody declared is never guessed: files and laws refuse, and name three ways to declare it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from surepath import Bounded, Gaussian, Instance
from surepath._checks import check_sigma
from surepath.errors import NoiseError, ProblemError, SettingError
from surepath.model.files import parse_json_problem, parse_problem_text
from surepath.model.mdp import MDP
from tests.model.sources.problem_texts import EDGE, problem

MEANS = [{**EDGE, "mean": 0.5}, {**EDGE, "action": "y", "mean": 0.25}]
WAYS_TO_DECLARE = (
    "Three ways to declare it: a sigma (the standard deviation of one score, or a bound on it); a range of scores "
    "(reward_range=(0, 1) in Python, low and high in a file; within it Challenger learns the noise); or a pilot: try "
    "each option a few times, see how far its scores scatter, and declare that as sigma"
)


@pytest.mark.parametrize("fields", [{}, {"law": "gaussian"}, {"epsilon": 0.1, "delta": 0.1}])
def test_a_file_with_means_and_no_noise_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(NoiseError) as error:
        parse_json_problem(problem(edges=MEANS, **fields), "p.json")
    assert str(error.value) == (
        "the problem file p.json: the noise of the scores is not declared (option 'x' of step 1 (state 'a') and "
        f"1 other option have no sigma and no range), and without it nothing can be proven. {WAYS_TO_DECLARE}"
    )


def test_a_caller_may_stand_in_for_what_the_file_leaves_open() -> None:
    bare = parse_problem_text(problem(edges=MEANS), "p.json", sigma=0.5)
    assert bare.instance is not None
    assert bare.instance.sigma.tolist() == [0.5, 0.5]
    assert bare == parse_json_problem(problem(edges=MEANS, sigma=0.5))
    mixed = parse_problem_text(problem(edges=[{**MEANS[0], "sigma": 0.1}, MEANS[1]]), "p.json", sigma=0.5)
    assert mixed.mdp.declared_sigma.tolist() == [0.1, 0.5]
    ranged = parse_problem_text(problem(edges=MEANS, low=0, high=1), "p.json", sigma=9.0)
    assert ranged.mdp.declared_sigma.tolist() == [0.5, 0.5]


SMALL = "sigma must be 0 or at least 1e-100, since its square would be lost to rounding"


@pytest.mark.parametrize("value", [5e-324, 1e-101, np.array([1.0, 1e-200])])
def test_a_sigma_too_small_to_square_is_refused(value: Any) -> None:
    with pytest.raises(SettingError, match=re.escape(SMALL)):
        check_sigma(value, 2)
    with pytest.raises(SettingError, match=re.escape(SMALL)):
        Instance(MDP.from_arrays([[[0, 0]]]), Gaussian(0.0, value))
    assert check_sigma([0.0, 1e-100], 2).tolist() == [0.0, 1e-100]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sigma": 1e-200}, f"{SMALL}, not 1e-200"),
        ({"edges": [{**EDGE, "sigma": 1e-200}]}, f"edges[0] (stage 0, state 'a', option 'x'): {SMALL}, not 1e-200"),
        ({"low": 0, "high": 1e-200}, "low and high must be equal or differ by 2e-100 or more"),
    ],
)
def test_a_file_keeps_the_same_law(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        parse_json_problem(problem(**fields), "p.json")


MASKED = np.ma.array([0.1, 0.2], mask=[0, 1])  # type: ignore[arg-type]
NO_NUMBERS: list[tuple[Any, str]] = [
    (MASKED, "values hidden by a mask"),
    (np.array([True, False]), "True or False"),
    ([0.5, True], "True"),
    (None, "None"),
]


@pytest.mark.parametrize(("value", "found"), NO_NUMBERS, ids=[found for _, found in NO_NUMBERS])
def test_what_is_no_number_is_refused_for_sigma_means_and_ranges(value: Any, found: str) -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    with pytest.raises(SettingError, match=re.escape(f"one for each option in each state; not {found}")):
        check_sigma(value, 2)
    with pytest.raises(ProblemError, match="the lowest score must be a number, or 2 numbers, one for each"):
        MDP.from_arrays([[[0, 0]]], reward_range=(value, 1.0))
    if "True" in found:  # a mean, or a demand, may be given as pass or fail
        assert Instance(mdp, Gaussian(value, 1.0)).means.tolist() == [float(x) for x in value]
        return
    with pytest.raises(ProblemError, match=re.escape(f"means must be numbers, not {found}")):
        Instance(mdp, Gaussian(value, 1.0))
    with pytest.raises(ProblemError, match=re.escape(f"low must be numbers, not {found}")):
        Instance(mdp, Bounded(value, 1.0))


def test_hidden_entries_of_tables_and_paths_are_not_used() -> None:
    table = np.ma.array([[[0, 0]]], mask=[[[0, 1]]])  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match=re.escape("next_state holds values hidden by a mask; a table must be full")):
        MDP.from_arrays(table)
    with pytest.raises(ValueError, match="a path is 1 arc numbers"):
        MDP.from_arrays([[[0, 0]]]).check_path(np.ma.array([0], mask=[1]))  # type: ignore[arg-type]
