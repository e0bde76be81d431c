"""phi*(g) <= alpha H^2 phi*(c) + phi*(g'), number by number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Gaussian, Instance, families
from surepath.theory import compare_flows, lower_bound, upper_bound
from tests.naive import bounds as naive
from tests.naive.flows import least_episodes
from tests.strategies import arc_values, mdps


@settings(max_examples=100, deadline=None)
@given(mdps(), st.integers(0, 2**32 - 1), st.sampled_from([0.25, 1.0, 3.0]), st.sampled_from([1e-9, 0.01, 0.3]))
def test_the_comparison_is_that_of_the_formulas(mdp: MDP, seed: int, epsilon: float, delta: float) -> None:
    means = arc_values(mdp, seed, "ties")
    instance = Instance(mdp, Gaussian(means, 1.5))
    found = compare_flows(instance, epsilon, delta)
    granted = np.array(naive.coverage_visits(mdp, means, 1.5, epsilon, delta))
    needed = np.array(naive.theorem_1(mdp, means, np.full(mdp.n_arcs, 1.5), epsilon, delta))
    rest = granted - 128 * mdp.horizon**2 * needed
    assert (rest >= -1e-6).all()
    assert found.upper == pytest.approx(least_episodes(mdp, granted), rel=1e-6, abs=1e-5)
    assert found.lower == pytest.approx(least_episodes(mdp, needed), rel=1e-6, abs=1e-5)
    assert found.rest == pytest.approx(least_episodes(mdp, np.maximum(rest, 0)), rel=1e-6, abs=1e-5)
    assert found.upper <= found.bound * (1 + 1e-9)
    assert found.factor == 128 * mdp.horizon**2


def test_bounds_are_those_of_their_own_functions_and_may_be_infinite() -> None:
    instance = families.paper_random(seed=1)
    found = compare_flows(instance, 0.2, 0.05)
    assert found.upper == upper_bound(instance, 0.2, 0.05).flow_value
    assert found.lower == lower_bound(instance, 0.2, 0.05).value
    tied = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian(np.ones(2)))
    assert compare_flows(tied, 0.0, 0.05).bound == np.inf
    assert compare_flows(tied, 0.0, 0.3).lower == 0.0
