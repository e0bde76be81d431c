"""Challenger's compiled run: the same steps as ask and tell, with all settings, for any number of workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Challenger, Gaussian, Instance, simulate
from tests.learners.challenger.plays import chain, play
from tests.learners.worlds import random_mdp

OPTIONS: list[dict[str, Any]] = [
    {},
    {"dependence": "independent"},
    {"sampling": "max-diameter"},
    {"dependence": "independent", "sampling": "separating"},
]

NAMES = ["-".join(map(str, options.values())) or "default" for options in OPTIONS]


@pytest.mark.parametrize("options", OPTIONS, ids=NAMES)
def test_the_run_takes_the_same_steps(options: dict[str, Any]) -> None:
    """One generator, drawn in the same order, through the fused run and through ask and tell: bit-equal ends."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        mdp = random_mdp(rng)
        instance = Instance(mdp, Gaussian(rng.random(mdp.n_arcs), sigma=0.1))
        learner = Challenger(mdp, 0.15, 0.1, 0.1, **options)
        fused = simulate(learner, instance, runs=1, seed=seed, budget=400)
        draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=(0,))))
        play(learner, instance, draws, 400)
        assert learner.episodes == fused.tau[0]
        assert (learner.stop_reason or "budget") == fused.reason[0]
        assert learner.recommend().tolist() == fused.path[0].tolist()
        assert learner.certified_gap() == fused.gap[0]
        assert int((~learner.active).sum()) == fused.eliminated[0]


def test_costs_and_gains_take_the_same_steps() -> None:
    rng, table = np.random.default_rng(1), np.zeros((2, 2, 3), dtype=int)
    gains, costs = (
        Challenger(MDP.from_arrays(table, direction=direction), 0.3, 0.1, 0.3) for direction in ("maximize", "minimize")
    )
    means = rng.random(gains.mdp.n_arcs)
    while not gains.stopped:
        path = gains.ask()
        assert costs.ask().tolist() == path.tolist()
        rewards = means[path] + 0.3 * rng.standard_normal(2)
        gains.tell(path, rewards)
        costs.tell(path, -rewards)
        assert gains.certified_gap() == costs.certified_gap()
    assert costs.stopped
    assert costs.recommend().tolist() == gains.recommend().tolist()


@pytest.mark.parametrize("unit", [1e-13, 1e9])
def test_the_unit_of_the_rewards_changes_no_decision(unit: float) -> None:
    """Farads or dollars: rewards, sigma and epsilon in another unit give the same trials, up to the last bits."""
    plain = chain()
    noise = np.random.default_rng(5).normal(size=(400, plain.mdp.horizon))
    stopped = []
    for scale in (1.0, unit):
        learner = Challenger(plain.mdp, 0.2 * scale, 0.1, 0.2 * scale)
        while not learner.stopped and learner.episodes < 400:
            path = learner.ask()
            learner.tell(path, scale * (plain.means[path] + 0.2 * noise[learner.episodes]))
        stopped.append((learner.episodes, learner.recommend().tolist(), round(learner.certified_gap() / scale, 6)))
    assert stopped[0][0] < 400
    assert stopped[0] == stopped[1]
