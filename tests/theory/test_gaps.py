"""Gaps against listing every path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Gaussian, Instance
from surepath.errors import SettingError
from surepath.theory import gaps
from tests.naive.gaps import return_gaps, returns, value_gaps
from tests.strategies import arc_values, mdps

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(["uniform", "ties"])


@pytest.mark.pure
@settings(max_examples=300, deadline=None)
@given(mdps(), seeds, kinds, st.sampled_from([1.0, 1e-6, 1e8]))
def test_gaps_match_enumeration(mdp: MDP, seed: int, kind: str, size: float) -> None:
    means = size * arc_values(mdp, seed, kind)
    found = gaps(Instance(mdp, Gaussian(means)))
    table = returns(mdp, means)
    best = max(table.values())
    assert found.optimal_return == pytest.approx(best)
    assert found.deterministic_return == pytest.approx(return_gaps(mdp, means), abs=1e-11 * size)
    assert found.value == pytest.approx(value_gaps(mdp, means), abs=1e-11 * size)
    assert found.return_gap == pytest.approx(found.deterministic_return / mdp.horizon)
    assert (found.value <= found.deterministic_return + found.tolerance).all()
    optimal = [p for p, v in table.items() if v >= best - found.tolerance]
    assert tuple(found.optimal_path) in optimal
    assert found.unique == (len(optimal) == 1)
    positive = found.deterministic_return[found.deterministic_return > 0]
    assert found.minimum == (positive.min(initial=np.inf) if len(optimal) == 1 else 0.0)


@pytest.mark.pure
@settings(max_examples=200, deadline=None)
@given(mdps(), seeds, kinds, st.sampled_from([0.0, 0.2, 0.5, 1.0, 10.0]))
def test_near_optimal_sets_match_enumeration(mdp: MDP, seed: int, kind: str, epsilon: float) -> None:
    means = arc_values(mdp, seed, kind)
    found = gaps(Instance(mdp, Gaussian(means)))
    table = returns(mdp, means)
    near = [p for p, v in table.items() if v >= max(table.values()) - epsilon - found.tolerance]
    touched = {e for p in near for e in p}
    assert set(np.flatnonzero(found.near_optimal(epsilon)).tolist()) == touched
    least = found.stage_minimum(epsilon)
    for h in range(mdp.horizon):
        stage = range(int(mdp.stage_arc[h]), int(mdp.stage_arc[h + 1]))
        positive = [found.deterministic_return[e] for e in stage if found.deterministic_return[e] > 0]
        expected = min(positive, default=np.inf) if len(touched & set(stage)) == 1 else 0.0
        assert least[h] == expected


def test_costs_are_turned() -> None:
    table = [[[0, 1], [0, 0]], [[0, 0], [0, 0]]]
    rising = gaps(Instance(MDP.from_arrays(table), Gaussian([1, 2, 3, 4, 5, 7])))
    falling = gaps(Instance(MDP.from_arrays(table, direction="minimize"), Gaussian([-1, -2, -3, -4, -5, -7])))
    assert rising.deterministic_return.tolist() == falling.deterministic_return.tolist() == [4, 0, 5, 4, 2, 0]
    assert (rising.optimal_return, falling.optimal_return) == (9, -9)
    assert rising.state_value.tolist() == [9, 4, 7]
    assert falling.action_value.tolist() == [-5, -9, -3, -4, -5, -7]


def test_rounding_does_not_split_a_tie() -> None:
    # 0.1 + 0.2 and 0.3 differ in the last bit.
    mdp = MDP.from_arrays(
        [[[0, 1], [0, 0]], [[0, 0], [0, 0]]], available=np.array([[[1, 1], [1, 0]], [[1, 0], [1, 0]]]) == 1
    )
    found = gaps(Instance(mdp, Gaussian([0.1, 0.3, 0.2, 0.0])))
    assert not found.unique
    assert found.deterministic_return.tolist() == [0, 0, 0, 0]
    assert found.minimum == 0


def test_an_mdp_is_not_enough() -> None:
    with pytest.raises(SettingError, match="gaps need an Instance, with its true means, not MDP"):
        gaps(MDP.from_arrays([[[0]]]))  # type: ignore[arg-type]
