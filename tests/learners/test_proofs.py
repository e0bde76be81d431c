"""Proofs that once were wrong: by rounding, bias, large numbers, or what an infeasible plan had ruled out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP, Challenger, Gaussian, Instance, WholePlan, families, simulate
from surepath.errors import RewardError, SettingError
from surepath.learners.base import Learner

# Answers that are called proven are: where rounding, ties, one path left or copies could spoil the proof --------------

SAMPLING = ("max-coverage", "static-max-coverage", "max-diameter", "coverage")


def status_quo(first: float, safe: float, last: float) -> MDP:
    """A known way through the middle, and one new arc beside it."""
    return MDP.from_edges(
        [
            {"state": "s", "action": "go", "next_state": "m", "known": first},
            {"state": "m", "action": "safe", "next_state": "n", "known": safe},
            {"state": "m", "action": "new", "next_state": "n"},
            {"state": "n", "action": "go", "next_state": "end", "known": last},
        ]
    )


@pytest.mark.parametrize("sampling", SAMPLING)
def test_a_known_best_path_is_not_lost_by_rounding(sampling: str) -> None:
    """0.1 + 0.4 + 0.2 is not 0.1 + (0.4 + 0.2): upper and lower value of the same path in two orders."""
    for first, safe, last in itertools.product((0.1, 0.3, 0.6, 0.7), repeat=3):
        learner = EPRL(status_quo(first, safe, last), 0.1, 0.05, 1.0, sampling=sampling, elimination="both")
        for _ in range(3):
            learner.tell([0, 2, 3], [0.0, -1.0, 0.0])
        assert learner.active.all()
        assert not learner.stopped


def learners_on(mdp: MDP) -> list[Learner]:
    return [EPRL(mdp, 0.1, 0.1, 0.5), WholePlan(mdp, 0.1, 0.1, 0.5), Challenger(mdp, 0.1, 0.1, 0.5)]


def test_nobody_writes_into_a_learner_through_its_visits() -> None:
    for learner in learners_on(families.chain(steps=2, options=2, seed=1).mdp):
        learner.visits[:] = 9
        learner.sums[:] = 9.0
        assert learner.visits.sum() == learner.sums.sum() == 0


def uneven(ratio: float, horizon: int) -> tuple[Instance, float]:
    """One way through noisy stages and then ten options with little noise, one of them better by 0.3 sigma."""
    small = 1.0
    rows: list[Any] = [(h, f"s{h}", "go", f"s{h + 1}") for h in range(horizon - 1)]
    rows += [(horizon - 1, f"s{horizon - 1}", f"option {i}", None) for i in range(10)]
    mdp = MDP.from_edges(rows)
    means = np.zeros(mdp.n_arcs)
    means[horizon - 1] = 0.3 * small
    sigma = np.full(mdp.n_arcs, ratio * small)
    sigma[horizon - 1 :] = small
    return Instance(mdp, Gaussian(means, sigma)), 0.1 * small


@pytest.mark.parametrize(("ratio", "horizon"), [(1e8, 50), (1e7, 300), (1e12, 3)])
def test_noise_that_plans_share_costs_nothing_not_even_digits(ratio: float, horizon: int) -> None:
    instance, epsilon = uneven(ratio, horizon)
    spec = {"name": "Challenger", "epsilon": epsilon, "delta": 0.01}
    found = simulate({**spec, "sigma": instance.sigma}, instance, 3, 0, budget=400)
    assert found.reason.tolist() == ["budget"] * 3  # ten options 0.3 sigma apart need far more
    easy = {**spec, "epsilon": 3.0}
    shared = simulate({**easy, "sigma": instance.sigma}, instance, 3, 0)
    assert shared.reason.tolist() == ["cleared"] * 3


# Proofs that once came out of bias, of large numbers that cancel, or of what an infeasible plan had ruled out ---------


def test_trials_that_fail_because_of_an_earlier_score_do_no_harm() -> None:
    """A low first score breaks the trial off: survivors of the worse plan look better than they are."""
    available = np.array([[[1, 1], [0, 0]], [[1, 0], [1, 0]]], dtype=bool)
    mdp = MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [0, 0]]], available=available)
    truth, wrong = np.array([0.6, 0.0, 0.0, 0.0]), 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        learner = Challenger(mdp, 0.5, 0.1, 1.0, dependence="independent")
        while not learner.stopped and learner.episodes < 60_000:
            path = learner.ask()
            rewards = truth[path] + rng.normal(size=2)
            fails = path[0] == 1 and rewards[0] < 0.5
            learner.tell(path, rewards[:1] if fails else rewards)
        assert learner.stopped
        wrong += int(learner.recommend()[0] != 0)
    assert wrong <= 3


@pytest.mark.parametrize("horizon", [100, 400])
@pytest.mark.parametrize("cls", [Challenger, EPRL, BPIUCRL])
def test_exact_rewards_that_are_large_are_not_confused(cls: Any, horizon: int) -> None:
    """Sums of hundreds of rewards near 1e9 lose what their differences keep."""
    mdp = MDP.from_arrays(np.zeros((horizon, 1, 2), dtype=int))
    learner = cls(mdp, 2e-4 * horizon / 100, 0.1, 0.0)
    rng = np.random.default_rng(0)
    better = rng.integers(2, size=horizon)
    offset = np.zeros(2 * horizon)
    offset[2 * np.arange(horizon) + better] = 1e-5
    while not learner.stopped and learner.episodes < 50:
        path = learner.ask()
        learner.tell(path, 1e9 + offset[path])
    assert learner.stopped
    told = (1e9 + offset) - 1e9
    regret = float(told.reshape(horizon, 2).max(axis=1).sum() - told[learner.recommend()].sum())
    assert regret <= learner.epsilon
    assert regret <= learner.certified_gap() + 1e-9


@pytest.mark.parametrize("cls", [Challenger, EPRL, BPIUCRL])
def test_rewards_too_large_for_epsilon_are_refused_also_when_it_is_tightened(cls: Any) -> None:
    mdp = MDP.from_arrays(np.zeros((20, 1, 3), dtype=int))
    learner = cls(mdp, 0.1, 0.1, 1.0)
    learner.tell(np.arange(0, 60, 3), np.full(20, 2e12))
    with pytest.raises(RewardError, match="make the total scores of plans uncertain"):
        learner.tell(np.arange(2, 60, 3), np.full(20, -9e12))
    assert learner.episodes == 1
    if cls is Challenger:
        with pytest.raises(SettingError, match="too coarse for epsilon"):
            learner.tighten(1e-3)
    assert learner.epsilon == 0.1
