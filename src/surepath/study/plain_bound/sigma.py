"""Gaussian noise of one unknown size a second time, in plain NumPy (docs, "Unknown noise").

RSS is the sum of (X - m)^2 over all scores but the first of each arc, m the mean of the arc's scores before; nu is
their number. Arcs without noise, by a known score or a declared sigma of 0, add to neither. With probability 1 - eta
delta at all times, eta delta what the entries of the bound leave of delta,

    sigma^2 <= min over t of t RSS / ( nu/2 log(1 + 2t) - log(J / (eta delta)) ),    t one of J = 8 numbers.

The bound of the theorem grows with sigma, so this bound on it is taken in its place. Nothing else changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from surepath._types import BoolArray, IntArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound.bound import PlainBound
from surepath.study.plain_bound.evidence import Sums, sum_of_squares

SIGMA_TILTS = np.geomspace(0.03, 3.0, 8)
LARGEST_SIGMA = 1e100  # in place of infinity: only what needs no noise can be proven with it


def without_noise(mdp: MDP) -> BoolArray:
    """Find the arcs that are declared exact: sigma 0, or a range of one value and no sigma."""
    exact = np.zeros(mdp.n_arcs, dtype=bool) if mdp.sigma is None else np.asarray(mdp.sigma == 0)
    if mdp.reward_range is not None:
        bare = np.ones(mdp.n_arcs, dtype=bool) if mdp.sigma is None else np.isnan(mdp.sigma)
        exact |= bare & (mdp.reward_range[0] == mdp.reward_range[1])
    return exact


def differing_sigmas(mdp: MDP) -> list[float]:
    """List the sizes of noise that are declared, if they are several."""
    if mdp.sigma is None:
        return []
    sizes = np.unique(mdp.sigma[~mdp.is_known & (mdp.sigma > 0)]).tolist()
    return sizes if len(sizes) > 1 else []


class UnknownSigma:
    """The bound of a study whose sigma is unknown."""

    needs_scores = True

    def __init__(self, mdp: MDP, settings: Mapping[str, Any]) -> None:
        self.plain = PlainBound(mdp, {**settings, "sigma": np.where(without_noise(mdp), 0.0, 1.0)})
        spare = 1.0 - sum(float(entry["weight"]) for entry in settings["bound"]["entries"])
        self.part = max(0.0, spare) * float(settings["delta"])

    def sigma(self, seen: Sums) -> float:
        """Bound an unknown sigma from above by the scores seen."""
        assert seen.scores is not None
        total, count = sum_of_squares(seen.scores, np.where(self.plain.sigma > 0, seen.visits, 0))
        if self.part == 0.0:
            return LARGEST_SIGMA
        margin = count / 2 * np.log1p(2 * SIGMA_TILTS) - np.log(len(SIGMA_TILTS) / self.part)
        if not (margin > 0).any():
            return LARGEST_SIGMA
        bound = (SIGMA_TILTS[margin > 0] * total / margin[margin > 0]).min()
        return float(min(LARGEST_SIGMA, np.sqrt(bound) * (1 + 1e-13)))

    def _at(self, seen: Sums) -> PlainBound:
        """Return the bound with what is known of sigma by then."""
        plain = copy(self.plain)
        plain.entries = copy(plain.entries)
        plain.sigma = plain.entries.sigma = self.plain.sigma * self.sigma(seen)
        return plain

    def proves(self, seen: Sums, path: IntArray, alive: BoolArray, gap: float) -> bool:
        """Return whether every path over `alive` is proven to be at most `gap` better than `path`."""
        return self._at(seen).proves(seen, path, alive, gap)

    def gap(self, seen: Sums, path: IntArray, alive: BoolArray, precision: float = 1e-3) -> float:
        """Find the least gap that is proven, or infinity."""
        return self._at(seen).gap(seen, path, alive, precision)

    def ruled_out(self, seen: Sums, path: IntArray, alive: BoolArray) -> BoolArray:
        """Find the arcs that are proven not to be on the best path, given that it lies within `alive`."""
        return self._at(seen).ruled_out(seen, path, alive)
