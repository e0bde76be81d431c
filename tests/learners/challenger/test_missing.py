"""Episodes that break off, under any dependence: what their missing rewards count for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Challenger
from surepath.learners.challenger.state import OWN, RIVAL
from tests.learners.challenger.plays import width
from tests.learners.rates import is_above
from tests.learners.worlds import ranged_table, with_ranges
from tests.naive.paths import all_paths
from tests.strategies import mdps


def two_lines(**declared: Any) -> MDP:
    """Two plans of two steps that share none."""
    available = np.array([[[1, 1], [1, 1]], [[1, 0], [1, 0]]], dtype=bool)
    return MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [1, 1]]], available=available, **declared)


@settings(max_examples=12)
@given(
    mdps(max_states=2, max_actions=3, max_horizon=3), st.integers(0, 2**32 - 1), st.sampled_from(["sigma", "betting"])
)
def test_what_is_missing_proves_no_more_than_what_is_seen(mdp: MDP, seed: int, noise: str) -> None:
    """The same plays, whole or broken off anywhere: every bound of a pair is at least that of the whole ones."""
    rng = np.random.default_rng(seed)
    mdp = with_ranges(mdp, rng)
    if not np.isfinite(np.array(mdp.reward_range)[:, ~mdp.is_known]).all():
        return
    whole, broken = (Challenger(mdp, 0.0, 0.5, dependence="any", noise=noise) for _ in range(2))
    paths, table = all_paths(mdp), ranged_table(rng, mdp, 40)
    for episode in range(40):
        path = np.array(paths[episode % len(paths) if episode < len(paths) else rng.integers(len(paths))])
        rewards, seen = table[episode][path], mdp.horizon
        if episode >= len(paths):  # each arc has been seen
            seen = int(rng.integers(mdp.horizon + 1))
        for learner, count in ((whole, mdp.horizon), (broken, seen)):
            learner.tell(path, rewards[:count]) if count else learner.fail(path)
    visits, slopes = whole._seen.visits, np.geomspace(1e-3, 10.0, 20)
    assert (broken._seen.visits + broken._seen.missing == visits)[whole.sigma > 0].all()
    for e in np.flatnonzero((visits > 0) & (whole.sigma > 0)).tolist():
        for j in range(len(whole.pairs.cost)):
            for side in (RIVAL, OWN):
                high, low = (bound(learner, side, j, slopes, e) for learner in (broken, whole))
                assert (high >= low - 1e-9).all()


def bound(learner: Challenger, side: int, j: int, slopes: np.ndarray, e: int) -> np.ndarray:
    """What arc e adds to the bound of a pair, slope by slope."""
    mean = learner._work.top[e] if side == RIVAL else -learner._work.low[e]
    return np.array([mean + width(learner.pairs, learner._work, side, j, k, e) for k in slopes.tolist()])


def play(learner: Challenger, chance: float, runs: np.random.Generator, most: int = 400) -> bool:
    """Play a world where a bad first score breaks the trial off; whether a gap was ever stated below the true one.

    One draw u of a trial moves all scores. Plan a: 1 if u > chance, then 1 if u < 0.6; plan b: 1 if u > chance, twice.
    """
    best, wrong = max(0.6, 1 - chance), False
    while not learner.stopped and learner.episodes < most:
        path, u = learner.ask(), runs.random()
        scores = [float(u > chance), float(u < 0.6 if path[0] == 0 else u > chance)]
        learner.tell(path, scores if u > chance else scores[:1])
        if learner.episodes % 8 == 0 or learner.stopped:
            regret = best - (0.6 if learner.recommend()[0] == 0 else 1 - chance)
            wrong |= learner.certified_gap() < regret - 1e-9
    return wrong


@pytest.mark.guarantee
@pytest.mark.parametrize("noise", ["sigma", "betting"])
def test_trials_that_break_off_after_a_bad_step_keep_the_guarantee(noise: str) -> None:
    """With half of the trials broken off what is seen of b is all 1; its true mean is the smaller one."""
    mdp, delta, rng = two_lines(reward_range=(0, 1)), 0.1, np.random.default_rng(1)
    wrong = {"related": 0, "unrelated": 0}
    for missing in wrong:
        for _ in range(60):
            learner = Challenger(mdp, 0.05, delta, dependence="any", noise=noise, missing=missing)
            wrong[missing] += play(learner, 0.5, rng)
    assert wrong["related"] == 0  # nothing can be proven, and nothing is
    assert is_above(wrong["unrelated"], 60, delta)


@pytest.mark.guarantee
def test_with_few_broken_trials_it_stops_and_is_right() -> None:
    mdp, delta, rng, runs = two_lines(reward_range=(0, 1)), 0.5, np.random.default_rng(2), 60
    wrong = stopped = 0
    for _ in range(runs):
        learner = Challenger(mdp, 0.2, delta, dependence="any")
        wrong += play(learner, 0.05, rng, 2000)
        stopped += learner.stopped
    assert stopped == runs
    assert not is_above(wrong, runs, delta)


@pytest.mark.parametrize("noise", ["sigma", "bernstein"])
def test_without_a_range_a_broken_trial_is_left_out_whole(noise: str) -> None:
    mdp = two_lines(reward_range=(0, 1)) if noise == "bernstein" else two_lines()
    sigma = None if noise == "bernstein" else 0.5
    learner = Challenger(mdp, 0.1, 0.1, sigma, dependence="any", noise=noise)
    learner.tell([0, 2], [0.5])
    learner.fail([1, 3])
    assert learner.episodes == 2
    assert not learner.visits.any()
    assert not learner._seen.missing.any()
    learner.tell([0, 2], [0.5, 0.25])
    assert learner.visits.tolist() == [1, 0, 1, 0]
    unrelated = Challenger(mdp, 0.1, 0.1, sigma, dependence="any", noise=noise, missing="unrelated")
    unrelated.tell([0, 2], [0.5])
    assert unrelated.visits.tolist() == [1, 0, 0, 0]
    assert unrelated.settings()["missing"] == "unrelated"
