"""The bound of EPRL, BPI-UCRL and Uniform a second time: an interval for every arc, in plain NumPy.

With probability 1 - delta every mean lies within its interval rhat +- b, always. So a path p is within
max over q of U(q) - L(p) of the best, where U and L add up upper and lower ends and q runs over what is not ruled out.

    paper     b = sigma sqrt(2 log(4 n^2 N / delta) / n)
    mixture   b = sigma sqrt(2 (n + c) (log(M / delta) + 1/2 log(1 + n / c))) / n,  M arcs to learn

An arc is ruled out when every path through it that is left has an upper value below the lower value of some feasible
path; or when that holds for what follows its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound import UNIT
from surepath.study.plain_bound_entries import Sums
from surepath.study.plain_bound_passes import Passes

WIDTHS = ("paper", "mixture")


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
        """Tell whether the path is proven to be within `gap` of every path over `alive`."""
        return self.gap(seen, path, alive) <= gap

    def ruled_out(self, seen: Sums, path: IntArray, alive: BoolArray) -> BoolArray:
        """Find the arcs that cannot be on the best path, by whole paths or by what follows their state."""
        low, high = self.interval(seen)
        floor = self.passes.ahead(np.where(self.feasible, low, -np.inf)[:, None])[:, 0]
        upper = np.where(alive, high, -np.inf)[:, None]
        with np.errstate(invalid="ignore"):
            through = self.passes.through(upper)[:, 0]
            after = high + self.passes.ahead(upper)[self.mdp.target, 0]
            gone = (through < floor[0]) | (after < floor[self.mdp.source])
        return np.asarray(alive & gone)
