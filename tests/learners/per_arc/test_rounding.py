"""Rewards that are large beside their differences: rounding may delay a decision and never make one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP, Gaussian, Instance, WholePlan, simulate
from surepath.learners.per_arc import bounds as at
from surepath.learners.per_arc.eprl import RuleLearner
from tests.learners.worlds import random_mdp, with_known
from tests.naive.paths import all_paths


def beside_known(
    scale: float, gap: float, sigma: float, stages: int = 1, direction: str = "maximize", low: float = 0.0012
) -> Instance:
    """At every stage one known arc near `scale` and one unknown arc that is better by `gap`."""
    mdp = MDP.from_arrays(np.zeros((stages, 1, 2), dtype=int), direction=direction)
    sign = mdp.sign
    known = np.tile([sign * (scale + low), np.nan], stages)
    means = np.tile([sign * (scale + low), sign * (scale + low + gap)], stages)
    return Instance(with_known(mdp, known), Gaussian(means, sigma=sigma))


@pytest.mark.parametrize("name", ["EPRL", "BPIUCRL", "WholePlan", "Challenger"])
def test_a_million_rewards_near_a_billion_are_added_without_loss(name: str) -> None:
    instance = beside_known(1e9, 2e-5, 1e-3)
    result = simulate({"name": name, "epsilon": 1e-5, "delta": 0.01}, instance, 40, 0, budget=8_000_000)
    assert not result.censored.any()
    assert result.path[:, 0].tolist() == [1] * 40
    assert result.correct.all()
    assert (result.gap <= 1e-5).all()


@pytest.mark.parametrize("cls", [EPRL, BPIUCRL, WholePlan])
def test_a_certified_gap_is_never_below_the_regret_however_large_the_rewards(cls: Any) -> None:
    """A known reward of 1e16 is exact to within 2 only: beside it the gap of a plan may not come out as 0."""
    mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    for first in (1e16, -1e16, 1e13):
        rng = np.random.default_rng(1)
        means = np.array([first, 0.0, 0.25, 0.75])
        learner = cls(with_known(mdp, np.array([first, 0.0, np.nan, np.nan])), 0.0, 0.1, 1.0)
        instance = Instance(learner.mdp, Gaussian(means, sigma=1.0))
        for _ in range(2000):
            path = learner.ask()
            learner.tell(path, means[path] + rng.standard_normal(2))
            assert learner.certified_gap() >= instance.regret_of(learner.recommend())
            if learner.stopped:
                assert instance.regret_of(learner.recommend()) == 0
                break
        assert not learner.stopped or first < 1e16 or cls is WholePlan  # which looks at differences of plans


def test_decisions_do_not_depend_on_a_constant_that_is_added_to_a_stage() -> None:
    """The same noise 2**23 higher up at one stage: the same paths, the same eliminations, the same end."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        means = rng.integers(0, 64, mdp.n_arcs) / 64
        noise = rng.integers(-64, 65, (400, mdp.n_arcs)) / 64  # all numbers are exact at both heights
        lift = np.repeat(rng.choice([0.0, 2.0**23, -(2.0**23)], mdp.horizon), np.diff(mdp.stage_arc))
        known = np.where(mdp.is_known, means, np.nan)
        low, high = (EPRL(with_known(mdp, known + x), 0.05, 0.1, 0.2, sampling="max-diameter") for x in (0.0, lift))
        for t in range(400):
            path = low.ask()
            assert high.ask().tolist() == path.tolist()
            low.tell(path, (means + noise[t])[path])
            high.tell(path, (means + lift + noise[t])[path])
            assert low.active.tolist() == high.active.tolist()
            assert low.stopped == high.stopped
            if low.stopped:
                break
        assert low.recommend().tolist() == high.recommend().tolist()


@pytest.mark.parametrize("cls", [EPRL, BPIUCRL])
@pytest.mark.parametrize("options", [{}, {"elimination": "value"}])
def test_what_is_no_number_neither_stops_nor_eliminates(cls: type[RuleLearner], options: dict[str, Any]) -> None:
    mdp, rewards = MDP.from_arrays([[[0, 0, 0]], [[0, 0, 0]]]), np.array([0.5, 0.4, 0.1, 0.5, 0.4, 0.1])
    for arc in (None, *range(6)):
        learner = cls(mdp, 0.3, 0.1, 0.05, **options)
        while learner._state.tally[at.UNSEEN] > 0:
            path = learner.ask()
            learner.tell(path, rewards[path])
        if arc is not None:
            learner._state.arc[at.SUMS, arc] = learner._state.arc[at.BASE, arc] = np.nan
            learner.tell([arc, 3] if arc < 3 else [0, arc], [0.5, 0.5])
        while not learner.stopped and learner.episodes < 300:
            path = learner.ask()
            learner.tell(path, rewards[path])
            if arc is not None:
                assert learner._state.flag[at.ACTIVE, arc]
                assert math.isinf(learner.certified_gap())
        assert learner.stopped == (arc is None)


def test_regret_is_exact_on_every_path() -> None:
    """Beside rational arithmetic, on graphs whose stages lie at heights of their own."""
    from fractions import Fraction

    for seed in range(30):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        height = np.repeat(rng.choice([0.0, 1e9, -1e15, 1e3], mdp.horizon), np.diff(mdp.stage_arc))
        instance = Instance(mdp, Gaussian(height + rng.random(mdp.n_arcs), sigma=1.0))
        value = {tuple(p): sum(Fraction(float(instance.gains[e])) for e in p) for p in all_paths(mdp)}
        best = max(value.values())
        for path, x in value.items():
            assert instance.regret_of(path) == float(best - x)
        assert value[tuple(instance.best_path().tolist())] == best


LEARNERS = ("EPRL", "BPIUCRL", "WholePlan")


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize(("scale", "stages"), [(1e12, 1), (-1e9, 2), (1e9, 4)])
def test_no_scale_and_no_direction_makes_wrong_answers(name: str, direction: str, scale: float, stages: int) -> None:
    unit = abs(scale) * 1e-12  # about five thousand units in the last place
    instance = beside_known(scale, 0.2 * unit, unit, stages, direction)
    spec = {"name": name, "epsilon": 0.1 * stages * unit, "delta": 0.05}
    result = simulate(spec, instance, 12, 1, budget=400_000)
    right = np.array([instance.regret_of(path) <= spec["epsilon"] for path in result.path])  # type: ignore[operator]
    assert result.correct.tolist() == right.tolist()
    assert right[~result.censored].all()
    assert not result.censored.any()


@pytest.mark.parametrize("spec", [{"name": "EPRL", "sampling": "max-diameter"}, {"name": "EPRL"}, {"name": "BPIUCRL"}])
def test_values_that_are_rounded_to_the_same_number_prove_nothing(spec: dict[str, Any]) -> None:
    """Beside 1e16 the second stage is lost in rounding, whatever its widths: no stop at an epsilon below it."""
    mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    instance = Instance(mdp, Gaussian([1e16, 0.0, 0.25, 0.75], sigma=1.0))
    settings = {**spec, "epsilon": 0.4, "delta": 0.1, "elimination": "none"}
    result = simulate(settings, instance, 3, 0, budget=60_000)
    assert result.censored.all()
    assert (result.gap > 0.4).all()
    settled = simulate(settings, Instance(mdp, Gaussian([10.0, 0.0, 0.25, 0.75], sigma=1.0)), 3, 0, budget=60_000)
    assert not settled.censored.any()


def test_one_hopeless_option_far_away_costs_the_others_no_precision() -> None:
    """The first reward told is -2e12; the two others differ by 0.01."""
    mdp, means = MDP.from_arrays([[[0, 0, 0]]]), np.array([-2e12, 0.2, 0.21])
    for cls in (EPRL, BPIUCRL, WholePlan):
        rng, learner = np.random.default_rng(0), cls(mdp, 0.004, 0.1, 0.001)
        while not learner.stopped:
            assert learner.episodes < 2000
            path = learner.ask()
            learner.tell(path, means[path] + 0.001 * rng.standard_normal(1))
        assert learner.recommend().tolist() == [2]
