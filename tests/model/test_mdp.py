"""The MDP: counts, order and identity against plain enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from surepath import MDP
from surepath.errors import ProblemError
from tests.naive.paths import all_paths
from tests.strategies import mdps


@given(mdps())
def test_number_of_paths_matches_enumeration(mdp: MDP) -> None:
    paths = all_paths(mdp)
    assert mdp.n_paths == len(paths)
    assert mdp.log_paths == pytest.approx(np.log(len(paths)))


@given(mdps())
def test_arcs_are_numbered_in_stage_state_action_order(mdp: MDP) -> None:
    rows = list(zip(*mdp.arcs))
    assert rows == sorted(rows)
    assert [mdp.arc(*map(int, row)) for row in rows] == list(range(mdp.n_arcs))


@given(mdps())
def test_every_arc_lies_on_a_path(mdp: MDP) -> None:
    assert {arc for path in all_paths(mdp) for arc in path} == set(range(mdp.n_arcs))


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
        ({"next_state": [[[0.5, 1.0]]]}, "whole numbers"),
        ({"next_state": np.zeros((0, 1, 1), int)}, "at least one stage"),
        ({"next_state": [[[0, 7]], [[0, 0]]]}, "leads to state 7; states are 0..0"),
        ({"next_state": [[[0]]], "initial_state": 3}, "initial_state must be a state"),
        ({"next_state": [[[0]], [[0]]], "available": [[[True]], [[False]]]}, "no available action"),
        ({"next_state": [[[0]]], "available": [[[1]]]}, "available must be bool"),
        ({"next_state": [[[0]]], "direction": "maximise"}, 'did you mean "maximize"'),
    ],
)
def test_bad_tables_are_refused_in_words(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MDP.from_arrays(**arguments)


def test_unknown_arc_names_what_there_is() -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    with pytest.raises(ProblemError, match="has no action 5; it has: 0, 1"):
        mdp.arc(0, 0, 5)
