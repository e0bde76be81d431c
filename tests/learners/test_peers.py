"""CLUCB, CombGame and the top-two sampler: their twins, their runs, their guarantee."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from surepath import MDP, Gaussian, Instance, families, simulate
from surepath.errors import SettingError
from surepath.learners.peers import METHODS, Peer
from surepath.model.worlds import Shared
from surepath.simulation.simulate import drive
from tests.learners.rates import DELTAS, is_above
from tests.learners.worlds import random_mdp
from tests.naive.peers import NaivePeer


@pytest.mark.parametrize("method", METHODS)
def test_each_method_is_its_twin(method: str) -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        sigma, truth = rng.uniform(0.2, 1.0, mdp.n_arcs), rng.normal(size=mdp.n_arcs)
        learner = Peer(mdp, 0.3, 0.2, sigma, method=method, prior=5.0, seed=seed)
        twin = NaivePeer(mdp, method, 0.3, 0.2, sigma, 5.0, seed)
        for _ in range(40):
            if learner.stopped:
                break
            path = learner.ask()
            assert learner.ask().tolist() == path.tolist()
            scores = twin.scores()
            assert scores[twin.paths.index(tuple(path.tolist()))] >= max(scores) - 1e-9
            rewards = truth[path] + sigma[path] * rng.normal(size=mdp.horizon)
            learner.tell(path, rewards)
            twin.tell(tuple(path.tolist()), mdp.sign * rewards)
            assert learner.certified_gap() == pytest.approx(twin.gap(), rel=1e-9, abs=1e-9)
            assert learner.stopped == (twin.gap() <= 0.3)
            assert twin.value(tuple(learner.recommend().tolist())) == pytest.approx(twin.value(twin.best))


@pytest.mark.parametrize("method", METHODS)
def test_runs_and_steps_agree(method: str) -> None:
    instance = families.paper_random(2, 3, 3, seed=4)
    grid = np.array([0.8, 2.0])
    learner = Peer(instance.mdp, 0.8, 0.1, 1.0, method=method)
    runs = simulate(learner, instance, runs=2, seed=3, epsilons=grid.tolist(), budget=2000, workers=1)
    for run in range(2):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=3, spawn_key=(run,))))
        steps = drive(learner, instance, rng, 2000, grid)
        rows = runs.run == run
        assert steps.tau.tolist() == runs.tau[rows].tolist()
        assert steps.path.tolist() == runs.path[rows].tolist()
        np.testing.assert_array_equal(steps.gap, runs.gap[rows])


def failures(method: str, delta: float, sigma: float) -> tuple[int, int]:
    """Count wrong answers where every wrong plan lies just outside epsilon = 0.1 and the noise is 0.1."""
    mdp = MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [0, 0]]])
    instance = Instance(mdp, Gaussian(np.array([0.5, 0.395, 0.5, 0.395, 0.5, 0.395]), sigma=0.1))
    learner = Peer(mdp, 0.1, delta, sigma, method=method)
    result = simulate(learner, instance, 2000, seed=1, budget=200_000)
    assert not result.censored.any()
    return int((~result.correct).sum()), len(result)


@pytest.mark.guarantee
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("method", METHODS)
def test_the_failure_rate_stays_below_delta(method: str, delta: float) -> None:
    assert not is_above(*failures(method, delta, 0.1), delta)
    wrong, runs = failures(method, delta=0.1, sigma=0.1 / 6)  # the same measurement finds a threshold too small
    assert is_above(wrong, runs, 0.1)


def test_too_many_plans_are_refused() -> None:
    mdp = MDP.from_arrays(np.zeros((10, 1, 4), dtype=int))
    Peer(mdp, 0.1, 0.1, 1.0, method="clucb")
    with pytest.raises(SettingError, match=r'has 1048576 plans and Peer\(method="combgame"\) lists them all, at most'):
        Peer(mdp, 0.1, 0.1, 1.0, method="combgame")


def test_a_stop_that_shared_luck_breaks_warns() -> None:
    mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    world = Instance(mdp, Shared(Gaussian([0.5, 0.2, 0.5, 0.2], sigma=0.1), loading=0.9))
    for method, warnings in (("clucb", 0), ("combgame", 1)):
        with pytest.warns(UserWarning, match="steps share their luck") if warnings else contextlib.nullcontext():
            simulate({"name": "Peer", "method": method, "delta": 0.1}, world, 1, 1, [0.5], 1)
