"""The gap over trials, read from the log: the same numbers as those proven at the time, for every kind of noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Study
from surepath.study.status import Past, gap_history, grid

STEPS = {"a": ["x", "y"], "b": ["u", "v", "w"]}
GOOD = {"y": 0.21, "w": 0.22}


def played(study: Study, trials: int) -> list[float]:
    """Play trials with scores in [0, 1]; returns what was proven after each."""
    rng, gaps = np.random.default_rng(0), []
    for _ in range(trials):
        trial = study.ask()
        scores = [GOOD.get(str(option), 0.2) + 0.05 * rng.standard_normal() for option in trial.plan.values()]
        study.tell(trial, np.clip(scores, 0, 1))
        gaps.append(study.certified_gap)
    return gaps


@pytest.mark.parametrize("noise", ["declared", "betting", "unknown"])
def test_the_past_is_what_was_proven_at_the_time(noise: str) -> None:
    sigmas: dict[str, Any] = {"declared": 0.1, "betting": None, "unknown": "unknown"}
    mdp = MDP.from_steps(STEPS, reward_range=(0, 1)) if noise == "betting" else MDP.from_steps(STEPS)
    study = Study.create(mdp, "memory", epsilon=0.01, delta=0.1, sigma=sigmas[noise])
    gaps = played(study, 24)
    assert Past(study).in_blocks == (noise == "declared")
    points = gap_history(study)
    assert [point[0] for point in points] == list(range(1, 25))
    assert np.isfinite(gaps).any()
    np.testing.assert_allclose([point[1] for point in points], gaps, rtol=1e-9)


def test_a_study_without_trials_has_no_past() -> None:
    assert gap_history(Study.create(MDP.from_steps(STEPS), "memory", epsilon=0.1, delta=0.1, sigma=0.1)) == []


def test_the_last_point_is_what_is_proven_now_and_there_are_few() -> None:
    study = Study.create(MDP.from_steps(STEPS), "memory", epsilon=0.01, delta=0.1, sigma=0.1)
    gaps = played(study, 40)
    points = gap_history(study, 10)
    assert len(points) <= 11
    assert points[-1] == (40, gaps[-1], 0.01)


def test_the_grid_begins_and_ends_where_it_should() -> None:
    assert grid(3) == [1, 2, 3]
    assert (grid(100_000)[0], grid(100_000)[-1]) == (1, 100_000)
    assert len(grid(100_000)) <= 400
