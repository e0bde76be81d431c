"""The bound of EPRL, BPI-UCRL and Uniform a second time: an interval for every arc, in plain NumPy.

With probability 1 - delta every mean lies within its interval rhat +- b, always. So a path p is within
max over q of U(q) - L(p) of the best, where U and L add up upper and lower ends and q runs over what is not ruled out.

    paper     b = sigma sqrt(2 log(4 n^2 N / delta) / n)
    mixture   b = sigma sqrt(2 (n + c) (log(M / delta) + 1/2 log(1 + n / c))) / n,  M arcs to learn

An arc is ruled out when every path through it that is left has an upper value below the lower value of some feasible
path; or when that holds for what follows its state.

Where the noise of scores in a range is learned, every arc to learn has one process and every arc whose noise is learned
two; each may fail with the same chance, delta over their number N. Half the width is the least of three:

    the mixture's, with sigma or half the range, as above and with N in place of M;
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

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound.bernstein import integrals, log_start, squares
from surepath.study.plain_bound.bound import UNIT
from surepath.study.plain_bound.evidence import Sums
from surepath.study.plain_bound.learned import learned_arcs
from surepath.study.plain_bound.passes import Passes

WIDTHS = ("paper", "mixture")
PARTS = ((0.5, 0.4), (4.0, 0.4), (64.0, 0.2))  # precisions and shares of the mixture that learns the noise


class PlainIntervals:
    """The intervals of one study."""

    needs_scores = False

    def __init__(self, mdp: MDP, settings: Mapping[str, Any], feasible: BoolArray) -> None:
        self.mdp, self.passes, self.feasible = mdp, Passes(mdp), feasible
        self.delta, self.kind = float(settings["delta"]), str(settings["widths"])
        self.prior, self.processes = float(settings["prior"]), max(1, int((~mdp.is_known).sum()))
        sigma = np.broadcast_to(np.asarray(settings["sigma"], dtype=np.float64), (mdp.n_arcs,))
        self.sigma = np.where(mdp.is_known, 0.0, sigma)

    def widths(self, seen: Sums, n: FloatArray) -> FloatArray:
        """Return the width of every arc after n visits."""
        if self.kind == "paper":
            return np.asarray(self.sigma * np.sqrt(2 * np.log(4 * n * n * self.mdp.n_arcs / self.delta) / n))
        c = self.prior
        radius = np.log(self.processes / self.delta) + np.log1p(n / c) / 2
        return np.asarray(self.sigma * np.sqrt(2 * (n + c) * radius) / n)

    def interval(self, seen: Sums) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper end of every arc, rounding allowed for; infinite where nothing was seen."""
        mdp, n = self.mdp, np.maximum(seen.visits, 1).astype(np.float64)
        mean, width = seen.origin + seen.sums / n, self.widths(seen, n)
        width += (
            UNIT * (mdp.horizon + 2) / 4 * (np.abs(mean) + width) + UNIT * (np.abs(seen.origin) + np.abs(seen.sums)) / 4
        )
        low, high = mean - width, mean + width
        low[seen.visits == 0], high[seen.visits == 0] = -np.inf, np.inf
        if mdp.known is not None:
            known = mdp.is_known
            low[known] = high[known] = mdp.known_gain[known]
        return low, high

    def gap(self, seen: Sums, path: IntArray, alive: BoolArray, precision: float = 1e-3) -> float:
        """Return the largest upper value of what is left minus the lower value of the path; 0 when it alone is left."""
        left = alive.copy()
        left[path] = True
        open_paths = self.passes.through(np.where(left, 0.0, -np.inf)[:, None])[:, 0] == 0.0
        if int(open_paths.sum()) == self.mdp.horizon:
            return 0.0
        low, high = self.interval(seen)
        if not (np.isfinite(low[path]).all() and np.isfinite(high[open_paths]).all()):
            return float("inf")
        best = self.passes.ahead(np.where(open_paths, high, -np.inf)[:, None])[0, 0]
        return max(0.0, float(best - low[path].sum()))

    def proves(self, seen: Sums, path: IntArray, alive: BoolArray, gap: float) -> bool:
        """Return whether the path is proven to be within `gap` of every path over `alive`."""
        return self.gap(seen, path, alive) <= gap

    def ruled_out(self, seen: Sums, path: IntArray, alive: BoolArray) -> BoolArray:
        """Find the arcs that cannot be on the best path, by whole paths or by what follows their state."""
        low, high = self.interval(seen)
        floor = self.passes.ahead(np.where(self.feasible, low, -np.inf)[:, None])[:, 0]
        upper = np.where(alive, high, -np.inf)[:, None]
        with np.errstate(invalid="ignore"):
            through = self.passes.through(upper)[:, 0]
            after = high + self.passes.ahead(upper)[self.mdp.target, 0]
            out = (through < floor[0]) | (after < floor[self.mdp.source])
        return np.asarray(alive & out)


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
    """Return Sbar, the most that a sum of deviations can be at this V, or a little more."""
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
