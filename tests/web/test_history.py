"""The gap over trials, read from the log: the same numbers as those proven at the time, thinned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surepath import MDP, Study
from surepath.study.status import gap_history as module
from surepath.study.status.gap_history import MOST_POINTS, thin
from surepath.web.history import History
from tests.web.site import STEPS, score


def told(learner: Any, trials: int) -> tuple[Study, list[float]]:
    """A study with failures, an exclusion and a smaller epsilon on its way, and what was proven after every trial."""
    mdp = MDP.from_steps(STEPS, sigma=1.0)
    study = Study.create(mdp, "memory", learner=learner, epsilon=0.5, delta=0.1)
    rng, gaps = np.random.default_rng(0), []
    for number in range(trials):
        trial = study.ask()
        if number % 9 == 5:
            study.fail(trial, [0.3])
        elif number % 9 == 7:
            study.cancel(trial)
        else:
            study.tell(trial, np.array(score(trial.plan)) + rng.standard_normal(3))
        gaps.append(study.certified_gap)
        if number == 30:
            study.exclude({"chunk": "256"})
        if number == 40:
            study.tighten(0.25)
    return study, gaps


def read(study: Study) -> History:
    history: Any = History(study)
    study.sync()
    history.note(study._fold.prefix, study.certified_gap, study.epsilon)
    assert history.wait(60)
    return history


def test_the_past_is_what_was_proven_at_the_time() -> None:
    study, gaps = told("challenger", 60)
    points = read(study).points()
    assert [point[0] for point in points] == list(range(1, 61))
    assert [point[2] for point in points] == [0.5] * 41 + [0.25] * 19
    seen = np.array([point[1] for point in points])
    assert np.isfinite(seen).any()
    np.testing.assert_allclose(seen, gaps, rtol=1e-9)


def test_it_reads_on_as_trials_come_in() -> None:
    study, _ = told("challenger", 45)
    history = read(study)
    for _ in range(5):
        trial = study.ask()
        study.tell(trial, score(trial.plan))
    study.sync()
    history.note(study._fold.prefix, study.certified_gap, study.epsilon)
    assert history.wait(60)
    assert [point[0] for point in history.points(45)] == [46, 47, 48, 49, 50]
    assert history.points()[-1][1] == study.certified_gap


def test_where_noise_is_learned_the_past_is_followed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REPLAYED", 20)
    study, gaps = told({"name": "challenger", "sigma": "unknown"}, 45)
    history = read(study)
    assert history.complete
    assert history.missing == 25
    points = history.points()
    assert [point[0] for point in points] == [*range(1, 21), 45]
    np.testing.assert_allclose([point[1] for point in points[:20]], gaps[:20])
    assert points[-1][1] == gaps[-1]


def test_thinning_keeps_the_ends_and_the_shape() -> None:
    points = [(i, 1.0 / i, 0.1) for i in range(1, 50_001)]
    kept = thin(points)
    assert len(kept) <= MOST_POINTS
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert set(kept) <= set(points)
    numbers = np.array([point[0] for point in kept])
    assert np.diff(numbers).max() <= 50_000 / (MOST_POINTS // 2) * 1.1
    assert np.diff(np.log(numbers[numbers > 100])).max() < 0.07
