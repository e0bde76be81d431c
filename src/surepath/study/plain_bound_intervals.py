"""Intervals of EPRL, BPI-UCRL and Uniform that learn the noise of scores in a range, a second time, in plain NumPy.

Every arc to learn has one process and every arc whose noise is learned two; each may fail with the same chance, delta
over their number N. Half the width is the least of three:

    the mixture's, with sigma or half the range, as elsewhere and with N in place of M;
    range * Sbar / n, where log M(Sbar, V) = log(2 N / delta), M the mixture of Bernstein's processes with c = 1/2, 4
    and 64 in shares of 40 %, 40 % and 20 % (docs, "Unknown noise");
    the range.

log M is convex and rises with S, so Newton's method comes to Sbar from the right: wherever it ends, the bound holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from surepath._types import BoolArray, FloatArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound_arcs import PlainIntervals
from surepath.study.plain_bound_bernstein import integrals, log_start, squares
from surepath.study.plain_bound_entries import Sums
from surepath.study.plain_bound_learned import learned_arcs

PARTS = ((0.5, 0.4), (4.0, 0.4), (64.0, 0.2))


class LearnedIntervals(PlainIntervals):
    """The intervals of one study; `Sums` must come with their scores."""

    needs_scores = True

    def __init__(self, mdp: MDP, settings: Mapping[str, Any], feasible: BoolArray) -> None:
        super().__init__(mdp, settings, feasible)
        self.learns = learned_arcs(mdp)
        self.processes = max(1, int((~mdp.is_known).sum() + self.learns.sum()))

    def widths(self, seen: Sums, n: FloatArray) -> FloatArray:
        """Return the width of every arc after n visits."""
        assert seen.scores is not None
        assert self.mdp.gain_range is not None
        width, budget = super().widths(seen, n), float(np.log(2 * self.processes / self.delta))
        for arc in np.flatnonzero(self.learns & (seen.visits > 0)).tolist():
            low, high = (end[arc] for end in self.mdp.gain_range)
            gains = seen.scores.first(arc, int(seen.visits[arc]))
            v = squares(np.clip((gains - low) / (high - low), 0.0, 1.0))  # the same for 1 - x
            most = largest_sum(budget, v * (1 + 1e-15 * n[arc]) + 1e-15 * n[arc])
            width[arc] = min(width[arc], high - low, (high - low) * most / n[arc])
        return width


@lru_cache(maxsize=4096)
def largest_sum(budget: float, v: float) -> float:
    """Return Sbar, or a little more."""
    s = np.array([np.sqrt(2 * (v + PARTS[-1][0]) * budget) + 2 * budget])
    for _ in range(60):
        logs, tilts = [], []
        for c, share in PARTS:
            log_z, tilt, _ = integrals(s, v + c)
            logs.append(np.log(share) + log_z - log_start(c))
            tilts.append(tilt)
        value = np.logaddexp.reduce(logs)
        rise = (np.exp(np.array(logs) - value) * tilts).sum(axis=0)
        step = (budget - value) / rise
        s = s + step
        if abs(step[0]) <= 1e-9 * s[0]:
            break
    return float(s[0] * (1 + 1e-8))
