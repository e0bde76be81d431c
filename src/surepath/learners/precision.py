"""How precisely double precision holds the rewards of a problem, and whether that is enough for epsilon."""

from __future__ import annotations

import numpy as np

from surepath._text import word
from surepath._types import FloatArray
from surepath.errors import RewardError, SurepathError
from surepath.model.mdp import MDP
from surepath.model.plans import step_in_words

# Rounding of one mean, relative to its size: the reward itself, its difference from the origin, sum, quotient.
ROUNDING = 2.0**-50


class Sizes:
    """How large the rewards of each stage are, which says how coarsely double precision holds them.

    Each reward is off by a few units of its size, and a difference of two paths by H times that. What else rounding
    does to sums is allowed for where something is decided.

    Attributes:
        low, high: Least and largest gain of each stage so far, float [H]; infinite where there is none.
    """

    def __init__(self, mdp: MDP) -> None:
        self.low: FloatArray = np.full(mdp.horizon, np.inf)
        self.high: FloatArray = np.full(mdp.horizon, -np.inf)
        if mdp.known is not None:
            arcs = np.flatnonzero(mdp.is_known)
            stage = np.searchsorted(mdp.stage_arc, arcs, side="right") - 1
            np.minimum.at(self.low, stage, mdp.known_gain[arcs])
            np.maximum.at(self.high, stage, mdp.known_gain[arcs])

    def with_gains(self, gains: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and largest gain of each stage once these gains, of the first stages, are counted."""
        low, high = self.low.copy(), self.high.copy()
        low[: len(gains)] = np.minimum(low[: len(gains)], gains)
        high[: len(gains)] = np.maximum(high[: len(gains)], gains)
        return low, high


def rounding_of(low: FloatArray, high: FloatArray) -> float:
    """Bound what rounding of the rewards themselves can do to the difference of two paths in these ranges."""
    seen = high >= low
    if not seen.any():
        return 0.0
    return float(2.0**-49 * len(low) * np.maximum(np.abs(low[seen]), np.abs(high[seen])).max())


def check_decidable(
    mdp: MDP, low: FloatArray, high: FloatArray, epsilon: float, error: type[SurepathError] = RewardError
) -> None:
    """Refuse rewards so large that double precision cannot hold what epsilon asks for."""
    rounding = rounding_of(low, high)
    if epsilon > 0 and rounding > epsilon:
        sizes = np.where(high >= low, np.maximum(np.abs(low), np.abs(high)), 0.0)
        h = int(np.argmax(sizes))
        rewards, returns = word("rewards", "scores"), word("returns of paths", "total scores of plans")
        raise error(
            f"{rewards} of size {sizes[h]:g} at {step_in_words(mdp, h)} make the {returns} uncertain by "
            f"{rounding:.1g} in double precision, too coarse for epsilon {epsilon:g}; subtract the same amount from "
            f"all {rewards} of a {word('stage', 'step')}, or ask for a larger epsilon"
        )
