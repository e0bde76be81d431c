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
from surepath.model.paths import best_path

SIGMA_FACTOR = 1.5  # times the upper end of the interval for a step's noise
PILOT_CONFIDENCE = 0.95
ALARM = 0.01  # a warning has at most this probability where there is nothing to warn of
MOST_PILOT_PLAYS = 1_000


class Scatter(NamedTuple):
    """Scatter of the scores of a step or an option."""

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
    """Estimates and warnings from a pilot."""

    trials: int
    steps: list[Scatter]  # of each step, all its options pooled
    sigma: float | None  # SIGMA_FACTOR times the largest upper end over the steps; None where too little was seen
    warnings: list[str]  # reasons not to take it: heavy tails, drift, dependence, very unequal options


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
    """Estimate the noise from trials, (path, rewards) each in the order they were played; rewards may be a prefix."""
    scores: list[tuple[int, int, int, float]] = []  # stage, arc, trial, reward
    for i, (path, rewards) in enumerate(trials):
        arcs, seen = mdp.check_path(path), np.asarray(rewards, dtype=np.float64)
        for h, reward in enumerate(seen.tolist()):
            if not mdp.is_known[arcs[h]]:
                scores.append((h, int(arcs[h]), i, reward))
    if not scores:
        raise StudyError("the pilot holds no scores yet")
    stages, arcs_, orders = np.array([score[:3] for score in scores], dtype=np.int64).T
    values = np.array([score[3] for score in scores])
    counts = np.bincount(arcs_, minlength=mdp.n_arcs)
    means = np.bincount(arcs_, values, mdp.n_arcs) / np.maximum(counts, 1)
    rest = values - means[arcs_]
    names = mdp.step_labels or tuple(f"step {h + 1}" for h in range(mdp.horizon))
    steps = [_scatter(names[h], rest[stages == h], len(set(arcs_[stages == h].tolist()))) for h in range(mdp.horizon)]
    options = [_scatter(_option(mdp, names, e), rest[arcs_ == e], 1) for e in np.flatnonzero(counts > 1).tolist()]
    highs = [step.high for step in steps if np.isfinite(step.high)]
    sigma = SIGMA_FACTOR * max(highs) if highs and max(highs) > 0 else None
    scale = np.array([step.deviation for step in steps])[stages]
    usable = (counts[arcs_] > 1) & (scale > 0)
    shrink = np.sqrt(1 - 1 / np.maximum(counts[arcs_], 2))
    z = np.where(usable, rest / np.where(usable, scale * shrink, 1.0), np.nan)
    warnings = _warnings(z, stages, orders, options, steps)
    seen_steps = [step for step in steps if step.scores]
    return Pilot(len(trials), seen_steps, sigma, warnings)


def _option(mdp: MDP, names: Sequence[str], arc: int) -> str:
    """Return the name of an option with its step and its state."""
    return f"{names[int(mdp.arcs.stage[arc])]} = {mdp.action_label(arc)} (in {mdp.state_label(int(mdp.source[arc]))})"


def _scatter(name: str, rest: FloatArray, groups: int) -> Scatter:
    from scipy.stats import chi2

    freedom = len(rest) - groups
    if freedom < 1:
        return Scatter(name, len(rest), np.nan, np.nan, np.nan)
    square = float((rest**2).sum())
    ends = square / chi2.ppf([(1 + PILOT_CONFIDENCE) / 2, (1 - PILOT_CONFIDENCE) / 2], freedom)
    return Scatter(name, len(rest), float(np.sqrt(square / freedom)), *(float(np.sqrt(end)) for end in ends))


def _warnings(
    z: FloatArray, stages: IntArray, orders: IntArray, options: list[Scatter], steps: list[Scatter]
) -> list[str]:
    """Find what a sigma cannot describe, in the standardised residuals; each test has its share of ALARM."""
    from scipy.stats import norm, spearmanr

    share, words = ALARM / 4, []
    fine = np.isfinite(z)
    if fine.sum() >= 8:
        worst, limit = float(np.abs(z[fine]).max()), float(norm.isf(share / (2 * fine.sum())))
        if worst > limit:
            words.append(
                f"heavy tails: one score lies {worst:.1f} standard deviations from the mean of its option, and "
                f"Gaussian scores would hardly pass {limit:.1f}; a sigma may not describe them, a range would"
            )
        drift = spearmanr(orders[fine], z[fine])
        if drift.pvalue < share:
            words.append(
                f"drift: scores {'rise' if drift.statistic > 0 else 'fall'} from the first trial to the last "
                f"(rank correlation {drift.statistic:.2f}); trials must be repeats of the same thing"
            )
    table = np.full((int(orders.max()) + 1, int(stages.max()) + 1), np.nan)
    table[orders[fine], stages[fine]] = z[fine]
    both = np.isfinite(table[:, :-1]) & np.isfinite(table[:, 1:])
    if both.sum() >= 8:
        linked = spearmanr(table[:, :-1][both], table[:, 1:][both])
        if linked.pvalue < share:
            words.append(
                f"dependence: the score of a step goes with that of the step before (rank correlation "
                f"{linked.statistic:.2f}); a score should depend on its own step's state and option alone"
            )
    pooled = max((step.deviation for step in steps if np.isfinite(step.deviation)), default=np.nan)
    loud = [option for option in options if option.low > 1.5 * pooled]
    if loud:
        words.append(f"unequal noise: {loud[0].name} scatters by {loud[0].deviation:.3g}, most others by {pooled:.3g}")
    return words
