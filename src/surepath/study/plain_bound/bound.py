"""Challenger's bound a second time, in plain NumPy: an independent reading of the theorem for those who check a proof.

From the docs ("Challenger: the theorem"), for a path p, any other path q, K the arcs in exactly one of the two, an
entry of the bound and a slope k > 0:

    G(q | p) = Vhat(q) - Vhat(p) + k sum over K of [h*(a / k) + 1/2 log(1 + n / c)]
               + k [log(1 / (delta weight)) - log prior(p | q)],       a = sigma sqrt(n + c) / n.

With probability 1 - delta the best path q has V(q) - V(p) <= G(q | p), always. So p is proven to be within g of the
best when every path q has G(q | p) <= g for some entry and slope. Paths are not listed: all rows (entry, slope) make
their passes side by side, arcs are the first axis and rows the second, and an arc is cleared when the largest G of a
path through it is at most g for one row. The rounds are repeated with what is left. At the first arc of q that is
cleared, all of q was still there.

Where the noise of an arc is learned, its width comes from its scores instead (`learned.py`), and an unknown sigma is
bounded first (`sigma.py`). Nothing here is shared with the compiled code but the problem itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound.entries import OWN, RIVAL, Entries
from surepath.study.plain_bound.evidence import Sums
from surepath.study.plain_bound.learned import LEARNED_KINDS, LearnedEntries
from surepath.study.plain_bound.passes import Ends

UNIT = 2.0**-50  # what rounding may do to one mean or one term of a sum, relative to its size
BLOCK_NUMBERS = 4_000_000  # numbers of one block of rows


class Rows(NamedTuple):
    """Weights of arcs at several slopes of one entry, computed side by side."""

    weight: FloatArray  # [N, rows]; -inf on arcs that do not count
    constant: FloatArray  # [rows] turns weights of paths into G
    wall: float  # of rows for arcs without noise, else 0
    ends: Ends | None  # for single excursions: what they pay where they leave the path and where they meet it again


class PlainBound:
    """The bound of one study: settings are those that were frozen when it was created."""

    def __init__(self, mdp: MDP, settings: Mapping[str, Any]) -> None:
        learned = any(entry["kind"] in LEARNED_KINDS for entry in settings["bound"]["entries"])
        self.mdp, self.needs_scores = mdp, learned
        self.entries = LearnedEntries(mdp, settings) if learned else Entries(mdp, settings)
        self.passes, self.sigma = self.entries.passes, self.entries.sigma

    # Rows over all arcs ------------------------------------------------------------------------------------------

    def rows(self, seen: Sums, path: IntArray, alive: BoolArray, single: bool) -> Iterator[Rows]:
        """Yield all rows, of whole paths or of single excursions off the path."""
        mdp, entries = self.mdp, self.entries
        on = np.zeros(mdp.n_arcs, dtype=bool)
        on[path] = True
        mean, blur = self.means(seen)
        arcs = np.flatnonzero(alive & ~on)
        own = path[mdp.arcs.stage[arcs]]
        gain = (mean[arcs] + blur[arcs]) - (mean[own] - blur[own])
        quiet = (self.sigma[arcs] == 0) & (self.sigma[own] == 0)
        if quiet.any():
            wall = 16.0 * mdp.horizon * float(np.abs(mean[alive | on]).max()) + 1.0
            weight = np.full((mdp.n_arcs, 1), -np.inf)
            weight[arcs, 0], weight[path, 0] = np.where(quiet, mean[arcs] - mean[own], wall), 0.0
            free = np.zeros((mdp.horizon + 1, 1))
            yield Rows(weight, np.zeros(1), wall, Ends(path, free[:-1], free) if single else None)
        for entry in entries.bound["entries"]:
            price = entries.price(entry, path, single)
            slopes = entries.slopes(entry, seen, alive | on)
            for k in np.array_split(slopes, 1 + len(slopes) * mdp.n_arcs // BLOCK_NUMBERS):
                weight = np.full((mdp.n_arcs, len(k)), -np.inf)
                width = entries.width(entry, OWN, seen, k, path)[mdp.arcs.stage[arcs]]
                width += entries.width(entry, RIVAL, seen, k, arcs)
                weight[arcs] = gain[:, None] + width + price.arc[arcs, None] * k
                weight[path] = price.arc[path, None] * k
                weight[np.isnan(weight)] = np.inf
                ends = Ends(path, price.leaving[:, None] * k, price.meeting[:, None] * k) if single else None
                yield Rows(weight, price.fixed * k, 0.0, ends)

    def means(self, seen: Sums) -> tuple[FloatArray, FloatArray]:
        """Return the empirical mean of each arc and what rounding may have done to it."""
        mdp = self.mdp
        mean = seen.origin + seen.sums / np.maximum(seen.visits, 1)
        blur = 0.5 * UNIT * (np.abs(mean) + np.abs(seen.origin) + 0.5 * np.abs(seen.sums))
        if mdp.known is not None:
            mean = np.where(mdp.is_known, mdp.known_gain, mean)
        return mean, np.where(self.sigma > 0, blur, 0.0)

    def slack(self, seen: Sums, path: IntArray, alive: BoolArray) -> float:
        """Bound what rounding can do to a sum of H differences of means."""
        mean, on = self.means(seen)[0], alive.copy()
        on[path] = True
        first = self.mdp.stage_arc[:-1]
        high = np.maximum.reduceat(np.where(on, mean, -np.inf), first)
        low = np.minimum.reduceat(np.where(on, mean, np.inf), first)
        return float(UNIT * (self.mdp.horizon + 4) * (high - low).sum())

    # Answers -----------------------------------------------------------------------------------------------------

    def all_seen(self, seen: Sums, path: IntArray, alive: BoolArray) -> bool:
        """Return whether every arc that counts was visited or is known; nothing can be proven before."""
        needed = alive.copy()
        needed[path] = True
        return not bool((needed & (seen.visits == 0) & ~self.mdp.is_known).any())

    def proves(self, seen: Sums, path: IntArray, alive: BoolArray, gap: float) -> bool:
        """Return whether every path over `alive` is proven to be at most `gap` better than `path`.

        With gap 0 single excursions may do: if each of those of the best path is no gain, neither is their sum.
        """
        if not self.all_seen(seen, path, alive):
            return False
        if gap == 0 and self._clears(seen, path, alive, gap, single=True):
            return True
        return self._clears(seen, path, alive, gap, single=False)

    def _clears(self, seen: Sums, path: IntArray, alive: BoolArray, gap: float, single: bool) -> bool:
        slack = self.slack(seen, path, alive) + 5e-13 * gap
        live, left, before = alive.copy(), alive.copy(), -1
        live[path], left[path] = True, False
        while left.any() and int(left.sum()) != before:
            before = int(left.sum())
            cleared = np.zeros(len(left), dtype=bool)
            for rows in self.rows(seen, path, live, single):
                most = min(gap + slack, rows.wall / 2) if rows.wall else gap - slack
                cleared |= (self.passes.through(rows.weight, rows.ends) + rows.constant <= most).any(axis=1)
            live &= ~(cleared & left)
            left &= ~cleared
        return not left.any()

    def gap(self, seen: Sums, path: IntArray, alive: BoolArray, precision: float = 1e-3) -> float:
        """Find the least gap that `proves` confirms, to one part in a thousand, from above."""
        if not self.all_seen(seen, path, alive):
            return float("inf")
        if self.proves(seen, path, alive, 0.0):
            return 0.0
        low, high = 0.0, max(1e-300, self.slack(seen, path, alive), float(self.sigma.max()))
        while not self.proves(seen, path, alive, high):
            low, high = high, 2 * high
            if not np.isfinite(high):
                return float("inf")
        while high - low > precision * high:
            middle = (low + high) / 2
            if self.proves(seen, path, alive, middle):
                high = middle
            else:
                low = middle
        return high

    def ruled_out(self, seen: Sums, path: IntArray, alive: BoolArray) -> BoolArray:
        """Find the arcs that are not on the best path, which lies within `alive`.

        All paths through such an arc, or all single excursions off `path` through it, have G < 0 for some row.
        """
        alive, out, on = alive.copy(), np.zeros(len(alive), dtype=bool), np.zeros(len(alive), dtype=bool)
        if not self.all_seen(seen, path, alive):
            return out
        on[path] = True
        slack, count = self.slack(seen, path, alive), -1
        while int(out.sum()) != count:
            count = int(out.sum())
            for single in (True, False):
                for rows in self.rows(seen, path, alive | on, single):
                    through = self.passes.through(rows.weight, rows.ends) + rows.constant
                    out |= alive & ~on & (through < -slack).any(axis=1)
                alive &= ~out
        return out
