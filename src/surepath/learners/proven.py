"""The proven gap of a study: the certified one, once it says more than the declared ranges do."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath._types import IntArray
from surepath.model.mdp import MDP
from surepath.model.paths import best_path


def proven_gap(learner: Any) -> float:
    """Return a learner's certified gap; infinite while the declared ranges alone say as much.

    Example:
        >>> from surepath import MDP, Challenger
        >>> learner = Challenger(MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, reward_range=(0, 1)), 0.1, 0.1)
        >>> for _ in range(4):
        ...     learner.tell(learner.ask(), [0.5, 0.5])
        >>> learner.certified_gap() > 2, proven_gap(learner)
        (True, inf)
    """
    return gap_beyond_ranges(learner, float(learner.certified_gap()))


def gap_beyond_ranges(learner: Any, gap: float) -> float:
    """Return a gap of a learner's recommended path; infinite while the ranges alone say as much."""
    if learner.stopped or not np.isfinite(gap) or gap < range_gap(learner.mdp, learner.recommend()):
        return gap
    return float("inf")


def range_gap(mdp: MDP, path: IntArray) -> float:
    """Return how far a path can be from the best by the declared ranges alone; infinite where some arc has none."""
    if mdp.gain_range is None:
        return float("inf")
    low, high = (np.where(mdp.is_known, mdp.known_gain, end) for end in mdp.gain_range)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return float("inf")
    high[path] = low[path]  # what two paths share cannot set them apart
    return float(high[best_path(mdp, high)].sum() - low[path].sum())
