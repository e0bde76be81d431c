"""Arcs whose noise is learned, as the kernels of a learner see them: settings, scratch, and the width at a slope.

An entry of kind BERNSTEIN or BETTING gives such an arc the width of its process (`bernstein.py`, `betting.py`), and
every other arc its usual one. All widths of a process are in units of the arc's range, and so are V and c: a reward x
of an arc with range [low, low + span] counts as (x - low) / span.

What a learner does not use is None, all of it or one of the two processes: kernels ask first whether it is, and Numba
leaves out what follows when it compiles them.

Where the Bernstein width is infinite, at k <= 1.01 span / n, the range itself bounds it: r - mean <= span, and M at any
r of the range is at least 0.39 / (2 n + c), since V <= n, S >= -n and psi(l) <= l for l <= 1/2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.kernels.jit import Whole, inner_kernel, optional_kernel
from surepath.learners.challenger.noise.bernstein import (
    Bernstein,
    bernstein_conjugate,
    bernstein_row,
    bernstein_table,
    bernstein_values,
    log_start,
)
from surepath.learners.challenger.noise.betting import (
    Betting,
    BetWidths,
    bet,
    bet_values,
    bet_width,
    betting_of,
    new_bet_widths,
    tabulate,
)
from surepath.learners.declared_noise import Ranges

BERNSTEIN, BETTING = 10, 11  # kinds of entries
LEAST_PRECISION, MOST_PRECISION = 0.25, 2.0**24


class Learned(NamedTuple):
    """Settings: what is fixed before the data."""

    learns: BoolArray  # [N] whether this arc's noise is learned
    low: FloatArray  # [N] least gain
    span: FloatArray  # [N] width of the range
    log_span: FloatArray  # [N]
    start: FloatArray  # [2, J, N] log Z(0, c) of the Bernstein process; no arcs where no entry is of that kind
    which: IntArray  # [2, J, N] number of the betting prior; no arcs where no entry is of that kind
    bernstein: Bernstein | None  # None where no entry is of that kind
    betting: Betting | None


class LearnedScratch(NamedTuple):
    """Scratch: what follows from the evidence."""

    per: FloatArray  # [N] span / n
    log_per: FloatArray  # [N]
    ceiling: FloatArray  # [N] width where the process gives none
    row: IntArray  # [2, J, N] of the Bernstein table
    beyond: FloatArray  # [2, J, N] what W exceeds that row's by
    bets: BetWidths | None


def rounded(c: FloatArray) -> FloatArray:
    """Round c to a power of 2, so that few priors serve all arcs; any c fixed in advance is valid."""
    return np.asarray(np.clip(2.0 ** np.round(np.log2(c)), LEAST_PRECISION, MOST_PRECISION))


def learned_of(ranges: Ranges, kind: IntArray, c: FloatArray) -> Learned | None:
    """Return the settings for entries of these kinds [J] and these c [2, J, N]; None where no noise is learned."""
    if not ranges.learns.any():
        return None
    calm, bold = kind == BERNSTEIN, kind == BETTING
    betting = None
    start = np.zeros(c.shape if calm.any() else (2, len(kind), 0))
    which = np.zeros(c.shape if bold.any() else (2, len(kind), 0), dtype=np.int64)
    if calm.any():
        own, place = np.unique(c[:, calm], return_inverse=True)
        start[:, calm] = log_start(own)[place].reshape(c[:, calm].shape)
    if bold.any():
        own, place = np.unique(c[:, bold][:, :, ranges.learns], return_inverse=True)
        here = np.zeros(c[:, bold].shape, dtype=np.int64)
        here[:, :, ranges.learns] = place.reshape(2, int(bold.sum()), -1)
        which[:, bold] = here
        betting = betting_of(own)
    return Learned(
        learns=ranges.learns.copy(),
        low=ranges.low.copy(),
        span=ranges.span.copy(),
        log_span=np.log(ranges.span),
        start=start,
        which=which,
        bernstein=bernstein_table() if calm.any() else None,
        betting=betting,
    )


def new_learned_scratch(learned: Learned | None) -> LearnedScratch | None:
    """Allocate scratch; None where no noise is learned."""
    if learned is None:
        return None
    arcs, entries = len(learned.learns), learned.start.shape[1]
    calm, bold = learned.start.shape[2], learned.which.shape[2]
    return LearnedScratch(
        per=np.zeros(arcs),
        log_per=np.zeros(arcs),
        ceiling=np.zeros(arcs),
        row=np.zeros((2, entries, calm), dtype=np.int64),
        beyond=np.zeros((2, entries, calm)),
        bets=new_bet_widths(bold, entries) if bold else None,
    )


@optional_kernel
def is_learned(learned: Learned | None, e: int | np.uint64) -> bool:
    """Return whether the noise of arc e is learned. Where `learned` is None, no code for learned noise is compiled."""
    if learned is None:
        return False
    return bool(learned.learns[e])


@optional_kernel
def learn(
    learned: Learned | None,
    squares: FloatArray,
    product: FloatArray | None,
    n: int,
    mean: float,
    e: int,
    gain: float,
) -> None:
    """Take in a gain of an arc whose noise is learned; n and mean are those of the gains before it."""
    if learned is None:
        return
    span = learned.span[e]
    x = min(max((gain - learned.low[e]) / span, 0.0), 1.0)
    guess = 0.5
    if n > 0:
        guess = (0.5 + n * min(max((mean - learned.low[e]) / span, 0.0), 1.0)) / (n + 1.0)
    squares[e] += (x - guess) * (x - guess)
    bet(learned.betting, product, e, x)


@inner_kernel
def refresh_visits(learned: Learned, learned_work: LearnedScratch, e: int, n: int) -> None:
    """Recompute what depends on the visits of arc e alone."""
    learned_work.per[e] = learned.span[e] / n
    learned_work.log_per[e] = learned.log_span[e] - np.log(n)
    learned_work.ceiling[e] = learned.span[e] * (1.0 + 1.01 * (np.log(2.0 * n + MOST_PRECISION) + 1.0) / n)


@optional_kernel
def refresh_bernstein(
    table: Bernstein | None, learned_work: LearnedScratch, side: Whole, j: Whole, e: int, w: float
) -> None:
    """Recompute the place of arc e in the Bernstein table for entry j; w is V + c."""
    if table is None:
        return
    row = bernstein_row(table, w)
    learned_work.row[side, j, e] = row
    learned_work.beyond[side, j, e] = w - table.w[row]


@inner_kernel
def refresh_bets(
    learned: Learned,
    product: FloatArray | None,
    learned_work: LearnedScratch,
    side: Whole,
    j: Whole,
    e: int,
    mean: float,
) -> None:
    """Recompute the betting widths of arc e for entry j, after `halve` for this side."""
    x = (mean - learned.low[e]) / learned.span[e]
    which = learned.which[side, j, e]
    tabulate(learned.betting, product, learned_work.bets, e, side, j, which, x if side == 0 else 1.0 - x)


@optional_kernel
def bernstein_width(
    table: Bernstein | None,
    learned_work: LearnedScratch,
    start: FloatArray,
    side: Whole | np.uint64,
    j: Whole | np.uint64,
    k: float,
    log_k: float,
    e: int | np.uint64,
) -> float:
    """Return the width of an arc by the Bernstein process, at slope k."""
    if table is None:
        return 0.0
    y = learned_work.per[e] / k
    row, beyond = learned_work.row[side, j, e], learned_work.beyond[side, j, e]
    here = bernstein_conjugate(table, row, beyond, y, learned_work.log_per[e] - log_k)
    return float(learned_work.ceiling[e] if here == np.inf else k * (here + start[side, j, e]))


@optional_kernel
def convex_from(learned: Learned | None, learned_work: LearnedScratch | None, alive: BoolArray) -> float:
    """Return a slope from which on no range bounds the Bernstein width of one of these arcs: convex in k from there on.

    0 where no noise is learned.
    """
    if learned is None:
        return 0.0
    if learned_work is None:
        return 0.0
    most = 0.0
    for e in range(len(alive)):
        if alive[e] and learned.learns[e]:
            most = max(most, learned_work.per[e])
    return 1.02 * most


@optional_kernel
def learned_width(
    learned: Learned | None,
    learned_work: LearnedScratch | None,
    kind: Whole,
    side: Whole | np.uint64,
    j: Whole | np.uint64,
    k: float,
    log_k: float,
    e: int | np.uint64,
) -> float:
    """Return the width of an arc whose noise is learned, at slope k."""
    if learned is None:
        return 0.0
    if learned_work is None:
        return 0.0
    if kind == BERNSTEIN:
        return bernstein_width(learned.bernstein, learned_work, learned.start, side, j, k, log_k, e)
    span = learned.span[e]
    return float(
        span * bet_width(learned.betting, learned_work.bets, side, j, e, k / span, log_k - learned.log_span[e])
    )


def learned_values(
    learned: Learned, learned_work: LearnedScratch, kind: int, side: int, j: int, k: FloatArray, e: int
) -> FloatArray:
    """Return the widths of arc e for an array of slopes: what the kernel computes, in NumPy."""
    if kind == BERNSTEIN:
        assert learned.bernstein is not None
        row, beyond = int(learned_work.row[side, j, e]), float(learned_work.beyond[side, j, e])
        value = bernstein_values(learned.bernstein, row, beyond, learned_work.per[e] / k)
        return np.asarray(np.where(np.isinf(value), learned_work.ceiling[e], k * (value + learned.start[side, j, e])))
    assert learned.betting is not None
    assert learned_work.bets is not None
    span = learned.span[e]
    return np.asarray(span * bet_values(learned.betting, learned_work.bets.table[side, j, e], k / span))
