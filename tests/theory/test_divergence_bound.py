"""Theorem 1 by divergences: least changes against a list of paths, divergences against convex programs, laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Bernoulli, Bounded, Drawn, Empirical, Gaussian, Instance
from surepath.errors import ProblemError
from surepath.theory import divergence_lower_bound, lower_bound
from surepath.theory.bounds import atoms, bounded, kl, nearest, shifts
from surepath.theory.gaps import checked_case
from tests.naive.divergence import least_change, nearest_on_a_grid
from tests.strategies import arc_values, mdps

seeds = st.integers(0, 2**32 - 1)
epsilons = st.sampled_from([0.25, 0.5, 0.75, 1.0])


@settings(max_examples=60, deadline=None)
@given(mdps(max_horizon=3), seeds, epsilons)
def test_the_changes_are_the_least_that_decide_the_answer(mdp: MDP, seed: int, epsilon: float) -> None:
    means = arc_values(mdp, seed, "ties")
    up, down = shifts(checked_case(Instance(mdp, Gaussian(means)), epsilon, 0.1))
    for arc in range(mdp.n_arcs):
        least = least_change(mdp, means, epsilon, arc, through=True)
        alone = np.isinf(up[arc])
        assert least == pytest.approx(0.0 if alone else up[arc], abs=1e-9)
        assert least_change(mdp, means, epsilon, arc, through=False) == pytest.approx(down[arc], abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(mdps(), seeds, epsilons, st.sampled_from([0.01, 0.1, 0.3, 0.6]), st.booleans())
def test_gaussian_rewards_give_at_least_the_papers_lemmas(
    mdp: MDP, seed: int, epsilon: float, delta: float, costs: bool
) -> None:
    means = arc_values(mdp, seed, "ties")
    sigma = np.random.default_rng(seed).choice([0.5, 2.0], mdp.n_arcs)
    ours = divergence_lower_bound(Instance(mdp, Gaussian(means, sigma)), epsilon, delta)
    assert (ours.local >= lower_bound(Instance(mdp, Gaussian(means, sigma)), epsilon, delta, sharp=True).local).all()
    turned = MDP(first=mdp.first, target=mdp.target, stage_node=mdp.stage_node, node_state=mdp.node_state,
                 action=mdp.action, direction="minimize")  # fmt: skip
    costly = divergence_lower_bound(Instance(turned, Gaussian(-means, sigma)), epsilon, delta)
    assert costly.local == pytest.approx(ours.local)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_the_nearest_bounded_law_is_that_of_a_convex_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 11)
    values = rng.choice(grid[:-1], rng.integers(1, 5), replace=False)
    values.sort()
    weights = rng.dirichlet(np.ones(len(values)))
    mean = float(weights @ values)
    goal = mean + (1 - mean) * float(rng.uniform(0.05, 0.8))
    assert bounded(values, weights, goal, 1.0) == pytest.approx(
        nearest_on_a_grid(values, weights, goal, grid), rel=1e-4, abs=1e-7
    )
    assert bounded(values, weights, goal, 1.0) >= kl(mean, goal) - 1e-9  # the two-valued law is the noisiest


@pytest.mark.parametrize("law", ["beta", "uniform"])
def test_continuous_laws_are_the_limit_of_their_values(law: str) -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    instance = Instance(mdp, Bounded(-1.0, 3.0, [0.5, 1.5], sampler=law))
    rng = np.random.default_rng(0)
    drawn = rng.beta(1.5, 2.5, 400_000) * 4 - 1 if law == "beta" else rng.uniform(-1, 2, 400_000)
    for shift, turn in ((0.7, 1), (-0.7, -1)):
        many = bounded(turn * drawn, np.full(len(drawn), 1 / len(drawn)), turn * 0.5 + 0.7, 3.0 if turn > 0 else 1.0)
        assert nearest(instance, 0, shift, 0.0) == pytest.approx(many, rel=0.02)
    values, weights = atoms(instance.law, 0)
    assert weights @ values == pytest.approx(0.5)


def test_what_no_law_of_the_class_can_do_demands_nothing() -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    # Raised by gap + epsilon = 0.7 the worse arm would need a mean of 1.1; lowered by as much the better one 0.4.
    found = divergence_lower_bound(Instance(mdp, Bernoulli([0.4, 0.99])), 0.11, 0.1)
    assert found.local.tolist() == [0.0, pytest.approx(kl(0.1, 0.9) / kl(0.99, 0.29))]
    assert divergence_lower_bound(Instance(mdp, Bernoulli([0.4, 0.6])), 0.1, 0.5).value == 0.0
    assert divergence_lower_bound(Instance(mdp, Bernoulli([0.4, 0.4])), 0.0, 0.1).value == np.inf
    assert divergence_lower_bound(Instance(mdp, Empirical([[1.0], [1.0, 2.0]])), 0.1, 0.1).local[0] == 0.0
    one = Instance(MDP.from_arrays([[[0]]]), Bernoulli([0.4]))
    assert divergence_lower_bound(one, 0.1, 0.1).value == 0.0


def test_a_law_of_ones_own_is_refused() -> None:
    def draw(arc: int, rng: Any) -> float:
        return float(rng.random())

    own = Instance(MDP.from_arrays([[[0, 0]]]), Drawn(draw, [0.5, 0.4], 0.5))
    with pytest.raises(ProblemError, match=r"option 0 .* has one of your own; use lower_bound"):
        divergence_lower_bound(own, 0.1, 0.1)
