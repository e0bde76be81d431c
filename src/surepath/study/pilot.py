"""A pilot: a few plays of every option before the study, to see how far scores scatter.

The plays are fixed in advance, so they are valid data of a study whose noise was declared without reading them: by a
range, or by a sigma known beforehand. What they say about the noise is an estimate from few scores and no bound: a
sigma taken from here is a declaration of the person who takes it, the certificate says so, and to be strict the study
that uses it must not count the scores that it was taken from. Where a range of scores is known, declare that instead,
and nothing has to be guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import FloatArray, IntArray, whole
from surepath._text import many
from surepath.errors import StudyError
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, step_names

SIGMA_FACTOR = 1.5  # times the upper end of the interval for a step's noise
PILOT_CONFIDENCE = 0.95
MOST_PILOT_PLAYS = 1_000


class Scatter(NamedTuple):
    """Scatter of the scores of a step, all its options pooled."""

    name: str
    scores: int
    deviation: float  # standard deviation around the options' own means; NaN where nothing was seen twice
    low: float  # interval that holds the true one with probability PILOT_CONFIDENCE if scores are Gaussian
    high: float

    def __str__(self) -> str:
        if np.isnan(self.deviation):
            return f"  {self.name}: {many(self.scores, 'score')}, none of them twice for one option"
        span = f"{PILOT_CONFIDENCE:.0%} interval {self.low:.3g} to {self.high:.3g}"
        return f"  {self.name}: {many(self.scores, 'score')} that scatter by {self.deviation:.3g} ({span})"


class Pilot(NamedTuple):
    """Estimates from a pilot."""

    trials: int
    steps: list[Scatter]
    sigma: float | None  # SIGMA_FACTOR times the largest upper end over the steps; None where too little was seen


def pilot_paths(mdp: MDP, plays: int) -> IntArray:
    """Choose paths that play every option to be learned at least `plays` times, int [n, H]; few, and evenly spread."""
    count = whole("plays", plays, low=1, high=MOST_PILOT_PLAYS)
    visits = np.zeros(mdp.n_arcs, dtype=np.int64)
    paths: list[IntArray] = []
    while True:
        need = np.where(mdp.is_known, 0, np.maximum(count - visits, 0)).astype(np.float64)
        if not need.any():
            return np.array(paths, dtype=np.int64).reshape(-1, mdp.horizon)
        path = best_path(mdp, need - 1e-3 * visits / (1 + visits.max()))
        if not need[path].any():  # the slight preference for what was seen less must never win
            path = best_path(mdp, need)
        visits[path] += 1
        paths.append(path)


def read_pilot(mdp: MDP, trials: Sequence[tuple[Any, Any]]) -> Pilot:
    """Estimate the noise from trials, (path, rewards) each; rewards may be a prefix."""
    scores = [
        (arc, float(reward))
        for path, rewards in trials
        for arc, reward in zip(mdp.check_path(path).tolist(), rewards)
        if not mdp.is_known[arc]
    ]
    if not scores:
        raise StudyError("the pilot holds no scores yet")
    arcs, values = np.array([arc for arc, _ in scores]), np.array([reward for _, reward in scores])
    means = np.bincount(arcs, values, mdp.n_arcs) / np.maximum(np.bincount(arcs, minlength=mdp.n_arcs), 1)
    steps = []
    for h, name in enumerate(step_names(mdp)):
        own = mdp.arcs.stage[arcs] == h
        if own.any():
            steps.append(_scatter(str(name), (values - means[arcs])[own], len(set(arcs[own].tolist()))))
    high = max((step.high for step in steps if np.isfinite(step.high)), default=0.0)
    return Pilot(len(trials), steps, SIGMA_FACTOR * high if high > 0 else None)


def _scatter(name: str, rest: FloatArray, groups: int) -> Scatter:
    from scipy.stats import chi2

    freedom = len(rest) - groups
    if freedom < 1:
        return Scatter(name, len(rest), np.nan, np.nan, np.nan)
    square = float((rest**2).sum())
    ends = square / chi2.ppf([(1 + PILOT_CONFIDENCE) / 2, (1 - PILOT_CONFIDENCE) / 2], freedom)
    return Scatter(name, len(rest), float(np.sqrt(square / freedom)), *(float(np.sqrt(end)) for end in ends))
