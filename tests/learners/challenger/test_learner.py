"""Challenger's contract: ask and tell, what is refused, workers, directions, the answer and its gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Challenger
from surepath.errors import PathError, SettingError
from tests.learners.challenger.plays import chain, play


@pytest.mark.parametrize("dependence", ["independent", "any"])
def test_asking_again_and_reading_the_gap_change_nothing(dependence: str) -> None:
    rng, instance = np.random.default_rng(0), chain()
    quiet, curious = (Challenger(instance.mdp, 0.3, 0.1, 0.2, dependence=dependence) for _ in range(2))
    while not quiet.stopped:
        path = quiet.ask()
        assert curious.ask().tolist() == path.tolist()
        if quiet.episodes % 7 == 0:
            curious.certified_gap()
            curious.explain()
            curious.recommend()
        assert curious.ask().tolist() == path.tolist()
        rewards = instance.means[path] + 0.2 * rng.standard_normal(3)
        quiet.tell(path, rewards)
        curious.tell(path, rewards)
        assert quiet.stopped == curious.stopped


@pytest.mark.parametrize("told", [0, 8, 9, 16])
def test_a_plate_of_trials_is_no_single_plan(told: int) -> None:
    """Also where one option is still unseen: plays on their way to it are enough."""
    mdp = MDP.from_steps({"a": ["1", "2", "3"], "b": ["1", "2", "3"], "c": ["1", "2"]}, reward_range=(0, 1))
    learner, rng = Challenger(mdp, epsilon=0.2, delta=0.05), np.random.default_rng(0)
    means = 0.2 + 0.6 * rng.random(mdp.n_arcs)
    for _ in range(told):
        path = learner.ask()
        learner.tell(path, np.clip(means[path] + 0.05 * rng.standard_normal(3), 0, 1))
    assert (learner.visits == 0).any() == (told < 9)
    plans, plays = np.unique(learner.ask(96), axis=0, return_counts=True)
    assert len(plans) >= 10
    assert plays.max() <= 40


def test_plays_for_workers_spread_and_pending_ones_count() -> None:
    mdp = MDP.from_arrays(np.zeros((1, 1, 4), dtype=int))
    learner = Challenger(mdp, 0.1, 0.1, 1.0)
    first = learner.ask(4)
    assert sorted(first[:, 0].tolist()) == [0, 1, 2, 3]  # every arc once before any is known
    assert learner._seen.pending.tolist() == [1, 1, 1, 1]
    for path in first:
        learner.tell(path, [0.5])
    assert learner._seen.pending.tolist() == [0, 0, 0, 0]
    batch = learner.ask(12)
    assert batch.shape == (12, 1)
    assert learner._seen.pending.sum() == 12
    assert len(set(batch[:, 0].tolist())) >= 2  # arcs alike in all they know: no worker repeats one for ever
    for path in batch:
        learner.cancel(path)
    assert learner._seen.pending.sum() == 0
    learner.cancel(batch[0])
    assert learner._seen.pending.sum() == 0
    assert learner.episodes == 4
    with pytest.raises(SettingError, match="n must be"):
        learner.ask(0)
    with pytest.raises(PathError, match="arc numbers run from 0 to 3"):
        learner.cancel([9])


def test_cancelled_plays_that_covered_are_asked_for_again() -> None:
    learner = Challenger(MDP.from_arrays(np.zeros((2, 1, 3), dtype=int)), 0.5, 0.1, 0.1)
    for path in learner.ask(3):
        learner.cancel(path)
    for _ in range(200):
        if learner.stopped:
            break
        path = learner.ask()
        learner.tell(path, np.where(path % 3 == 1, 1.0, 0.0))
    assert learner.stopped
    assert learner.recommend().tolist() == [1, 4]


def test_the_gap_told_for_a_path_never_grows() -> None:
    instance = chain(sigma=0.5)
    learner = Challenger(instance.mdp, 0.05, 0.1, 0.5)
    rng = np.random.default_rng(5)
    told: dict[Any, Any] = {}
    assert learner.certified_gap() == np.inf
    for _ in range(60):
        play(learner, instance, rng, 4)
        path, gap = learner.recommend().tobytes(), learner.certified_gap()
        assert gap <= told.get(path, np.inf)
        told[path] = gap
    assert len(told) > 1
    assert min(told.values()) < np.inf
