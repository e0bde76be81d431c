"""Worlds that fit the evidence, drawn at random.

The mean of an arc that was seen n times is normal around its empirical mean with variance sigma^2 / n; means of arcs
that were never seen are drawn widely around those that were.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath._types import FloatArray
from surepath.learners.base import Learner
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import Bounded, Gaussian


def draw_world(mdp: MDP, learner: Learner, rng: np.random.Generator) -> Instance:
    """Draw a world: means of all arcs, in the user's direction, and noise as declared."""
    visits, sigma = learner.visits, learner.noise_now()
    mean = np.where(np.isnan(learner.means), 0.0, learner.means)
    if mdp.charge is not None:  # from worths back to scores
        mean = np.where(np.isnan(learner.means), 0.0, learner.means + mdp.sign * mdp.charge)
    seen = (visits > 0) & ~mdp.is_known
    drawn = mean + np.where(seen, sigma / np.sqrt(np.maximum(visits, 1)), 0.0) * rng.standard_normal(mdp.n_arcs)
    unseen = ~seen & ~mdp.is_known
    if unseen.any():
        drawn[unseen] = _unseen(mdp, mean[seen], sigma, unseen, rng)
    if mdp.reward_range is None:
        return Instance(mdp, Gaussian(drawn, np.where(mdp.is_known, 1.0, sigma)))
    low, high = mdp.reward_range
    inside = np.where(mdp.is_known, mean, np.clip(drawn, low, high))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (inside - low) * (high - inside) / sigma**2 - 1.0
    steady = ratio[np.isfinite(ratio) & seen]
    concentration = float(np.clip(np.median(steady), 0.5, 1e4)) if steady.size else 4.0
    half = np.where(mdp.is_known, 0.0, sigma * np.sqrt(concentration + 1.0))  # where no range is declared: the beta
    low = np.where(np.isfinite(low), low, inside - half)  # law whose standard deviation is sigma
    high = np.where(np.isfinite(high), high, inside + half)
    return Instance(mdp, Bounded(low, high, inside, concentration=concentration))


def _unseen(mdp: MDP, known: FloatArray, sigma: FloatArray, unseen: Any, rng: np.random.Generator) -> FloatArray:
    """Draw means for arcs without any score: over the declared range, or widely around the others."""
    size = int(unseen.sum())
    low, high = (np.full(mdp.n_arcs, np.inf),) * 2 if mdp.reward_range is None else mdp.reward_range
    bounded = np.isfinite(low[unseen]) & np.isfinite(high[unseen])
    drawn = np.empty(size)
    low, high = low[unseen][bounded], high[unseen][bounded]
    drawn[bounded] = low + (high - low) * rng.random(low.size)
    if not bounded.all():
        centre, spread = (float(known.mean()), float(known.std())) if known.size else (0.0, 0.0)
        width = 2.0 * spread + float(sigma.max()) or 1.0
        drawn[~bounded] = centre + width * rng.standard_normal(size - low.size)
    return drawn
