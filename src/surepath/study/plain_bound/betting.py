"""Betting a second time: what the scores of one option exclude of its mean (docs, "Unknown noise").

    P(r, l) = product over the scores x in [0, 1] of (1 + l (r - x)),      M(r) = p0 + sum over l of prior(l) P(r, l),

with 1 - x for x and 1 - r for r on the incumbent's side. The tilts l of a mean r are those of its cell, shares of what
may be bet at the cell's left end: fixed before the data, and numbers of this kind of entry as much as its name is.
Bets with a tilt stop when P at the right end of the cell has reached MOST.

What is computed: log P at both ends and in the middle of each cell, as sums of logarithms. log P is concave in r, so
between two neighbours it lies above the chord. In its place that makes log M at least f, a log-sum-exp of affine
functions, convex. A convex function lies above its tangents: f is at least the tangent at the left end up to some
point, and at least the tangent at the right end from there on. So the supremum of (r - mean) - k log M(r) over the
stretch is at most the largest of three lines in k: those of its two ends and of the point where the tangents meet.
"""

from __future__ import annotations

import numpy as np

from surepath._types import BoolArray, FloatArray

CELLS, TILTS = 128, 20
SHARES = np.geomspace(1e-3, 0.98, TILTS)
UNBET = 0.01  # p0
LOG_MOST = 200 * np.log(10.0)
CHUNK = 32  # factors multiplied before a logarithm is taken: each is between 0.02 and 6600
FLOAT_SPACING = 2.0**-52
SAFETY = 1e-11  # of log M, relative and absolute

_EDGE = (1 - np.cos(np.pi * np.arange(CELLS + 1) / CELLS)) / 2
_EDGE[0], _EDGE[-1] = 0.0, 1.0
_AT = np.stack([_EDGE[:-1], (_EDGE[:-1] + _EDGE[1:]) / 2, _EDGE[1:]])  # [3, CELLS]
_TILT = SHARES[:, None] / (1 - _EDGE[:-1])  # [TILTS, CELLS]
_LOSS = 50 * FLOAT_SPACING * (1 + _TILT)  # what rounding can do to the logarithm of one factor, which is at least 0.02


class Bets:
    """The logarithms of P for the scores of one option, on one side."""

    def __init__(self) -> None:
        self.number = 0
        self.log: FloatArray = np.zeros((3, TILTS, CELLS))
        self.stopped: BoolArray = np.zeros((TILTS, CELLS), dtype=bool)

    def take(self, x: FloatArray) -> None:
        """Add scores, in their order."""
        for begin in range(0, len(x), CHUNK):
            some = x[begin : begin + CHUNK]
            factor = 1 + _TILT * (_AT[:, None, :] - some[:, None, None, None])  # [scores, 3, TILTS, CELLS]
            most = self.log[2] + len(some) * np.log(np.maximum(factor[:, 2].max(axis=0), 1.0))
            plain = ~self.stopped & (most < LOG_MOST)
            self.log += np.where(plain, np.log(np.multiply.reduce(factor, axis=0)), 0.0)
            near = ~self.stopped & ~plain
            if near.any():
                self._step_by_step(np.log(factor[:, :, near]), near)
        self.number += len(x)

    def _step_by_step(self, logs: FloatArray, near: BoolArray) -> None:
        """Add scores one by one where the bets may stop among them; logs are [scores, 3, number of True in near]."""
        course = np.cumsum(logs, axis=0)
        over = self.log[2, near] + course[:, 2] >= LOG_MOST
        stops = over.any(axis=0)
        last = np.where(stops, over.argmax(axis=0), len(logs) - 1)
        self.log[:, near] += course[last, :, np.arange(len(last))].T
        self.stopped[near] = stops

    def lines(self, c: float) -> tuple[FloatArray, FloatArray]:
        """Return heights and falls of lines: no r - k log M(r) exceeds the largest height - k fall at any slope k.

        Lines that are lower than another at every slope are left out.
        """
        power = np.log(_TILT) - c * _TILT**2 / 2
        prior = power - power.max(axis=0)
        prior += np.log((1 - UNBET) * (1 - 1e-12)) - np.log(np.exp(prior).sum(axis=0))
        log = self.log - self.number * _LOSS
        power = prior + log  # [3, TILTS, CELLS]
        top = np.maximum(power.max(axis=1), np.log(UNBET))
        mass = np.exp(power - top[:, None])
        total = mass.sum(axis=1) + np.exp(np.log(UNBET) - top)
        f, part = top + np.log(total), mass / total[:, None]
        height, fall = [_AT], [f - SAFETY * (1 + np.abs(f))]
        for left in (0, 1):
            rise = log[left + 1] - log[left]
            d0, d1 = (part[left] * rise).sum(axis=0), (part[left + 1] * rise).sum(axis=0)
            f0, f1 = f[left], f[left + 1]
            with np.errstate(divide="ignore", invalid="ignore"):
                meet = np.clip(np.nan_to_num((f1 - f0 - d1) / (d0 - d1), nan=0.5), 0.0, 1.0)
            here = np.minimum(f0 + meet * d0, f1 - (1 - meet) * d1)
            height.append((_AT[left] + meet * (_AT[left + 1] - _AT[left]))[None])
            fall.append((here - SAFETY * (1 + np.abs(f0) + np.abs(f1) + d0 + d1))[None])
        heights, falls = np.concatenate(height).ravel(), np.concatenate(fall).ravel()
        order = np.lexsort((falls, -heights))
        heights, falls = heights[order], falls[order]
        kept = np.append(True, falls[1:] < np.minimum.accumulate(falls)[:-1])
        return heights[kept], falls[kept]


def widths(lines: tuple[FloatArray, FloatArray], mean: float, slopes: FloatArray) -> FloatArray:
    """Return the width for rewards in [0, 1] at each slope."""
    heights, falls = lines
    return np.asarray((heights[:, None] - falls[:, None] * slopes).max(axis=0) - mean)
