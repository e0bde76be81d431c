"""The parts of Challenger's bound where the noise of some arcs is learned, in plain NumPy (docs, "Unknown noise").

An entry of kind "betting" or "bernstein" gives an arc whose noise is learned the width of its process, computed from
the arc's scores one after the other, and every other arc that of a half-normal entry. Everything is in units of the
arc's range. Which arcs these are follows from the problem: those that declare a range and no sigma; where there is none
of that kind, all that declare a range. Their precisions c count squares of scores, rounded to powers of 2; beside them
c counts VISITS visits for a square.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.model.mdp import MDP
from surepath.study.plain_bound import bernstein, betting
from surepath.study.plain_bound.entries import OWN, Entries, Entry
from surepath.study.plain_bound.evidence import Scores, Sums

LEARNED_KINDS = ("bernstein", "betting")
VISITS = 25.0
LEAST_C, MOST_C = 0.25, 2.0**24
BELOW, ABOVE = 16.0, 4.0  # how far beyond the slopes that the sizes of the noise suggest


def learned_arcs(mdp: MDP) -> BoolArray:
    """Find the arcs whose noise is learned."""
    if mdp.reward_range is None:
        return np.zeros(mdp.n_arcs, dtype=bool)
    low, high = mdp.reward_range
    ranged = np.isfinite(low) & np.isfinite(high) & (high > low) & ~mdp.is_known
    bare = ranged & np.isnan(mdp.sigma) if mdp.sigma is not None else ranged
    return np.asarray(bare if bare.any() else ranged)


class LearnedEntries(Entries):
    """The entries of a bound that learns the noise of scores in a range; `Sums` must come with their scores."""

    def __init__(self, mdp: MDP, settings: Mapping[str, Any]) -> None:
        super().__init__(mdp, settings)
        self.learns = learned_arcs(mdp)
        self.low, self.span = np.zeros(mdp.n_arcs), np.ones(mdp.n_arcs)
        if mdp.gain_range is not None:
            low, high = (end[self.learns] for end in mdp.gain_range)
            self.low[self.learns], self.span[self.learns] = low, high - low
        self._scores: Scores | None = None
        self._squares: dict[int, tuple[int, float]] = {}  # by arc: visits, V
        self._bets: dict[tuple[int, str], betting.Bets] = {}
        self._lines: dict[tuple[int, str, float], tuple[int, tuple[FloatArray, FloatArray]]] = {}

    def precision(self, entry: Entry, side: str) -> FloatArray:
        """Return c, the precision of the prior, of every arc; a power of 2 where noise is learned."""
        c = super().precision(entry, side)
        if entry["kind"] not in LEARNED_KINDS:
            return c
        return np.where(self.learns, np.clip(2.0 ** np.round(np.log2(c)), LEAST_C, MOST_C), VISITS * c)

    def sizes(self, entry: Entry, seen: Sums, side: str, arcs: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what decides which slopes to try: for a process, the best is about (sqrt(V / 2B) + 1) span / n."""
        a, extra = super().sizes(entry, seen, side, arcs)
        if entry["kind"] in LEARNED_KINDS:
            c, cost = self.precision(entry, side), self.cost(entry)
            for i, arc in enumerate(arcs.tolist()):
                if self.learns[arc]:
                    w = self.squares(seen, arc) + c[arc]
                    a[i] = self.span[arc] * (np.sqrt(w) + np.sqrt(2 * cost)) / seen.visits[arc]
                    extra[i] = np.log(w / c[arc]) / 2
        return a, extra

    def slopes(self, entry: Entry, seen: Sums, alive: BoolArray) -> FloatArray:
        """Choose slopes; here far beyond both ends: the best slope of a process is known roughly alone."""
        slopes = super().slopes(entry, seen, alive)
        if entry["kind"] not in LEARNED_KINDS or len(slopes) < 2:
            return slopes
        ratio = slopes[1] / slopes[0]
        below, above = (int(np.ceil(np.log(far) / np.log(ratio))) for far in (BELOW, ABOVE))
        lower = slopes[0] * ratio ** -np.arange(below, 0.0, -1.0)
        return np.concatenate([lower, slopes, slopes[-1] * ratio ** np.arange(1.0, above + 1)])

    def width(self, entry: Entry, side: str, seen: Sums, slopes: FloatArray, arcs: IntArray) -> FloatArray:
        """Return w of each arc for each slope, float [arcs, rows]."""
        wide = super().width(entry, side, seen, slopes, arcs)
        if entry["kind"] in LEARNED_KINDS:
            c = self.precision(entry, side)
            for i, arc in enumerate(arcs.tolist()):
                if self.learns[arc] and self.sigma[arc] > 0:
                    k, span = slopes / self.span[arc], self.span[arc]
                    if entry["kind"] == "betting":
                        wide[i] = span * self._betting(seen, side, arc, float(c[arc]), k)
                    else:
                        w, n = self.squares(seen, arc) + c[arc], int(seen.visits[arc])
                        wide[i] = span * bernstein.widths(float(w), start_of(float(c[arc])), float(c[arc]), n, k)
        return wide

    # From the scores ---------------------------------------------------------------------------------------------

    def scaled(self, seen: Sums, arc: int) -> FloatArray:
        """Return the scores of an arc in units of its range, from 0 to 1."""
        assert seen.scores is not None
        gains = seen.scores.first(arc, int(seen.visits[arc]))
        return np.asarray(np.clip((gains - self.low[arc]) / self.span[arc], 0.0, 1.0))

    def _forget_others(self, seen: Sums) -> None:
        if seen.scores is not self._scores:
            self._scores = seen.scores
            for known in (self._squares, self._bets, self._lines):
                known.clear()

    def squares(self, seen: Sums, arc: int) -> float:
        """Return V of an arc, or a little more."""
        self._forget_others(seen)
        n = int(seen.visits[arc])
        known = self._squares.get(arc)
        if known is None or known[0] != n:
            known = self._squares[arc] = n, bernstein.squares(self.scaled(seen, arc)) * (1 + 1e-15 * n) + 1e-15 * n
        return known[1]

    def _betting(self, seen: Sums, side: str, arc: int, c: float, slopes: FloatArray) -> FloatArray:
        self._forget_others(seen)
        n = int(seen.visits[arc])
        mean = (seen.origin[arc] + seen.sums[arc] / n - self.low[arc]) / self.span[arc]
        known = self._lines.get((arc, side, c))
        if known is None or known[0] != n:
            bets = self._bets.get((arc, side))
            if bets is None or bets.number > n:
                bets = self._bets[arc, side] = betting.Bets()
            x = self.scaled(seen, arc)[bets.number :]
            bets.take(1 - x if side == OWN else x)
            known = self._lines[arc, side, c] = n, bets.lines(c)
        return betting.widths(known[1], float(1 - mean if side == OWN else mean), slopes)


@lru_cache(maxsize=1024)
def start_of(c: float) -> float:
    """Return log Z(0, c) of the Bernstein process."""
    return bernstein.log_start(c)
