"""What must be known of the rewards before anything can be proven: their noise, and that numbers can hold it."""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.errors import RewardError, SettingError
from surepath.model.mdp import MDP
from surepath.model.plans import step_in_words

# Rounding of one mean, relative to its size: the reward itself, its difference from the origin, sum, quotient.
ROUNDING = 2.0**-50


def declared_sigma(mdp: MDP, who: str) -> FloatArray:
    """Find the noise that a problem declares: its sigma, or half of its range (Hoeffding's lemma), float [N].

    An arc to learn that declares neither is refused: nothing can be proven of rewards whose noise has no bound.
    """
    missing = mdp.noise_missing(who)
    if missing is not None:
        raise SettingError(missing)
    return mdp.declared_sigma


def check_known_decidable(mdp: MDP, epsilon: float) -> None:
    """Refuse known rewards so large that their rounding is no smaller than epsilon."""
    if mdp.known is None or epsilon == 0:
        return
    size = float(np.nanmax(np.abs(mdp.known), initial=0.0))
    if 2 * mdp.horizon * ROUNDING * size > epsilon:
        raise SettingError(
            f"a known reward of size {size:g} is held to within {ROUNDING * size:.1g}, too coarse for epsilon "
            f"{epsilon:g}; subtract the same amount from all rewards of a step, or ask for a larger epsilon"
        )


def check_decidable(mdp: MDP, path: IntArray, gains: FloatArray, epsilon: float) -> None:
    """Refuse rewards so large that double precision cannot hold what epsilon asks for."""
    if epsilon == 0 or not len(gains):
        return
    learned = np.where(mdp.is_known[path[: len(gains)]], 0.0, np.abs(gains))
    h = int(np.argmax(learned))
    if 2 * mdp.horizon * ROUNDING * learned[h] > epsilon:
        raise RewardError(
            f"the reward at {step_in_words(mdp, h)} has size {learned[h]:g} and is held to within "
            f"{ROUNDING * learned[h]:.1g}, too coarse for epsilon {epsilon:g}; subtract the same amount from all "
            f"rewards of this step, or ask for a larger epsilon"
        )
