"""Noise that Challenger learns: bets on rewards in a range, one unknown sigma, and what kernels need of both."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray, one_of
from surepath.errors import SettingError
from surepath.kernels.jit import Whole, folded_kernel, hot_kernel, inner_kernel, optional_kernel
from surepath.model.mdp import MDP

# Declared noise -------------------------------------------------------------------------------------------------------
# NOISES: "sigma" takes the declared sigma, or half the range where only a range is declared; "bernstein" and "betting"
# learn the noise of the arcs that declare a range and no sigma. Where all of them declare a sigma too, both count.

NOISES = ("sigma", "bernstein", "betting")
MOST_BETS = 200  # arcs with betting tables, 82 kB each in a snapshot


class Ranges(NamedTuple):
    """The ranges of gains, rewards turned so that larger is better."""

    learns: BoolArray  # [N] the noise of this arc is learned
    low: FloatArray  # [N] least gain, 0 where nothing is learned
    span: FloatArray  # [N] width of the range, 1 where nothing is learned


def has_range(mdp: MDP) -> BoolArray:
    """Return which arcs to learn declare a range that is finite and wider than one value."""
    if mdp.reward_range is None:
        return np.zeros(mdp.n_arcs, dtype=np.bool_)
    low, high = mdp.reward_range
    return np.isfinite(low) & np.isfinite(high) & (high > low) & ~mdp.is_known


def learned_arcs(mdp: MDP) -> BoolArray:
    """Return whose noise can be learned: arcs with a range and no sigma, or all with a range if there are none."""
    ranged = has_range(mdp)
    bare = ranged if mdp.sigma is None else ranged & np.isnan(mdp.sigma)
    return bare if bare.any() else ranged


def choose_noise(mdp: MDP, given: str | None, declared: bool) -> str:
    """Return the setting `noise` as given, or by default betting where a range is declared, and no sigma or given."""
    ranged = has_range(mdp)
    if given is not None:
        if one_of("noise", given, NOISES) != "sigma" and not ranged.any():
            raise SettingError(
                f'noise="{given}" learns the noise of scores in a range, and no option to learn declares one'
            )
        return given
    bare = ranged if mdp.sigma is None else ranged & np.isnan(mdp.sigma)
    if declared or not bare.any():
        return "sigma"
    return "betting" if int(bare.sum()) <= MOST_BETS else "bernstein"


def ranges_of(mdp: MDP, noise: str) -> Ranges:
    """Return the ranges that a learner with this noise uses."""
    learns = np.zeros(mdp.n_arcs, dtype=np.bool_) if noise == "sigma" else learned_arcs(mdp)
    low, span = np.zeros(mdp.n_arcs), np.ones(mdp.n_arcs)
    if mdp.gain_range is not None:
        least, most = mdp.gain_range
        low[learns], span[learns] = least[learns], (most - least)[learns]
    return Ranges(learns, low, span)


# Bernstein ------------------------------------------------------------------------------------------------------------
# Empirical Bernstein: a process for rewards in [0, 1] that learns their variance (proof: docs, "Unknown noise").
#
# Legend: m a guess of a reward X made before it, V the sum of (X - m)^2, S the sum of r - X (or of X - r), R the range,
# psi(l) = -log(1 - l) - l, Z(S, W) = integral over 0 < l < 1 of exp(l S - psi(l) W), c > 0 fixed in advance,
#
#     M = Z(S, V + c) / Z(0, c),      w(k) = k [ Z*(y, V + c) + log Z(0, c) ],   y = R / (n k),
#
# infinite for y >= 1. Between its points the table takes the tangent in W at both neighbours in y and the chord between
# the two, never below Z*. Left of the table Z*(y) <= Z*(y0) + log(y0 / y).

LEAST_W, MOST_W, W_RATIO = 0.25, 1e9, 1.5
LEAST_TILT, MIDDLE_TILT, MOST_TILT = 5e-7, 0.25, 0.9925  # a logarithmic scale below the middle, an even one above
LOG_TILT_STEP, TILT_STEP = 0.05, 0.0075
TABLE_SAFETY = 1e-9  # rounding of the points, added on the safe side

_NODES, _SHARES = np.polynomial.legendre.leggauss(96)
_POWER = 4  # 1 - l = v^4 takes the edge off (1 - l)^W at l = 1


class Bernstein(NamedTuple):
    """Z* and its slope in W on a grid."""

    w: FloatArray  # [rows]
    y: FloatArray  # [points]
    per_y: FloatArray  # [points] 1 / distance to the next point
    value: FloatArray  # [rows, points] Z*
    slope: FloatArray  # [rows, points] of Z* in W
    log_low: float
    middle: int  # the point at MIDDLE_TILT


NO_TABLE = Bernstein(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)), 0.0, 0)


def log_mixture(s: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Compute log Z(S, W), and mean and variance of l and the mean of psi(l) under the mixture that Z integrates."""
    spread, root = s + w, np.sqrt(w + 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        right = np.where(s >= 0, (w + 1 + 14 * root + 60) / spread, 1.0)
        left = np.where(s >= 0, (w + 1 - 14 * root) / spread, 1 - np.minimum(45 / -s, 14 / np.sqrt(w)))
    ends = [np.clip(end, 0.0, 1.0) ** (1 / _POWER) for end in (left, right)]
    half = (ends[1] - ends[0]) / 2
    v = (ends[0] + half)[..., None] + half[..., None] * _NODES
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = 1.0 - v**_POWER
        psi = -_POWER * np.log(v) - tilt
        power = s[..., None] * tilt - w[..., None] * psi
        top = power.max(axis=-1)
        mass = np.exp(power - top[..., None]) * (_POWER * v ** (_POWER - 1)) * _SHARES
    total = mass.sum(axis=-1)
    mean = (mass * tilt).sum(axis=-1) / total
    variance = (mass * (tilt - mean[..., None]) ** 2).sum(axis=-1) / total
    return top + np.log(total * half), mean, variance, (mass * psi).sum(axis=-1) / total


def log_start(c: FloatArray) -> FloatArray:
    """Compute log Z(0, c), the cost of the prior."""
    return log_mixture(np.zeros_like(c), c)[0] + TABLE_SAFETY


def conjugate_points(y: FloatArray, w: float) -> tuple[FloatArray, FloatArray]:
    """Compute Z*(y, w) and its slope in w, for increasing y in (0, 1)."""
    root = np.sqrt(w)
    s = np.concatenate([-np.geomspace(4 / y[0], root / 100, 60), np.geomspace(root / 100, 4e3 * (w + root + 1), 60)])
    mean = log_mixture(s, np.full_like(s, w))[1]
    rising = np.concatenate([[True], np.diff(np.maximum.accumulate(mean)) > 0])
    mean, s = mean[rising], s[rising]
    logit = np.log(mean) - np.log1p(-np.minimum(mean, 1 - 1e-15))
    guess = root * np.sinh(np.interp(np.log(y / (1 - y)), logit, np.arcsinh(s / root)))
    wide = np.full_like(y, w)
    for _ in range(3):
        _, mean, variance, _ = log_mixture(guess, wide)
        step = (y - mean) / variance
        guess = guess + np.clip(step, -0.3 * (np.abs(guess) + root), 0.3 * (np.abs(guess) + root))
    log_z, mean, variance, psi = log_mixture(guess, wide)
    left = (y - mean) ** 2 / variance  # more than what is still missing to the supremum
    return y * guess - log_z + left, psi


@lru_cache(maxsize=1)
def bernstein_table() -> Bernstein:
    """Return the table, computed once."""
    rows = int(np.ceil(np.log(MOST_W / LEAST_W) / np.log(W_RATIO))) + 1
    w = LEAST_W * W_RATIO ** np.arange(rows, dtype=np.float64)
    middle = int(np.ceil(np.log(MIDDLE_TILT / LEAST_TILT) / LOG_TILT_STEP))
    low = MIDDLE_TILT * np.exp(-LOG_TILT_STEP * np.arange(middle, 0, -1))
    y = np.concatenate([low, np.arange(MIDDLE_TILT, MOST_TILT + TILT_STEP / 2, TILT_STEP)])
    value, slope = (np.stack(both) for both in zip(*(conjugate_points(y, float(one)) for one in w)))
    value += TABLE_SAFETY * (1 + np.abs(value) + w[:, None] * slope)
    return Bernstein(w, y, np.append(1 / np.diff(y), 0.0), value, slope, float(np.log(low[0])), middle)


@hot_kernel
def bernstein_row(table: Bernstein, w: float) -> int:
    """Return the row of the table nearest to W on a logarithmic scale."""
    place = np.log(w / LEAST_W) / np.log(W_RATIO) + 0.5
    return int(min(max(place, 0.0), len(table.w) - 1.0))


@hot_kernel
def bernstein_conjugate(table: Bernstein, row: int, beyond: float, y: float, log_y: float) -> float:
    """Compute Z*(y, W) or a little above it, W = table.w[row] + beyond; log_y must be the logarithm of y."""
    if y < MIDDLE_TILT:
        place = (log_y - table.log_low) * (1.0 / LOG_TILT_STEP)
        if not place >= 0.0:
            return float(table.value[row, 0] + beyond * table.slope[row, 0] + (table.log_low - log_y))
        point = min(int(place), table.middle - 1)
    else:
        point = table.middle + int((y - MIDDLE_TILT) * (1.0 / TILT_STEP))
        if not point < len(table.y) - 1:
            return np.inf
    at, i, up = np.uint64(row), np.uint64(point), np.uint64(point + 1)
    share = (y - table.y[i]) * table.per_y[i]
    low = table.value[at, i] + beyond * table.slope[at, i]
    high = table.value[at, up] + beyond * table.slope[at, up]
    return float(low + share * (high - low))


# Betting --------------------------------------------------------------------------------------------------------------
# Betting: a process for rewards in [0, 1] that excludes what they exclude, cell by cell of the mean (docs, same page).
#
# Legend: x a reward in [0, 1], or 1 minus it on the incumbent's side; cells of r, the i-th from r_i to r_(i+1); shares
# 0 < g < 1 of all that may be bet; l = g / (1 - r_i), a tilt of cell i; prior(g) proportional to l exp(-c l^2 / 2).
#
#     P(r, l) = product over the rewards of (1 + l (r - x)),      M(r) = p0 + sum over g of prior(g) P(r, l)
#     w(k) = sup over r of (r - mean) - k log M(r)
#
# Kept are the products at both ends of each cell, L and R. With f0, fm, f1 the log M that they bound at its left end,
# half-way and at its right end, w(k) is at most the maximum of three lines in k a cell: where f0 meets the chord from
# fm to f1 continued with f0, half-way with fm, and at the right end with 2 fm - f0. It is tabulated over slopes at
# every reward; chords between them lie above it. Bets stop where R has grown beyond MOST_PRODUCT: a stopped martingale.

CELLS, TILTS = 128, 20
LEAST_SHARE, MOST_SHARE = 1e-3, 0.98
UNBET = 0.01  # p0
MOST_PRODUCT, LEAST_PRODUCT = 1e200, 1e-200
LEAST_K, K_STEP, SLOPES = 1e-6, 0.1, 200  # the grid of slopes, logarithmic, for a range of 1
LOG_SAFETY = 1e-9  # what rounding can do to log M, relative and absolute
LARGEST_LOG = 300.0  # log M counts for no more where smaller is safe
LEFT, RIGHT = range(2)


class Betting(NamedTuple):
    """Cells, tilts and priors, fixed before the data."""

    edge: FloatArray  # [CELLS + 1] r_i
    tilt: FloatArray  # [TILTS, CELLS] l
    base: FloatArray  # [2, TILTS, CELLS] 1 + l r at the left and at the right end
    prior: FloatArray  # [C, TILTS, CELLS] one for each c that is in use; the sum over tilts is 1 - p0
    slope: FloatArray  # [SLOPES] the grid of k
    per_slope: FloatArray  # [SLOPES] 1 / distance to the next


class BetWidths(NamedTuple):
    """Widths by slope, which follow from the products, and scratch arrays to compute them."""

    table: FloatArray  # [2, J, N, SLOPES + 2]; then the width at k = 0, and the rise beyond the grid
    middle: FloatArray  # [TILTS, CELLS] products half-way through the cells
    mass: FloatArray  # [3, CELLS] M at the left end, half-way, at the right end
    line: FloatArray  # [3 CELLS, 2] lines on the envelope: height at k = 0, fall


@lru_cache(maxsize=16)
def _betting(cs: tuple[float, ...]) -> Betting:
    edge = 0.5 - 0.5 * np.cos(np.pi * np.arange(CELLS + 1) / CELLS)  # finer where a mean allows little noise
    edge[0], edge[-1] = 0.0, 1.0
    share = np.geomspace(LEAST_SHARE, MOST_SHARE, TILTS)
    tilt = share[:, None] / (1 - edge[:-1])
    power = np.log(tilt) - np.array(cs)[:, None, None] * tilt**2 / 2
    prior = np.exp(power - power.max(axis=1, keepdims=True))
    prior *= (1 - UNBET) * (1 - 1e-12) / prior.sum(axis=1, keepdims=True)
    slope = LEAST_K * np.exp(K_STEP * np.arange(SLOPES))
    base = np.stack([1 + tilt * edge[:-1], 1 + tilt * edge[1:]])
    return Betting(edge, tilt, base, prior, slope, np.append(1 / np.diff(slope), 0.0))


def betting_of(cs: FloatArray) -> Betting:
    """Build tilts, and the priors for these c."""
    return _betting(tuple(np.asarray(cs, dtype=np.float64).tolist()))


def new_bets(arcs: int) -> FloatArray:
    """Allocate the products of nothing seen yet, [N, 2, 2, TILTS, CELLS], by side and end: evidence."""
    return np.ones((arcs, 2, 2, TILTS, CELLS))


def new_bet_widths(arcs: int, entries: int) -> BetWidths:
    """Allocate the tables of widths, with nothing computed yet."""
    table = np.full((2, entries, arcs, SLOPES + 2), np.inf)
    return BetWidths(table, np.zeros((TILTS, CELLS)), np.zeros((3, CELLS)), np.zeros((3 * CELLS, 2)))


@inner_kernel
def bet(betting: Betting, product: FloatArray, e: int, rival: float, own: float) -> None:
    """Take in a reward of arc e: x in [0, 1] on a rival's side, 1 - x on the incumbent's; 1 on both where missing."""
    at, zero, one = np.uint64(e), np.uint64(LEFT), np.uint64(RIGHT)
    for side in range(np.uint64(2)):
        seen = rival if side == zero else own
        for g in range(np.uint64(TILTS)):
            for i in range(np.uint64(CELLS)):
                left, right = product[at, side, zero, g, i], product[at, side, one, g, i]
                lost = betting.tilt[g, i] * seen
                new_left, new_right = left * (betting.base[zero, g, i] - lost), right * (betting.base[one, g, i] - lost)
                new_left = new_left if new_left > LEAST_PRODUCT else 0.0
                new_right = new_right if new_right > LEAST_PRODUCT else 0.0
                product[at, side, zero, g, i] = new_left if right < MOST_PRODUCT else left
                product[at, side, one, g, i] = new_right if right < MOST_PRODUCT else right


@inner_kernel
def halve(product: FloatArray, widths: BetWidths, e: int, side: Whole) -> None:
    """Compute the products half-way through the cells of one side of arc e, for `tabulate`."""
    at, own = np.uint64(e), np.uint64(side)
    zero, one = np.uint64(LEFT), np.uint64(RIGHT)
    for g in range(np.uint64(TILTS)):
        for i in range(np.uint64(CELLS)):
            widths.middle[g, i] = np.sqrt(product[at, own, zero, g, i]) * np.sqrt(product[at, own, one, g, i])


@hot_kernel
def add_line(line: FloatArray, count: int, height: float, fall: float) -> int:
    """Add a line to the envelope, where lines come by falling height; return how many are on it.

    A line is on it from the slope on at which it overtakes the one before; the last one is never the largest if the new
    one overtakes it before it has overtaken its predecessor.
    """
    if count > 0 and fall >= line[count - 1, 1]:
        return count  # lower and falling faster
    while count >= 2:
        last, its_fall = line[count - 1, 0], line[count - 1, 1]
        if (last - height) * (line[count - 2, 1] - its_fall) <= (line[count - 2, 0] - last) * (its_fall - fall):
            count -= 1
        else:
            break
    line[count, 0], line[count, 1] = height, fall
    return count + 1


@hot_kernel
def capped_log(mass: float, side: float) -> float:
    """Compute the logarithm of M, rounded down (side -1) or up (side 1), at most LARGEST_LOG."""
    log_m = np.log(mass)
    return float(min(log_m + side * LOG_SAFETY * (1.0 + abs(log_m)), LARGEST_LOG))


@inner_kernel
def tabulate(
    betting: Betting, product: FloatArray, widths: BetWidths, e: int, side: Whole, j: Whole, which: int, x: float
) -> None:
    """Fill the widths of arc e for entry j, with prior number `which`; x is the mean, 1 minus it on the own side.

    `halve` must have been called for this arc and side.
    """
    at, own = np.uint64(e), np.uint64(side)
    c, mass = np.uint64(which), widths.mass
    zero, one, two = np.uint64(0), np.uint64(1), np.uint64(2)
    for i in range(np.uint64(CELLS)):
        mass[zero, i] = mass[one, i] = mass[two, i] = UNBET
    for g in range(np.uint64(TILTS)):
        for i in range(np.uint64(CELLS)):
            share = betting.prior[c, g, i]
            mass[zero, i] += share * product[at, own, zero, g, i]
            mass[one, i] += share * widths.middle[g, i]
            mass[two, i] += share * product[at, own, one, g, i]
    line, count = widths.line, 0
    for i in range(CELLS - 1, -1, -1):
        if count > 0 and mass[0, i] >= np.exp(LARGEST_LOG) * 1.1:
            continue  # its lines fall by LARGEST_LOG, and start below one that falls no faster
        left, right = betting.edge[i], betting.edge[i + 1]
        start, half = capped_log(mass[0, i], -1.0), capped_log(mass[1, i], -1.0)
        end, least = np.log(mass[2, i]), capped_log(mass[0, i], 1.0)
        end += LOG_SAFETY * (1.0 + abs(end))  # never too small: a flatter chord would meet f0 too soon
        half = max(start, half)  # f increases
        count = add_line(line, count, right - x, min(max(half, 2.0 * half - least), LARGEST_LOG))
        count = add_line(line, count, 0.5 * (left + right) - x, half)
        meet = 0.5
        if end > half:
            meet = max(0.0, 0.5 - 0.5 * (half - start) / (end - half))
        count = add_line(line, count, left + meet * (right - left) - x, start)
    table, now = widths.table, 0
    for s in range(SLOPES):
        k = betting.slope[s]
        best = line[now, 0] - k * line[now, 1]
        while now + 1 < count:
            other = line[now + 1, 0] - k * line[now + 1, 1]
            if other < best:
                break
            best = other
            now += 1
        table[side, j, e, s] = best
    table[side, j, e, SLOPES] = 1.0 - x
    table[side, j, e, SLOPES + 1] = -line[count - 1, 1]


@hot_kernel
def bet_width(
    betting: Betting,
    widths: BetWidths,
    side: Whole | np.uint64,
    j: Whole | np.uint64,
    e: int | np.uint64,
    k: float,
    log_k: float,
) -> float:
    """Compute w(k) or a little above it for a range of 1; log_k must be the logarithm of k."""
    place = (log_k - np.log(LEAST_K)) * (1.0 / K_STEP)
    if not place >= 0.0:
        at_zero = widths.table[side, j, e, SLOPES]
        return float(at_zero + (widths.table[side, j, e, 0] - at_zero) * (k / LEAST_K))
    if place >= SLOPES - 1:
        last = betting.slope[SLOPES - 1]
        return float(widths.table[side, j, e, SLOPES - 1] + (k - last) * widths.table[side, j, e, SLOPES + 1])
    i = int(place)
    low, high = widths.table[side, j, e, i], widths.table[side, j, e, i + 1]
    return float(low + (high - low) * (k - betting.slope[i]) * betting.per_slope[i])


# Gaussian size --------------------------------------------------------------------------------------------------------
# An upper bound on the sigma of Gaussian noise that is the same on all noisy arcs, from the rewards themselves (docs,
# same page): RSS the sum of (X - m)^2, m the mean of an arc before X, over all rewards but the first of each arc.

SIZE_TILTS = np.geomspace(0.03, 3.0, 8)  # t: small ones are best when much was seen, large ones at the start
HIDDEN = 1e100  # in place of an infinite sigma: sums of finite numbers are numbers


class Size(NamedTuple):
    """Settings of the bound on sigma, fixed before the data."""

    cost: float  # log(J / alpha)
    tilt: FloatArray  # [J] t
    half_log: FloatArray  # [J] 1/2 log(1 + 2 t)


def size_of(alpha: float) -> Size:
    """Return what the bound on sigma is made of, so that it holds with probability 1 - alpha; no tilts for alpha 0."""
    if alpha == 0:
        return Size(0.0, np.zeros(0), np.zeros(0))
    return Size(float(np.log(len(SIZE_TILTS) / alpha)), SIZE_TILTS.copy(), np.asarray(0.5 * np.log1p(2 * SIZE_TILTS)))


@folded_kernel
def largest_sigma(size: Size, squares: float, count: float) -> float:
    """Return the bound on sigma after `count` squares with this sum; 1 where sigma is known."""
    if len(size.tilt) == 0:
        return 1.0
    least = HIDDEN * HIDDEN
    for i in range(len(size.tilt)):
        divisor = count * size.half_log[i] - size.cost
        if divisor > 0.0:
            least = min(least, size.tilt[i] * squares / divisor)
    return float(min(np.sqrt(least) * (1.0 + 1e-12), HIDDEN))


# Learned --------------------------------------------------------------------------------------------------------------
# Arcs whose noise is learned, as the kernels of a learner see them: settings, scratch, and the width at a slope.
#
# All widths of a process are in units of the arc's range. Where no noise is learned all of it is None, and Numba leaves
# out what follows when it compiles. Where the Bernstein width is infinite, at k <= 1.01 span / n, the range bounds it:
# r - mean <= span, and M at any r of the range is at least 0.39 / (2 n + c).

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
    bernstein: Bernstein
    betting: Betting


class LearnedScratch(NamedTuple):
    """Scratch: what follows from the evidence."""

    per: FloatArray  # [N] span / n
    log_per: FloatArray  # [N]
    ceiling: FloatArray  # [N] width where the process gives none
    row: IntArray  # [2, J, N] of the Bernstein table
    beyond: FloatArray  # [2, J, N] what W exceeds that row's by
    bets: BetWidths


def rounded(c: FloatArray) -> FloatArray:
    """Round c to a power of 2, so that few priors serve all arcs; any c fixed in advance is valid."""
    return np.asarray(np.clip(2.0 ** np.round(np.log2(c)), LEAST_PRECISION, MOST_PRECISION))


def learned_of(ranges: Ranges, kind: IntArray, c: FloatArray) -> Learned | None:
    """Return the settings for entries of these kinds [J] and these c [2, J, N]; None where no noise is learned."""
    if not ranges.learns.any():
        return None
    calm, bold = kind == BERNSTEIN, kind == BETTING
    start = np.zeros(c.shape if calm.any() else (2, len(kind), 0))
    which = np.zeros(c.shape if bold.any() else (2, len(kind), 0), dtype=np.int64)
    if calm.any():
        own, place = np.unique(c[:, calm], return_inverse=True)
        start[:, calm] = log_start(own)[place].reshape(c[:, calm].shape)
    priors, place = np.unique(c[:, bold][:, :, ranges.learns], return_inverse=True)
    if bold.any():
        here = np.zeros(c[:, bold].shape, dtype=np.int64)
        here[:, :, ranges.learns] = place.reshape(2, int(bold.sum()), -1)
        which[:, bold] = here
    return Learned(
        learns=ranges.learns.copy(),
        low=ranges.low.copy(),
        span=ranges.span.copy(),
        log_span=np.log(ranges.span),
        start=start,
        which=which,
        bernstein=bernstein_table() if calm.any() else NO_TABLE,
        betting=betting_of(priors),
    )


def new_learned_scratch(learned: Learned | None) -> LearnedScratch:
    """Allocate scratch; None where no noise is learned."""
    if learned is None:
        return None  # type: ignore[return-value]
    arcs, entries = len(learned.learns), learned.start.shape[1]
    calm, bold = learned.start.shape[2], learned.which.shape[2]
    return LearnedScratch(
        per=np.zeros(arcs),
        log_per=np.zeros(arcs),
        ceiling=np.zeros(arcs),
        row=np.zeros((2, entries, calm), dtype=np.int64),
        beyond=np.zeros((2, entries, calm)),
        bets=new_bet_widths(bold, entries),
    )


@optional_kernel
def is_learned(learned: Learned | None, e: int | np.uint64) -> bool:
    """Return whether the noise of arc e is learned. Where `learned` is None, no code for learned noise is compiled."""
    if learned is None:
        return False
    return bool(learned.learns[e])


@optional_kernel
def learn(
    learned: Learned | None, squares: FloatArray, product: FloatArray, n: int, mean: float, e: int, gain: float
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
    if len(product) > 0:
        bet(learned.betting, product, e, x, 1.0 - x)


@optional_kernel
def learn_missing(learned: Learned | None, product: FloatArray, e: int) -> None:
    """Take in that a reward of an arc with bets is missing."""
    if learned is None:
        return
    if learned.learns[e] and len(product) > 0:
        bet(learned.betting, product, e, 1.0, 1.0)


@hot_kernel
def bernstein_width(
    table: Bernstein,
    learned_work: LearnedScratch,
    start: FloatArray,
    side: Whole | np.uint64,
    j: Whole | np.uint64,
    k: float,
    log_k: float,
    e: int | np.uint64,
) -> float:
    """Return the width of an arc by the Bernstein process, at slope k."""
    y = learned_work.per[e] / k
    row, beyond = learned_work.row[side, j, e], learned_work.beyond[side, j, e]
    here = bernstein_conjugate(table, row, beyond, y, learned_work.log_per[e] - log_k)
    return float(learned_work.ceiling[e] if here == np.inf else k * (here + start[side, j, e]))


@optional_kernel
def convex_from(learned: Learned | None, learned_work: LearnedScratch, alive: BoolArray) -> float:
    """Return a slope from which on no range bounds the Bernstein width of one of these arcs: convex in k from there on.

    0 where no noise is learned.
    """
    if learned is None:
        return 0.0
    most = 0.0
    for e in range(len(alive)):
        if alive[e] and learned.learns[e]:
            most = max(most, learned_work.per[e])
    return 1.02 * most


@optional_kernel
def learned_width(
    learned: Learned | None,
    learned_work: LearnedScratch,
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
    if kind == BERNSTEIN:
        return bernstein_width(learned.bernstein, learned_work, learned.start, side, j, k, log_k, e)
    span = learned.span[e]
    return float(
        span * bet_width(learned.betting, learned_work.bets, side, j, e, k / span, log_k - learned.log_span[e])
    )
