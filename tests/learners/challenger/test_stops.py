"""Challenger is never stuck: thousands of random instances, ties at the top and known rewards among them, all stop."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import MDP, Challenger, Gaussian, Instance, families, simulate
from tests.learners.worlds import with_known


def random_instance(rng: np.random.Generator, longest: int) -> Instance:
    """S 1-6, A 2-5, masked actions, ties, known arcs, arcs without noise and arcs of very different noise."""
    states, actions, horizon = int(rng.integers(1, 7)), int(rng.integers(2, 6)), int(rng.integers(1, longest + 1))
    available = rng.random((horizon, states, actions)) < rng.choice([0.5, 1.0])
    available[..., 0] |= ~available.any(axis=-1)
    direction = str(rng.choice(["maximize", "minimize"]))
    table = rng.integers(states, size=(horizon, states, actions))
    mdp = MDP.from_arrays(table, available=available, direction=direction)
    means = rng.integers(0, 3, mdp.n_arcs) / 2 if rng.random() < 0.5 else rng.random(mdp.n_arcs)
    if rng.random() < 0.4:
        mdp = with_known(mdp, np.where(rng.random(mdp.n_arcs) < rng.choice([0.2, 0.8]), means, np.nan))
    sigma = rng.choice([0.02, 0.1]) * np.where(rng.random(mdp.n_arcs) < 0.2, rng.choice([0.0, 0.01, 3.0]), 1.0)
    return Instance(mdp, Gaussian(means, sigma))


@pytest.mark.parametrize(("count", "longest"), [(500, 6), (150, 25)])
def test_it_always_stops(count: int, longest: int) -> None:
    wrong = 0
    for seed in range(count):
        rng = np.random.default_rng([longest, seed])
        instance = random_instance(rng, longest)
        epsilon = float(rng.choice([0.1, 0.3, 1.0])) * max(1.0, instance.mdp.horizon / 4)
        learner = Challenger(instance.mdp, epsilon, 0.1, instance.sigma)
        result = simulate(learner, instance, runs=1, seed=seed, budget=50_000, workers=1)
        assert not result.censored.any(), f"seed {seed} of {longest}: {instance.mdp!r} did not stop"
        wrong += int((~result.correct).sum())
    assert wrong < 0.02 * count


def test_what_the_check_has_proven_of_a_path_stays_proven() -> None:
    """Here the certified gap, found by bisection, is a little above the epsilon that the check has proven."""
    instance = families.paper_random(2, 2, 3, seed=97, sigma=0.3)
    learner, rng = Challenger(instance.mdp, 0.6, 0.1, 0.3, dependence="independent"), np.random.default_rng(97)
    while not learner.stopped:
        path = learner.ask()
        learner.tell(path, rng.normal(instance.means[path], 0.3))
    path, gap = learner.recommend().tolist(), learner.certified_gap()
    assert gap == 0.6
    learner.tighten(0.05)
    assert learner.recommend().tolist() == path
    assert learner.certified_gap() <= gap
