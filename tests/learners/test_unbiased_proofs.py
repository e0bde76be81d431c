"""Proofs that once came out of bias, of large numbers that cancel, or of what an infeasible plan had ruled out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import BPIUCRL, EPRL, MDP, Challenger, WholePlan
from surepath.errors import RewardError, SettingError
from surepath.learners.watch import Watch


@pytest.mark.parametrize("cls", [Challenger, EPRL, BPIUCRL, WholePlan])
def test_trials_that_fail_because_of_an_earlier_score_do_no_harm(cls: Any) -> None:
    """A low first score breaks the trial off: survivors of the worse plan look better than they are."""
    available = np.array([[[1, 1], [0, 0]], [[1, 0], [1, 0]]], dtype=bool)
    mdp = MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [0, 0]]], available=available)
    truth, wrong = np.array([0.6, 0.0, 0.0, 0.0]), 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        learner = cls(mdp, 0.5, 0.1, 1.0)
        while not learner.stopped and learner.episodes < 60_000:
            path = learner.ask()
            rewards = truth[path] + rng.normal(size=2)
            fails = path[0] == 1 and rewards[0] < 0.5
            learner.tell(path, rewards[:1] if fails else rewards)
        assert learner.stopped
        wrong += int(learner.recommend()[0] != 0)
    assert wrong <= 3


def test_whole_plan_joins_what_failed_trials_told_with_later_steps() -> None:
    learner = WholePlan(MDP.from_arrays(np.zeros((2, 1, 2), dtype=int)), 0.1, 0.1, 1.0)
    learner.tell([0, 2], [1.0])
    learner.tell([0, 2], [2.0])
    other = WholePlan(learner.mdp, 0.1, 0.1, 1.0).restore(learner.snapshot())
    for one in (learner, other):
        one.tell([0, 2], [4.0, 8.0])
        assert one._plans.visits[0] == 1
        assert one._plans.gain.tolist() == [1.0, 8.0]  # the first reward told for each step
        one.tell([0, 2], [16.0, 32.0])
        assert one._plans.gain.tolist() == [2.0, 32.0]


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
    with pytest.raises(RewardError, match="make the returns of paths uncertain"):
        learner.tell(np.arange(2, 60, 3), np.full(20, -9e12))
    assert learner.episodes == 1
    with pytest.raises(SettingError, match="too coarse for epsilon"):
        learner.tighten(1e-3)
    assert learner.epsilon == 0.1


def test_one_hopeless_option_far_away_does_not_keep_challenger_from_stopping() -> None:
    mdp = MDP.from_arrays(np.zeros((20, 1, 3), dtype=int))
    learner = Challenger(mdp, 0.1, 0.1, 1e-3)
    for place, reward in enumerate((2e12, 2e12, -2e12)):
        for _ in range(5):
            learner.tell(np.arange(place, 60, 3), np.full(20, reward))
    assert learner.stopped
    assert learner.certified_gap() <= 0.1


def test_tightening_never_ends_on_a_plan_that_is_not_proven() -> None:
    """A result in flight comes in after the stop, in mid-round: the old answer counts if it is good enough."""
    mdp = MDP.from_arrays(np.zeros((1, 1, 3), dtype=int))
    for seed in range(300):
        rng = np.random.default_rng(seed)
        learner = WholePlan(mdp, 12.0, 0.1, [1.0, 2.0, 0.5])
        while not learner.stopped:
            path = learner.ask()
            learner.tell(path, rng.normal(size=1))
        gap = learner.certified_gap()
        learner.tell([int(rng.integers(3))], 5 * rng.normal(size=1))
        learner.tighten(min(gap * 1.0001, 11.99))
        assert not learner.stopped or learner.certified_gap() <= learner.epsilon


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
