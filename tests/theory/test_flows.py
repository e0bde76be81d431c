"""Minimum flows, covers and gaps beside programs over listed paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Gaussian, Instance
from surepath.errors import InfeasibleError, SettingError, SurepathError
from surepath.theory import gaps, minimum_flow, policy_cover
from surepath.theory.flows import _proved
from tests.naive.flows import largest_cut, least_episodes
from tests.naive.gaps import return_gaps, returns, value_gaps
from tests.strategies import arc_values, mdps

# Minimum flows against a linear program over paths and against every cut; the laws of flows; the messages -------------

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(["unit", "whole", "real", "sparse", "wild"])


def demands(mdp: MDP, seed: int, kind: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n = mdp.n_arcs
    return {
        "unit": np.ones(n),
        "whole": rng.integers(0, 6, n).astype(float),
        "real": rng.random(n),
        "sparse": rng.random(n) * (rng.random(n) < 0.3),
        "wild": np.exp(rng.uniform(-20, 20, n)),
    }[kind]


@pytest.mark.pure
@settings(max_examples=400, deadline=None)
@given(mdps(), seeds, kinds)
def test_value_is_that_of_the_program_over_paths_and_of_the_largest_cut(mdp: MDP, seed: int, kind: str) -> None:
    demand = demands(mdp, seed, kind)
    answer = minimum_flow(mdp, demand)
    # The program over paths is solved to a feasibility of 1e-7, absolute.
    assert answer.value == pytest.approx(least_episodes(mdp, demand), rel=1e-9, abs=1e-6 * max(1, demand.max()))
    if mdp.n_nodes <= 9:
        assert answer.value == pytest.approx(largest_cut(mdp, demand), rel=1e-12, abs=0)
    assert demand[answer.cut].sum() == pytest.approx(answer.value, rel=1e-12)
    assert (answer.flow >= demand).all()


@pytest.mark.pure
@settings(max_examples=300, deadline=None)
@given(mdps(), seeds, st.booleans(), st.floats(0.3, 1.5))
def test_capacities_against_the_program_over_paths(mdp: MDP, seed: int, whole: bool, looseness: float) -> None:
    rng = np.random.default_rng(seed)
    demand = demands(mdp, seed, "whole" if whole else "real")
    unlimited = minimum_flow(mdp, demand).flow
    capacity = np.maximum(demand, unlimited * looseness + rng.integers(0, 3, mdp.n_arcs))
    if whole:
        capacity = np.ceil(capacity)
    capacity[rng.random(mdp.n_arcs) < 0.2] = np.inf
    expected = least_episodes(mdp, demand, capacity)
    if expected is None:
        with pytest.raises(InfeasibleError, match="no flow meets the demands") as caught:
            minimum_flow(mdp, demand, capacity, integer=whole)
        assert blocked(mdp, demand, capacity, caught.value.cut)
        return
    answer = minimum_flow(mdp, demand, capacity, integer=whole)
    assert answer.value == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert (answer.flow <= capacity).all()


def blocked(mdp: MDP, demand: np.ndarray, capacity: np.ndarray, cut: tuple[int, ...]) -> bool:
    """Do the arcs of the cut alone, all others free, already rule out every flow?"""
    least, most = np.zeros(mdp.n_arcs), np.full(mdp.n_arcs, np.inf)
    least[list(cut)], most[list(cut)] = demand[list(cut)], capacity[list(cut)]
    return least_episodes(mdp, least, most) is None


@pytest.mark.pure
@settings(max_examples=150, deadline=None)
@given(mdps(max_states=5, max_actions=3, max_horizon=6), seeds, kinds, st.floats(0.01, 50))
def test_laws_of_flows(mdp: MDP, seed: int, kind: str, factor: float) -> None:
    one, two = demands(mdp, seed, kind), demands(mdp, seed + 1, kind)
    value = minimum_flow(mdp, one).value
    slack = 1 + 1e-12
    assert minimum_flow(mdp, one + two).value <= (value + minimum_flow(mdp, two).value) * slack
    assert minimum_flow(mdp, np.maximum(one, two)).value * slack >= value
    assert minimum_flow(mdp, factor * one).value == pytest.approx(factor * value, rel=1e-12)
    stages = np.add.reduceat(one, mdp.stage_arc[:-1])
    assert stages.max() <= value * slack
    assert value <= stages.sum() * slack


@pytest.mark.pure
@settings(max_examples=150, deadline=None)
@given(mdps(max_states=5, max_actions=3, max_horizon=6), seeds)
def test_whole_demand_gives_a_whole_flow_and_real_demand_the_same_value(mdp: MDP, seed: int) -> None:
    demand = np.random.default_rng(seed).integers(0, 9, mdp.n_arcs)
    answer = minimum_flow(mdp, demand, integer=True)
    assert isinstance(answer.value, int)
    assert answer.flow.dtype == np.int64
    assert answer.value == demand[answer.cut].sum()
    assert minimum_flow(mdp, demand).value == answer.value


@pytest.mark.pure
@settings(max_examples=150, deadline=None)
@given(mdps(max_states=4, max_actions=3, max_horizon=5), seeds)
def test_cover_visits_all_arcs_with_as_many_paths_as_the_flow(mdp: MDP, seed: int) -> None:
    arcs = np.flatnonzero(np.random.default_rng(seed).random(mdp.n_arcs) < 0.5)
    cover = policy_cover(mdp, arcs)
    for path in cover:
        mdp.check_path(path)
    assert set(arcs.tolist()) <= {int(e) for path in cover for e in path}
    wanted = np.zeros(mdp.n_arcs)
    wanted[arcs] = 1
    assert len(cover) == pytest.approx(least_episodes(mdp, wanted), abs=1e-6)


def test_a_wrong_answer_is_caught() -> None:
    mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    good = np.ones(4, dtype=np.int64)
    inside = np.array([True, False])
    assert _proved(mdp, good, None, good, inside).value == 2
    with pytest.raises(SurepathError, match="flow is not conserved; flow value 3 differs from cut value 2"):
        _proved(mdp, good, None, np.array([2, 1, 1, 1]), inside)
    with pytest.raises(SurepathError, match="a demand is not met"):
        _proved(mdp, good, None, np.array([2, 0, 1, 1]), inside)
    with pytest.raises(SurepathError, match="the cut does not hold the start"):
        _proved(mdp, good, None, good, np.array([False, True]))


def test_messages() -> None:
    mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    with pytest.raises(SettingError, match=r"demand must be 0 or more; option 1 of step 1 .*has -1"):
        minimum_flow(mdp, [0, -1, 0, 0])
    with pytest.raises(SettingError, match="integer=True needs whole numbers; the demand of option 0 of step 2"):
        minimum_flow(mdp, [0, 1, 0.5, 0], integer=True)
    with pytest.raises(SettingError, match="integer=True needs whole numbers; the capacity of option 0 of step 1"):
        minimum_flow(mdp, 0, [0.5, np.inf, 1, 1], integer=True)
    with pytest.raises(InfeasibleError, match="demands 2 but has capacity 1; raise the capacity") as caught:
        minimum_flow(mdp, [0, 2, 0, 0], 1)
    assert caught.value.cut == (1,)
    with pytest.raises(SettingError, match="must sum to at most 2"):
        minimum_flow(mdp, 2.0**60, integer=True)
    with pytest.raises(SettingError, match=r"arc numbers 0\.\.3; got 4"):
        policy_cover(mdp, [4])
    with pytest.raises(SettingError, match="arcs must be arc numbers"):
        policy_cover(mdp, np.array([0.5]))


# Gaps against listing every path --------------------------------------------------------------------------------------

gaps_kinds = st.sampled_from(["uniform", "ties"])


@pytest.mark.pure
@settings(max_examples=300, deadline=None)
@given(mdps(), seeds, gaps_kinds, st.sampled_from([1.0, 1e-6, 1e8]))
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
@given(mdps(), seeds, gaps_kinds, st.sampled_from([0.0, 0.2, 0.5, 1.0, 10.0]))
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


def test_rounding_does_not_split_a_tie() -> None:
    # 0.1 + 0.2 and 0.3 differ in the last bit.
    mdp = MDP.from_arrays(
        [[[0, 1], [0, 0]], [[0, 0], [0, 0]]], available=np.array([[[1, 1], [1, 0]], [[1, 0], [1, 0]]]) == 1
    )
    found = gaps(Instance(mdp, Gaussian([0.1, 0.3, 0.2, 0.0])))
    assert not found.unique
    assert found.deterministic_return.tolist() == [0, 0, 0, 0]
    assert found.minimum == 0
