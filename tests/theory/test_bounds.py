"""Lower and upper bounds: enumerated, by other programs, and at the ends of their range."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Bernoulli, Design, Gaussian, Instance, families, simulate, theory
from surepath.errors import ProblemError, SettingError
from surepath.experiments.figures.hard import REFUTED
from surepath.theory import (
    is_tree,
    lower_bound,
    tree_lower_bound,
    tree_upper_bound,
    upper_bound,
    worst_case_lower_bound,
    worst_case_upper_bound,
)
from surepath.theory.bounds import summarize
from tests.naive import bounds as naive
from tests.naive.flows import least_episodes
from tests.naive.paths import all_paths
from tests.strategies import arc_values, mdps

# Each bound against its formula, one arc at a time; its conditions; its messages --------------------------------------

seeds = st.integers(0, 2**32 - 1)
epsilons = st.sampled_from([0.25, 0.5, 0.75, 1.0, 3.0])


def tree(branching: int, horizon: int) -> MDP:
    """A full tree: node j of a stage leads to nodes branching * j + a."""
    width = branching**horizon
    ahead = np.arange(width)[None, :, None] * branching + np.arange(branching)[None, None, :]
    return MDP.from_arrays(np.broadcast_to(ahead % width, (horizon, width, branching)).copy())


@settings(max_examples=250, deadline=None)
@given(mdps(), seeds, epsilons, st.sampled_from([0.01, 0.1, 0.3]))
def test_theorem_1(mdp: MDP, seed: int, epsilon: float, delta: float) -> None:
    means = arc_values(mdp, seed, "ties")
    sigma = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], mdp.n_arcs)
    found = lower_bound(Instance(mdp, Gaussian(means, sigma)), epsilon, delta)
    local = naive.theorem_1(mdp, means, sigma, epsilon, delta)
    assert found.local == pytest.approx(local, rel=1e-12)
    assert found.value == pytest.approx(least_episodes(mdp, np.array(local)), rel=1e-6, abs=1e-6)
    assert max(sum(local[e] for e in arcs) for arcs in naive.stages(mdp)) <= found.value * (1 + 1e-9)
    assert found.value <= sum(local) * (1 + 1e-9)
    assert found.local[found.cut].sum() == pytest.approx(found.value)


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
    extra = 8 * log(16 * n * sigma * horizon * log(4 * n / delta) / epsilon)
    sums = sum(1 / d**2 for d in naive.upper_gap(mdp, means, epsilon))
    expected = 32 * sigma**2 * horizon**2 * sums * (log(4 * n / delta) + extra) + n + 1
    assert upper_bound(instance, epsilon, delta, sampling="max-diameter").value == pytest.approx(expected)
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
        * max(2 * (1.0 / 1**2 / max(3 - 0.5, 0.1) ** 2 * 1 + 4 / 2.5**2), 1 / 3**2 + 4 / 2.5**2 + 4 / 2**2 + 4 / 2**2)
    )
    assert tree_lower_bound(Instance(mdp, Gaussian(means, sigma)), 0.1, 0.05) == pytest.approx(expected)


def test_worst_cases() -> None:
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
        (lambda i: worst_case_lower_bound(8, 2, 3, 0.1, 0.1), SettingError, r"H > log2\(S\) = 3 stages, not 3"),
        (lambda i: worst_case_lower_bound(8, 2, 9, 0, 0.1), SettingError, "needs epsilon above 0"),
        (
            lambda i: worst_case_upper_bound(8, 2, 9, 0.1, 0.1, sigma=1e-200),
            SettingError,
            "sigma must be 0 or at least 1e-100, since its square would be lost to rounding, not 1e-200",
        ),
        (lambda i: worst_case_upper_bound(2, 2, 3, 0.1, 0.1, arcs=13), SettingError, "arcs must be at most 12"),
        (lambda i: worst_case_lower_bound(8, 1, 9, 0.1, 0.1), SettingError, "actions must be at least 2"),
    ],
)
def test_messages(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(Instance(MDP.from_arrays([[[0, 0]], [[0, 0]]]), Gaussian(np.arange(4.0))))  # type: ignore[call-arg]


# The worst case: the published bound is refuted by a list of plays, the corrected one is not --------------------------


def test_the_published_bound_is_above_what_a_fixed_list_needs() -> None:
    """The paper's own instance: two states, two actions, 576 stages."""
    mdp = families.minimax_hard(2, 2, 576).mdp
    enough = theory.design_episodes(mdp, 6.0, 1e-150)
    published = 2 * 2 * 576**2 * log(1 / 4e-150) / (72 * 6.0**2)
    assert (enough, round(published)) == REFUTED
    assert theory.worst_case_lower_bound(2, 2, 576, 6.0, 1e-150) < enough


@pytest.mark.parametrize("states", [2, 4, 8])
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-12, 1e-100])
def test_no_list_contradicts_the_corrected_bound(states: int, delta: float) -> None:
    for horizon in (4, 9, 30):
        mdp = families.minimax_tree(states, 2, horizon).mdp
        assert theory.worst_case_lower_bound(states, 2, horizon, 1.0, delta) < theory.design_episodes(mdp, 1.0, delta)


def test_an_episode_visits_leaves_as_often_as_the_proof_says() -> None:
    """H - log2 S visits of a leaf in every episode of the tree; of the waiting instance, one entry is counted often."""
    mdp = families.minimax_tree(4, 3, 6).mdp
    leaf = mdp.node_state[mdp.source] >= 2
    assert {int(leaf[list(path)].sum()) for path in all_paths(mdp)} == {6 - 2}
    pairs = {(int(s), int(a)) for s, a in zip(mdp.node_state[mdp.source][leaf], mdp.action[leaf])}
    assert len(pairs) == 4 * 3 // 2


def test_the_design_is_right_on_the_trees() -> None:
    instance = families.minimax_tree(4, 2, 6)
    assert Design(instance.mdp, 1.0, 0.1, 1.0).schedule.episodes == theory.design_episodes(instance.mdp, 1.0, 0.1)
    found = simulate({"name": "Design", "epsilon": 1.0, "delta": 0.1}, instance, 20, 0)
    assert np.unique(found.tau).tolist() == [theory.design_episodes(instance.mdp, 1.0, 0.1)]


# The list of all bounds: order, brackets, what does not apply ---------------------------------------------------------


def by_name(instance: Instance, **options: Any) -> dict[str, Any]:
    return {row.name.strip(): row.value for row in summarize(instance, 0.2, 0.05, **options).rows}


def test_every_bound_is_that_of_its_own_function() -> None:
    instance = families.paper_random(states=2, actions=2, horizon=3, seed=1)
    found = by_name(instance)
    assert found["Theorem 1"] == theory.lower_bound(instance, 0.2, 0.05).value
    assert found["T* kl(delta, 1 - delta)"] == pytest.approx(theory.characteristic_time(instance).bound(0.05), rel=0.01)
    assert found["worst case of this size"] == theory.worst_case_lower_bound(2, 2, 3, 0.2, 0.05)
    for rule in ("static-max-coverage", "max-coverage", "max-diameter"):
        assert found[f"EPRL {rule}"] == theory.upper_bound(instance, 0.2, 0.05, sampling=rule).value
    worst = theory.worst_case_upper_bound(2, 2, 3, 0.2, 0.05, sampling="max-diameter", arcs=instance.mdp.n_arcs)
    assert instance.mdp.n_arcs < 2 * 2 * 3
    assert found["EPRL max-diameter, worst case"] == worst
    assert found["tree theorem"] is None


def test_lower_bounds_are_claimed_for_gaussian_rewards_only() -> None:
    mdp = MDP.from_edges([(0, "s", "a", None), (0, "s", "b", None)])
    found = summarize(Instance(mdp, Gaussian([0.2, 0.8], 0.5)), 0.2, 0.05)
    assert found.gaussian
    assert not any("were Gaussian" in row.reading for row in found.rows)
    other = summarize(Instance(mdp, Bernoulli([0.2, 0.8])), 0.2, 0.05)
    assert not other.gaussian
    for row, same in zip(other.rows, found.rows, strict=True):
        assert row.value == same.value
        hedged = row.value is not None and (row.kind == "lower" or row.name.startswith("T*"))
        assert row.reading.startswith("if the noise were Gaussian with this sigma: ") == hedged
    known = MDP.from_edges([{"state": "s", "action": "a", "known": 1}, {"state": "s", "action": "b"}])
    assert summarize(Instance(known, Gaussian([0.0, 0.5])), 0.2, 0.05).gaussian


def test_special_cases_of_theorem_1() -> None:
    one_path = Instance(MDP.from_arrays([[[0]], [[0]]]), Gaussian([1.0, 2.0]))
    assert lower_bound(one_path, 0.1, 0.05).value == 0
    two = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.0, 1.0]))
    assert lower_bound(two, 0.1, 0.25).value == 0
    assert lower_bound(two, 0.1, 0.6).value == 0
    assert lower_bound(two, 0.1, 0.05).value == pytest.approx(2 * log(5) / 4)
    assert lower_bound(two, 0.1, 0.05, sigma=2.0).value == pytest.approx(2 * log(5))
