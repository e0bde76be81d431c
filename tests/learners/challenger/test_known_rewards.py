"""Arcs that need few visits or none: quiet ones, known rewards, ties, a single path, a gap of zero."""

from __future__ import annotations

import numpy as np
import pytest

from surepath import MDP, Challenger, Gaussian, Instance
from tests.learners.challenger.plays import play
from tests.learners.worlds import with_known


def test_known_arcs_need_no_visit() -> None:
    known = np.array([0.5, 0.2, 0.7, np.nan, np.nan, np.nan])
    mdp = with_known(MDP.from_arrays(np.zeros((2, 1, 3), dtype=int)), known)
    instance = Instance(mdp, Gaussian([0, 0, 0, 0.1, 0.9, 0.3], sigma=0.1))
    learner = Challenger(mdp, 0.1, 0.1, 0.1)
    for _ in range(3):
        learner.tell(learner.ask(), [np.nan, 0.5])
    assert np.isfinite(learner.certified_gap())  # three of the arcs 0..5 were never played
    fresh = Challenger(mdp, 0.1, 0.1, 0.1)
    play(fresh, instance, np.random.default_rng(0), 10_000)
    assert fresh.stopped
    assert fresh.recommend().tolist() == [2, 4]
    assert (fresh.visits[:3] == 0).any()


def test_when_everything_is_known_no_trial_is_needed() -> None:
    mdp = with_known(MDP.from_arrays(np.zeros((2, 1, 2), dtype=int)), np.array([0.5, 0.5, 0.2, 0.8]))
    learner = Challenger(mdp, 0.0, 0.1)
    assert learner.stopped
    assert learner.episodes == 0
    assert learner.recommend().tolist() == [0, 3]
    assert learner.certified_gap() == 0.0


def test_a_known_tie_stays_and_does_not_hold_up_the_stop() -> None:
    """Noisy stages of several sizes before a known tie: what they share must cancel to the last digit."""
    known = np.array([np.nan] * 6 + [0.5, 0.5])
    mdp = with_known(MDP.from_arrays(np.zeros((4, 1, 2), dtype=int)), known)
    instance = Instance(mdp, Gaussian([1, 0, 1, 0, 1, 0, 0.5, 0.5], sigma=[0.1, 0.3, 0.7, 0.2, 0.9, 0.5, 0, 0]))
    learner = Challenger(mdp, 0.0, 0.1, instance.sigma)
    play(learner, instance, np.random.default_rng(0), 5000)
    assert learner.stopped
    assert learner.active[6:].all()
    assert learner.certified_gap() == 0.0


@pytest.mark.parametrize("start", [0.0, 0.5])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_best_itself_is_proven_with_a_gap_of_zero(start: float, direction: str) -> None:
    """Built for epsilon 0, or for more and then tightened to it; with an option excluded on the way."""
    mdp = MDP.from_arrays(np.zeros((3, 1, 3), dtype=int), direction=direction)
    means = np.array([0.9, 0.5, 0.0, 0.2, 0.8, 0.4, 0.1, 0.6, 0.5]) * mdp.sign
    instance, rng = Instance(mdp, Gaussian(means, 0.1)), np.random.default_rng(1)
    learner = Challenger(mdp, start, 0.1, 0.1)
    play(learner, instance, rng, 20_000)
    if start > 0:
        learner.tighten(0.0)
        play(learner, instance, rng, 20_000)
    assert learner.stopped
    assert learner.recommend().tolist() == [0, 4, 7]
    assert learner.certified_gap() == 0.0
    assert all(rival.bound == 0.0 for rival in learner.explain().rivals)
    learner.exclude(4)
    play(learner, instance, rng, 20_000)
    assert learner.stopped
    assert learner.recommend().tolist() == [0, 5, 7]
    assert learner.certified_gap() == 0.0


def test_a_single_path_is_known_to_be_best_once_played() -> None:
    learner = Challenger(MDP.from_arrays(np.zeros((3, 1, 1), dtype=int)), 0.0, 0.1, 1.0)
    if not learner.stopped:
        learner.tell(learner.ask(), [0.1, 0.2, 0.3])
    assert learner.stopped
    assert learner.certified_gap() == 0.0
    assert learner.recommend().tolist() == [0, 1, 2]
