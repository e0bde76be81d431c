"""Widths that learn the noise: beside the enumerating twin, in runs and steps, saved and woken, by default or not."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from surepath.kernels.streams import Children
from surepath.learners.range_noise import intervals

from surepath import BPIUCRL, EPRL, MDP, Bernoulli, Bounded, Gaussian, Instance, simulate
from surepath.errors import SettingError
from surepath.kernels.arrays import reality_of
from surepath.learners.base import Learner
from surepath.learners.per_arc.learner import RuleLearner
from surepath.learners.per_arc.uniform import Uniform
from surepath.simulation.stepwise import drive
from tests.learners.per_arc.test_twins import times, walk_together
from tests.learners.worlds import options, random_mdp, ranged_table, theory_choices, with_ranges
from tests.naive.learner import Choices, NaiveLearner

EPISODES = 70


def tabulated(budget: float, n: int, v: float) -> float:
    """The package's table in place of exact integration, from which it differs by a thousandth."""
    return float(intervals.most_sums(intervals.interval_table(budget), np.array([n]), np.array([v]))[0])


def problem(seed: int) -> tuple[np.random.Generator, MDP, float, float]:
    rng = np.random.default_rng(seed)
    mdp = with_ranges(random_mdp(rng), rng)
    return rng, mdp, float(rng.choice([0.0, 0.5, 2.0])), float(rng.choice([0.05, 0.5]))


@pytest.mark.parametrize("sampling", ["max-coverage", "max-diameter", "coverage"])
def test_eprl_follows_its_twin(sampling: str) -> None:
    played = eliminated = stopped = 0
    for seed in range(20):
        rng, mdp, epsilon, delta = problem(seed)
        settings = {
            "sampling": sampling,
            "elimination": str(rng.choice(["return", "value", "both"])),
            "schedule": str(rng.choice(["every-episode", "paper", "geometric"])),
            "recommendation": str(rng.choice(["optimistic", "cautious"])),
        }
        learner = EPRL(mdp, epsilon, delta, **settings)  # type: ignore[arg-type]
        chosen = theory_choices({**settings, "widths": "bernstein"}, times(mdp))
        twin = NaiveLearner(mdp, chosen, epsilon, delta, learner.sigma)
        twin.most = tabulated
        failing = rng if seed % 3 == 0 else None
        learner._around_failures = lambda path: path  # type: ignore[method-assign]
        played += walk_together(learner, twin, ranged_table(rng, mdp, EPISODES), failing)
        eliminated += int((~learner.active).any())
        stopped += int(learner.stopped)
        assert learner.widths == "bernstein" or not twin.ranged().any()
    assert played > 200
    assert eliminated > 3
    assert 3 < stopped < 20


@pytest.mark.parametrize("elimination", ["none", "value"])
def test_bpi_ucrl_follows_its_twin(elimination: str) -> None:
    stopped = 0
    for seed in range(20):
        rng, mdp, epsilon, delta = problem(100 + seed)
        learner = BPIUCRL(mdp, epsilon, delta, elimination=elimination)
        chosen = Choices(
            sampling="optimistic",
            by_return=False,
            by_value=elimination == "value",
            stopping="optimal-gap",
            single=False,
            recommendation="cautious",
            widths="bernstein",
        )
        twin = NaiveLearner(mdp, chosen, epsilon, delta, learner.sigma)
        twin.most = tabulated
        walk_together(learner, twin, ranged_table(rng, mdp, EPISODES))
        stopped += int(learner.stopped)
    assert 3 < stopped < 20


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_widths_are_at_least_those_of_exact_integration(direction: str) -> None:
    """After every episode, far from 0 and with ranges of several sizes; at most 0.2 % above."""
    rng, mdp = np.random.default_rng(0), options(3, 2, 1e6 - 1, 1e6 + 2, direction)
    learner = Uniform(mdp, 0.1, 0.2)
    twin = NaiveLearner(mdp, Choices(widths="bernstein"), 0.1, 0.2, learner.sigma)
    for _ in range(25):
        path = learner.ask()
        rewards = 1e6 - 1 + 3 * rng.beta(2, 5, 3)
        learner.tell(path, rewards)
        for arc, gain in zip(path.tolist(), (mdp.sign * rewards).tolist()):
            twin.n[arc] += 1
            twin.seen[arc].append(gain)
    exact = np.array([twin.width(e) for e in range(mdp.n_arcs)])
    assert (learner.widths_now() >= exact * (1 - 1e-9)).all()
    assert (learner.widths_now() <= exact * 1.002).all()
    assert (exact < 3.0).any()


LEARNERS: list[tuple[type[RuleLearner], dict[str, Any]]] = [
    (EPRL, {"sampling": "max-diameter", "elimination": "both"}),
    (EPRL, {"sampling": "max-coverage"}),
    (BPIUCRL, {}),
]


@pytest.mark.parametrize(("kind", "settings"), LEARNERS)
def test_runs_and_steps_decide_alike(kind: type[RuleLearner], settings: dict[str, Any]) -> None:
    instance = Instance(options(2, 2), Bernoulli([0.2, 0.8, 0.7, 0.1]))
    learner = kind(instance.mdp, 0.5, 0.2, **settings)
    for seed in range(3):
        run = learner._run(reality_of(instance), np.random.default_rng(seed), 10_000, np.array([0.5]))
        steps = drive(learner, instance, np.random.default_rng(seed), 10_000, np.array([0.5]))
        assert (run.tau[0], run.path[0].tolist()) == (steps.tau[0], steps.path[0].tolist())
        assert run.gap[0] == pytest.approx(steps.gap[0])
    many, last = (
        learner._run_many(reality_of(instance), Children(0, first, 4 - first), 10_000, np.array([0.5])).tau
        for first in (0, 3)
    )
    assert many[3] == last[0]  # nothing of a run is left to the next


@pytest.mark.parametrize("how", ["snapshot", "pickle", "copy"])
def test_a_saved_learner_goes_on_bit_for_bit(how: str) -> None:
    rng, mdp = np.random.default_rng(3), options(2, 3)
    learner = EPRL(mdp, 0.3, 0.1, sampling="max-diameter")
    for t in range(60):
        if t == 25:
            if how == "snapshot":
                twin: Any = Learner.from_snapshot(mdp, learner.snapshot())
            else:
                twin = pickle.loads(pickle.dumps(learner)) if how == "pickle" else copy.copy(learner)
        path, rewards = learner.ask(), rng.beta(20, 5, 2)
        learner.tell(path, rewards)
        if t >= 25:
            assert twin.ask().tolist() == path.tolist()
            twin.tell(path, rewards)
            assert twin.certified_gap() == learner.certified_gap()
    learner.exclude(0)
    twin.exclude(0)
    assert twin.certified_gap() == learner.certified_gap()
    assert twin.ask(3).tolist() == learner.ask(3).tolist()


def test_the_default_suits_what_is_declared() -> None:
    mdp, plain = options(1, 2), MDP.from_arrays(np.zeros((1, 1, 2), dtype=int))
    both = MDP.from_steps({"a": ["x", "y"]}, sigma=0.2, reward_range=(0, 1))
    for kind in (EPRL, BPIUCRL, Uniform):
        assert kind(mdp, 0.1, 0.1).settings()["widths"] == "bernstein"
        assert kind(mdp, 0.1, 0.1, 0.5).settings()["widths"] == "paper"
        assert kind(both, 0.1, 0.1).settings()["widths"] == "paper"
        assert kind(both, 0.1, 0.1, widths="bernstein").rules.arcs == 4.0
        assert kind(mdp, 0.1, 0.1, widths="mixture").rules.learns == 0
        with pytest.raises(SettingError, match="no arc to learn declares a range"):
            kind(plain, 0.1, 0.1, 1.0, widths="bernstein")
    for preset, widths in (("text", "uncapped"), ("experiment", "empirical")):
        assert EPRL(mdp, 0.1, 0.1, preset=preset).widths == widths
        assert BPIUCRL(mdp, 0.1, 0.1, preset=preset).widths == widths


def test_simulate_learns_the_noise_where_nobody_declares_it() -> None:
    instance = Instance(options(1, 2), Bounded(0, 1, [0.1, 0.9], concentration=30.0))
    spec = {"name": "EPRL", "epsilon": 0.2, "delta": 0.1}
    for name in ("EPRL", "BPIUCRL", "Uniform", "WholePlan"):
        learned = simulate({**spec, "name": name}, instance, 4, 0)
        assert learned.settings["learner"]["widths"] == "bernstein"
        usual = simulate({**spec, "name": name, "sigma": 0.5}, instance, 4, 0)
        assert usual.settings["learner"]["widths"] == "paper"
        assert learned.mean_tau() < usual.mean_tau()
        assert learned.correct.all()
    assert simulate({**spec, "preset": "experiment"}, instance, 2, 0).settings["learner"]["widths"] == "empirical"
    outside = Instance(options(1, 2), Gaussian([0.1, 0.9], 0.1))
    with pytest.raises(SettingError, match='widths="bernstein" needs rewards inside the declared range'):
        simulate(spec, outside, 1, 0)
