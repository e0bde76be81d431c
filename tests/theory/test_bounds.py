"""Each bound against its formula, one arc at a time; its conditions; its messages."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Gaussian, Instance
from surepath.errors import ProblemError, SettingError
from surepath.theory import (
    gap_complexity,
    is_tree,
    lower_bound,
    tree_lower_bound,
    tree_upper_bound,
    upper_bound,
    worst_case_lower_bound,
    worst_case_upper_bound,
)
from tests.naive import bounds as naive
from tests.naive.flows import least_episodes
from tests.strategies import arc_values, mdps

seeds = st.integers(0, 2**32 - 1)
epsilons = st.sampled_from([0.25, 0.5, 0.75, 1.0, 3.0])


def tree(branching: int, horizon: int) -> MDP:
    """A full tree: node j of a stage leads to nodes branching * j + a."""
    width = branching**horizon
    ahead = np.arange(width)[None, :, None] * branching + np.arange(branching)[None, None, :]
    return MDP.from_arrays(np.broadcast_to(ahead % width, (horizon, width, branching)).copy())


@settings(max_examples=250, deadline=None)
@given(mdps(), seeds, epsilons, st.sampled_from([0.01, 0.1, 0.3]), st.booleans())
def test_theorem_1(mdp: MDP, seed: int, epsilon: float, delta: float, sharp: bool) -> None:
    means = arc_values(mdp, seed, "ties")
    sigma = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], mdp.n_arcs)
    found = lower_bound(Instance(mdp, Gaussian(means, sigma)), epsilon, delta, sharp=sharp)
    local = naive.theorem_1(mdp, means, sigma, epsilon, delta, sharp)
    assert found.local == pytest.approx(local, rel=1e-12)
    assert found.value == pytest.approx(least_episodes(mdp, np.array(local)), rel=1e-6, abs=1e-6)
    assert found.largest_stage == pytest.approx(max(sum(local[e] for e in arcs) for arcs in naive.stages(mdp)))
    assert found.total == pytest.approx(sum(local))
    assert found.local[found.cut].sum() == pytest.approx(found.value)
    if sharp:
        assert (found.local >= lower_bound(Instance(mdp, Gaussian(means, sigma)), epsilon, delta).local).all()


@settings(max_examples=100, deadline=None)
@given(mdps(), seeds)
def test_epsilon_zero_is_finite_exactly_when_the_optimum_is_unique(mdp: MDP, seed: int) -> None:
    means = arc_values(mdp, seed, "ties")
    found = lower_bound(Instance(mdp, Gaussian(means)), 0.0, 0.05)
    local = naive.theorem_1(mdp, means, np.ones(mdp.n_arcs), 0.0, 0.05)
    assert found.local == pytest.approx(local)
    assert np.isinf(found.value) == np.isinf(local).any()
    assert (np.isinf(found.flow) >= np.isinf(local)).all()


@settings(max_examples=150, deadline=None)
@given(mdps(), seeds, epsilons, st.sampled_from([0.01, 0.3]))
def test_upper_bounds(mdp: MDP, seed: int, epsilon: float, delta: float) -> None:
    means = arc_values(mdp, seed, "ties")
    sigma, n, horizon = 1.5, mdp.n_arcs, mdp.horizon
    instance = Instance(mdp, Gaussian(means, sigma))
    visits = naive.coverage_visits(mdp, means, sigma, epsilon, delta)
    flow = least_episodes(mdp, np.array(visits))
    static = upper_bound(instance, epsilon, delta, sampling="static-max-coverage")
    greedy = upper_bound(instance, epsilon, delta)
    assert static.local == pytest.approx(visits, rel=1e-12)
    assert static.value == pytest.approx(2 * (log(max(visits)) + 1) * flow, rel=1e-6)  # type: ignore[operator]
    assert greedy.value == pytest.approx((log(horizon) + 1) * static.value, rel=1e-12)
    published = upper_bound(instance, epsilon, delta, formula="published")
    assert published.local == pytest.approx(naive.coverage_visits(mdp, means, sigma, epsilon, delta, union=4))
    assert published.value <= greedy.value
    extra = 8 * log(16 * n * sigma * horizon * log(4 * n / delta) / epsilon)
    sums = sum(1 / d**2 for d in naive.upper_gap(mdp, means, epsilon))
    expected = 32 * sigma**2 * horizon**2 * sums * (log(4 * n / delta) + extra) + n + 1
    assert upper_bound(instance, epsilon, delta, sampling="max-diameter").value == pytest.approx(expected)
    assert gap_complexity(instance, epsilon).sum() == pytest.approx(naive.value_complexity(mdp, means, epsilon))
    assert lower_bound(instance, epsilon, delta).value <= static.value


@pytest.mark.parametrize(("branching", "horizon"), [(2, 1), (2, 3), (3, 3)])
def test_tree_theorems(branching: int, horizon: int) -> None:
    mdp = tree(branching, horizon)
    means = arc_values(mdp, 4, "ties")
    sigma, epsilon, delta, n = 0.5, 0.5, 0.05, mdp.n_arcs
    instance = Instance(mdp, Gaussian(means, sigma))
    assert is_tree(mdp)
    local = naive.theorem_1(mdp, means, np.full(n, sigma), epsilon, delta)
    stages = naive.stages(mdp)
    expected = max((horizon - h) * sum(local[e] for e in arcs) for h, arcs in enumerate(stages))
    assert tree_lower_bound(instance, epsilon, delta) == pytest.approx(expected)
    keen = naive.theorem_1(mdp, means, np.full(n, sigma), epsilon, delta, sharp=True, third=2.4)
    expected = max((horizon - h) * sum(keen[e] for e in arcs) for h, arcs in enumerate(stages))
    assert tree_lower_bound(instance, epsilon, delta, sharp=True) == pytest.approx(expected)
    assert tree_lower_bound(instance, epsilon, delta, sharp=True) >= tree_lower_bound(instance, epsilon, delta)
    visits = naive.coverage_visits(mdp, means, sigma, epsilon, delta)
    for rule in ("max-coverage", "static-max-coverage"):
        expected = 2 * max(sum(visits[e] for e in arcs) for arcs in stages)
        assert tree_upper_bound(instance, epsilon, delta, sampling=rule) == pytest.approx(expected)
    extra = 8 * log(32 * sigma * n * horizon * log(4 * n / delta) / epsilon)
    gap = naive.upper_gap(mdp, means, epsilon)
    lead = 128 * sigma**2 * horizon**2 * (log(4 * n / delta) + extra)
    expected = max(sum(lead / gap[e] ** 2 + 2 for e in arcs) for arcs in stages)
    assert tree_upper_bound(instance, epsilon, delta, sampling="max-diameter") == pytest.approx(expected)


def test_the_tree_bound_takes_the_least_sigma_below_an_arc() -> None:
    mdp = tree(2, 2)
    means = np.array([0, 1, 0, 0.5, 0, 2])
    sigma = np.array([2.0, 2.0, 1.0, 2.0, 2.0, 2.0])
    expected = (
        log(5)
        / 4
        * max(
            2 * (1.0 / 1**2 / max(3 - 0.5, 0.1) ** 2 * 1 + 4 / 2.5**2),
            1 / 3**2 + 4 / 2.5**2 + 4 / 2**2 + 4 / 2**2,
        )
    )
    assert tree_lower_bound(Instance(mdp, Gaussian(means, sigma)), 0.1, 0.05) == pytest.approx(expected)


def test_worst_cases() -> None:
    published = worst_case_lower_bound(4, 2, 6, 0.5, 0.01, sigma=3, formula="published")
    assert published == pytest.approx(9 * 4 * 2 * 36 * log(25) / 18)
    assert worst_case_lower_bound(4, 2, 6, 0.5, 0.01) == pytest.approx(4 * 2 * 4 * log(25) / (8 * 0.25))
    assert worst_case_lower_bound(4, 2, 6, 0.5, 0.01, sigma=3) == pytest.approx(9 * 4 * 2 * 4 * log(25) / 2)
    assert worst_case_lower_bound(4, 2, 6, 0.5, 0.4) == 0
    size = log(4 * 24 / 0.1)
    lead = 256 * 2 * 3 * 16 / 0.25
    expected = lead * (size + 4 * log(512 * 2 * 3 * 16 * size / 0.25)) + 8 * 24 + 2
    assert worst_case_upper_bound(2, 3, 4, 0.5, 0.1) == pytest.approx(expected)
    lead = 128 * 2 * 3 * 16 / 0.25
    expected = lead * (size + 4 * log(256 * 2 * 3 * 16 * size / 0.25)) + 2 * 24 + 1
    assert worst_case_upper_bound(2, 3, 4, 0.5, 0.1, sampling="max-diameter") == pytest.approx(expected)
    assert worst_case_upper_bound(2, 3, 4, 0, 0.1) == inf
    size = log(4 * 15 / 0.1)
    lead = 256 * 15 * 4 / 0.25
    expected = lead * (size + 4 * log(2 * lead * size)) + 8 * 15 + 2
    assert worst_case_upper_bound(2, 3, 4, 0.5, 0.1, arcs=15) == pytest.approx(expected)
    assert worst_case_upper_bound(2, 3, 4, 0.5, 0.1, arcs=24) == worst_case_upper_bound(2, 3, 4, 0.5, 0.1)
    assert worst_case_upper_bound(2, 3, 4, 0.5, 0.1, sigma=0.0) == 8 * 24 + 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda i: lower_bound(i.mdp, 0.1, 0.1), SettingError, "a bound needs an Instance"),
        (lambda i: lower_bound(i, -1, 0.1), SettingError, "epsilon must be 0 or more"),
        (lambda i: lower_bound(i, 0.1, 1.0), SettingError, "delta must lie strictly"),
        (lambda i: lower_bound(i, 0.1, 0.1, sigma=-1), SettingError, "sigma must be 0 or more"),
        (lambda i: upper_bound(i, 0.1, 0.1, sampling="coverage"), SettingError, "sampling 'coverage' is not known"),
        (lambda i: tree_lower_bound(i, 0.1, 0.1), ProblemError, "2 arcs lead to stage 1, state '0'"),
        (lambda i: tree_upper_bound(i, 0.1, 0.1), ProblemError, "this bound holds for trees"),
        (lambda i: worst_case_lower_bound(6, 2, 9, 0.1, 0.1), SettingError, "6 is not a power of two"),
        (
            lambda i: worst_case_lower_bound(8, 2, 8, 0.1, 0.1, formula="published"),
            SettingError,
            r"H >= 3 log2\(S\) = 9 stages, not 8",
        ),
        (lambda i: worst_case_lower_bound(8, 2, 3, 0.1, 0.1), SettingError, r"H > log2\(S\) = 3 stages, not 3"),
        (lambda i: worst_case_lower_bound(8, 2, 9, 0, 0.1), SettingError, "needs epsilon above 0"),
        (
            lambda i: worst_case_lower_bound(8, 2, 9, 0.1, 0.1, sigma=-1),
            SettingError,
            "sigma must be 0 or more, not -1",
        ),
        (
            lambda i: worst_case_upper_bound(8, 2, 9, 0.1, 0.1, sigma=-1),
            SettingError,
            "sigma must be 0 or more, not -1",
        ),
        (
            lambda i: worst_case_upper_bound(8, 2, 9, 0.1, 0.1, sigma=1e-200),
            SettingError,
            "sigma must be 0 or at least 1e-100, since its square would be lost to rounding, not 1e-200",
        ),
        (lambda i: worst_case_upper_bound(2, 2, 3, 0.1, 0.1, arcs=13), SettingError, "arcs must be at most 12"),
        (lambda i: upper_bound(i, 0.1, 0.1, formula="x"), SettingError, "formula 'x' is not known"),
        (lambda i: worst_case_lower_bound(8, 1, 9, 0.1, 0.1), SettingError, "actions must be at least 2"),
    ],
)
def test_messages(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(Instance(MDP.from_arrays([[[0, 0]], [[0, 0]]]), Gaussian(np.arange(4.0))))  # type: ignore[call-arg]
