"""Proofs that once came out of bias, of large numbers that cancel, or of what an infeasible plan had ruled out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP, Challenger
from surepath.errors import RewardError, SettingError
from surepath.learners.watch import Watch


def test_trials_that_fail_because_of_an_earlier_score_do_no_harm() -> None:
    """A low first score breaks the trial off: survivors of the worse plan look better than they are."""
    available = np.array([[[1, 1], [0, 0]], [[1, 0], [1, 0]]], dtype=bool)
    mdp = MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [0, 0]]], available=available)
    truth, wrong = np.array([0.6, 0.0, 0.0, 0.0]), 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        learner = Challenger(mdp, 0.5, 0.1, 1.0)
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


def test_an_exclusion_is_judged_anew() -> None:
    """y ruled f out and is then found infeasible: what was proven of p against y says nothing of p against f."""
    mdp = MDP.from_arrays(np.zeros((1, 1, 3), dtype=int))  # f, y, p
    learner = Challenger(mdp, 0.5, 0.1, 1.0)
    for _ in range(40):
        learner.tell([1], [6.0])
        learner.tell([2], [6.4])
    learner.tell([0], [1.0])
    learner.exclude(1)
    alone = Challenger(mdp, 0.5, 0.1, 1.0)
    alone.exclude(1)
    for _ in range(40):
        alone.tell([2], [6.4])
    alone.tell([0], [1.0])
    assert learner.stopped == alone.stopped
    assert learner.certified_gap() == pytest.approx(alone.certified_gap(), rel=1e-2)


def test_rounding_of_exact_rewards_is_no_finding() -> None:
    mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    watch = Watch(mdp, np.zeros(4))
    for first in (0.0, 0.1 + 0.2 - 0.3):
        watch.observe(np.array([0, 2]), np.array([first, 0.7]))
    assert watch.findings() == []
    watch.observe(np.array([0, 2]), np.array([0.1, 0.7]))
    assert [found.kind for found in watch.findings()] == ["exact"]
