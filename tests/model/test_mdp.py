"""The MDP and its instances: counts, order, best paths, regret and identity against plain enumeration."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP, Gaussian, Instance
from surepath.errors import PathError, ProblemError
from tests.naive.paths import all_paths
from tests.strategies import arc_values, mdps

pytestmark = pytest.mark.pure


@given(mdps())
def test_arcs_and_paths_are_those_of_enumeration(mdp: MDP) -> None:
    rows, paths = list(zip(*mdp.arcs)), all_paths(mdp)
    assert rows == sorted(rows)  # by stage, state, action
    assert [mdp.arc(*map(int, row)) for row in rows] == list(range(mdp.n_arcs))
    assert {arc for path in paths for arc in path} == set(range(mdp.n_arcs))
    assert mdp.n_paths == len(paths)
    assert mdp.log_paths == pytest.approx(np.log(len(paths)))


def test_equal_content_is_equal_and_hashes_alike() -> None:
    table = [[[0, 1], [1, 0]], [[0, 0], [0, 0]]]
    one, two = MDP.from_arrays(table), MDP.from_arrays(np.array(table))
    assert one == two
    assert hash(one) == hash(two)
    assert one != MDP.from_arrays(table, initial_state=1)
    with pytest.raises(ValueError, match="read-only"):
        one.target[0] = 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"next_state": [[0, 1]]}, r"shape \[H, S, A\]"),
        ({"next_state": np.zeros((0, 1, 1), int)}, "at least one stage"),
        ({"next_state": [[[0, 7]], [[0, 0]]]}, "leads to state 7; states are 0..0"),
        ({"next_state": [[[0]]], "initial_state": 3}, "initial_state must be a state"),
        ({"next_state": [[[0, 1], [0]]]}, "its rows differ in length"),
        ({"next_state": [[[0]]], "initial_state": 0.0}, "initial_state must be a whole number, not 0.0"),
        ({"next_state": [[[0]]], "available": [[[1]]]}, "available must be bool"),
        ({"next_state": [[[0]]], "available": [[[True, True]]]}, r"must be bool \[1, 1, 1\]; got bool"),
        ({"next_state": [[[0]]], "direction": "maximise"}, 'did you mean "maximize"'),
    ],
)
def test_bad_tables_are_refused_in_words(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MDP.from_arrays(**arguments)


def test_an_mdp_never_changes() -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    with pytest.raises(AttributeError, match="an MDP never changes: 'horizon' cannot be set; build another MDP"):
        mdp.horizon = 3
    assert mdp.log_paths == pytest.approx(np.log(2))  # values computed late still find their place


@given(mdps())
def test_copies_are_equal_and_as_unchangeable(mdp: MDP) -> None:
    for other in (pickle.loads(pickle.dumps(mdp)), copy.deepcopy(mdp), copy.copy(mdp)):
        assert other == mdp
        assert not other.target.flags.writeable


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((2, 0, 0), "a stage is a whole number 0..1, not 2"),
        ((0, 1.5, 0), "give the state as a whole number or a name, not 1.5"),
        ((0, "s", 0), "no state is called 's'; they have numbers here"),
        ((0, 1, 0), "state 1 cannot be reached at step 1"),
        ((1, 1, 7), "step 2, state 1 has no option 7; it has: 0, 1"),
        ((0, 0, True), "give the option as a whole number or a name, not True"),
    ],
)
def test_wrong_places_are_refused_in_words(place: Any, message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [0, 0]]]).arc(*place)


def test_unknown_names_get_a_suggestion() -> None:
    mdp = MDP.from_edges([(0, "start", "left", None)])
    with pytest.raises(ProblemError, match=re.escape("no state is called 'strat' (did you mean \"start\"?)")):
        mdp.arc(0, "strat", "left")
    with pytest.raises(ProblemError, match=re.escape("no option is called 'lfet' (did you mean \"left\"?)")):
        mdp.arc(0, "start", "lfet")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ([0], "a path is 2 arc numbers, one for each step; got shape (1,) of int64"),
        ([0, 99], "arc numbers run from 0 to 5; got [0, 99]"),
        ([0, 5], "not a path: option 1 of step 2 (state 1) is at place 2, but the plan is then at step 2, state '0'"),
    ],
)
def test_what_is_no_path_is_refused_in_words(path: Any, message: str) -> None:
    mdp = MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [0, 0]]])
    with pytest.raises(PathError, match=re.escape(message)):
        mdp.check_path(path)


def test_many_more_paths_than_numbers_can_hold() -> None:
    mdp = MDP.from_arrays(np.zeros((5000, 1, 3), dtype=np.int8))
    assert mdp.log_paths == pytest.approx(5000 * np.log(3))
    assert mdp.n_paths == 3**5000


@given(mdps(), st.integers(0, 1000), st.sampled_from(["uniform", "ties"]), st.sampled_from(["maximize", "minimize"]))
def test_best_path_and_regret_match_enumeration(world: MDP, seed: int, kind: str, direction: str) -> None:
    mdp = world._replaced(direction=direction)
    instance = Instance(mdp, Gaussian(arc_values(mdp, seed, kind)))
    returns = {path: instance.means[list(path)].sum() for path in all_paths(mdp)}
    best = (max if direction == "maximize" else min)(returns.values())
    assert instance.optimal_return == pytest.approx(best)
    assert instance.value_of(instance.best_path()) == pytest.approx(best)
    for path, value in returns.items():
        assert instance.value_of(path) == pytest.approx(value)
        assert instance.regret_of(path) == pytest.approx(abs(best - value))
