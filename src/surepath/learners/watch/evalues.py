"""The e-processes behind every finding; derived and proven in docs/watch-theory.md.

An e-process is a running number whose expectation, at any time one may choose to stop, is at most 1 while what was
declared holds. So it ever exceeds 1/alpha with probability alpha at most. Sums and averages here run over logarithms.

Letters: n rewards, z = (reward - first reward of the arc) / sigma, Q = sum of squares of z about the arc's own mean.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import gammaln

from surepath._types import FloatArray, IntArray

# What is averaged over. Small ones see a slightly larger noise over many rewards, large ones a far larger one at once.
NOISE_TILTS = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95])
# Variance, in units of sigma squared, of the shifts that a change of context may cause.
SHIFTS = np.array([1 / 16, 1.0, 16.0])
# The same for the mean of an arc, where contexts shift all arcs of a stage alike.
MARGINS = np.array([1 / 4, 1.0])
# Variance, in units of sigma squared, of luck that the steps of one trial share.
LUCK = np.array([1 / 16, 1 / 4, 1.0])
# Where one sigma is unknown: how strongly the calmer arcs speak for a small one.
CALM_TILTS = np.array([0.05, 0.2, 0.8, 3.0])
MOST_MEANS = 400  # with more arcs than this, luck is judged plan by plan only


def noise_price(n: FloatArray) -> FloatArray:
    """Return what n rewards cost in advance: -n/2 log(1 - tilt), float [G, K]."""
    price: FloatArray = -0.5 * np.multiply.outer(n, np.log1p(-NOISE_TILTS))
    return price


def shift_price(n: FloatArray) -> FloatArray:
    """Return what a context with n rewards costs in advance: 1/2 log(1 + shift n), float [C, K]."""
    price: FloatArray = 0.5 * np.log1p(np.multiply.outer(n, SHIFTS))
    return price


def larger_noise(n: FloatArray, spread: FloatArray) -> FloatArray:
    """Compute the log of the e-process against "the noise is at most as declared", float [G].

    The average over tilts of (1 - tilt)^(n/2) exp(tilt Q / 2), for groups of arcs with n rewards and a sum Q.
    """
    return averaged(0.5 * np.multiply.outer(spread, NOISE_TILTS) - noise_price(n))


def own_shifts(family: IntArray, count: FloatArray, total: FloatArray, variance: FloatArray) -> FloatArray:
    """Compute the log of the e-processes against "the mean of an arc is the same in every context", float [F].

    A family is one arc with its contexts c. The average over shifts of the product over c of (1 + shift n)^(-1/2)
    exp(weight (mean - centre)^2 / 2 / variance), where weight = shift n^2 / (1 + shift n) and the centre is the
    weighted mean: the value for the arc's unknown mean that makes this least.

    Args:
        family: Family of each context, int [C] from 0 to F - 1.
        count: Rewards seen in each context, float [C].
        total: Sum of their z, float [C].
        variance: Of z in each family, at least 1, where 1 is what was declared, float [F].
    """
    families, mean = len(variance), (total / count)[:, None]
    grown = np.multiply.outer(count, SHIFTS)  # [C, K]
    weight = grown / (1 + grown) * count[:, None]
    centre = sums(family, weight * mean, families) / sums(family, weight, families)
    apart = sums(family, weight * (mean - centre[family]) ** 2, families)
    return averaged(0.5 * apart / variance[:, None] - sums(family, shift_price(count), families))


def shared_shifts(count: FloatArray, total: FloatArray, variance: float) -> tuple[float, float]:
    """Compute the log of the e-process against "no context shifts the arcs of a stage", one shift being shared by all.

    Returned with the sum of squares that the shifts account for.

    Every arc gets an effect of variance MARGINS and every context one of variance SHIFTS, both around the unknown
    means mu: with V the covariance of the rewards that follows, |V|^(-1/2) exp((r'r - r'V^-1 r) / 2) for r = z - mu, at
    the mu that makes it least; averaged over the variances.

    Args:
        count: Rewards of each arc in each context, float [A, C].
        total: Sum of their z, float [A, C].
        variance: Of z, at least 1, where 1 is what was declared.
    """
    arcs = len(count)
    visits = count.sum(axis=1)
    centred = total - count * (total.sum(axis=1) / visits)[:, None]  # mu about the arc's mean: nothing large cancels
    gram = np.block([[np.diag(visits), count], [count.T, np.diag(count.sum(axis=0))]])
    margins, shifts = (
        np.repeat(x, y, axis=1) for x, y in ((MARGINS[:, None], arcs), (SHIFTS[:, None], count.shape[1]))
    )
    prior = np.concatenate([np.repeat(margins, len(shifts), axis=0), np.tile(shifts, (len(margins), 1))], axis=1)
    score = np.concatenate([np.zeros(arcs), centred.sum(axis=0)])
    inverse = np.linalg.inv(gram + prior[:, :, None] ** -1 * np.eye(len(score)))  # [K, A + C, A + C]
    side = inverse @ gram[:, :arcs]
    slope = np.swapaxes(side, 1, 2) @ score  # [K, A]
    moved = np.linalg.solve(gram[:, :arcs].T @ side, slope[..., None])[..., 0]
    apart = (inverse @ score) @ score - (slope * moved).sum(axis=1)
    return float(averaged(0.5 * apart / variance - shared_price(gram, prior))), float(apart.max())


def shared_price(gram: FloatArray, prior: FloatArray) -> FloatArray:
    """Return what arcs and contexts with these counts cost in advance: 1/2 log|V|, float [K]."""
    price: FloatArray = 0.5 * np.linalg.slogdet(np.eye(len(gram)) + prior[:, :, None] * gram)[1]
    return price


def shared_luck(
    path: IntArray, count: FloatArray, mean: FloatArray, spread: FloatArray, variance: float
) -> tuple[float, float]:
    """Compute the log of the e-process against "the steps of a trial are independent", and the correlation seen.

    Every trial gets an effect of variance LUCK on all of its h steps: with T the sum of its z and weight = luck /
    (1 + luck h), the average over LUCK of the product over trials of (1 + luck h)^(-1/2) exp(weight (T - mu)^2 / 2 /
    variance), where mu is the sum of the unknown means of its arcs: those that make this least.

    Args:
        path: Arcs of each plan tried, int [P, H], ANY (-1) at the steps that do not count.
        count: Trials of each plan, float [P].
        mean: Mean of their T, float [P].
        spread: Sum of squares of T about that mean, float [P].
        variance: Of z, at least 1, where 1 is what was declared.
    """
    rows, columns = np.nonzero(path >= 0)
    arcs, column = np.unique(path[rows, columns], return_inverse=True)
    design = csr_matrix((np.ones(len(rows)), (rows, column)), shape=(len(path), len(arcs)))
    steps = np.bincount(rows, minlength=len(path)).astype(np.float64)
    logs = np.empty(len(LUCK))
    for i, luck in enumerate(LUCK):
        weight = luck / (1 + luck * steps)
        apart = float(weight @ spread) + _between(design, weight * count, mean)[0]
        logs[i] = 0.5 * apart / variance - luck_price(count, steps)[i]
    between, means = _between(design, count, mean)
    freedom = max(1.0, float(count.sum()) - means)
    size = (float(spread.sum()) + between) / freedom * float(count.sum()) / variance
    pairs = float(count @ (steps * (steps - 1)))
    seen = (size - float(count @ steps)) / pairs if pairs > 0 else 0.0
    return float(averaged(logs)), min(max(seen, 0.0), 1.0)


def _between(design: csr_matrix, weight: FloatArray, mean: FloatArray) -> tuple[float, float]:
    """Return the least weighted sum of squares of plan means about sums of arc means, and how many means that takes."""
    plans, arcs = design.shape
    if arcs > MOST_MEANS:
        return 0.0, float(plans)  # a mean for each plan: less than the least, so as valid
    weighted = design.T.multiply(weight).tocsr()
    gram = (weighted @ design).toarray()
    inverse = np.linalg.inv(gram + 1e-10 * gram.max(initial=1e-300) * np.eye(arcs))  # gram is singular
    left = mean - design @ (inverse @ (weighted @ mean))
    return float(weight @ left**2), float((inverse * gram).sum())


def luck_price(count: FloatArray, steps: FloatArray) -> FloatArray:
    """Return what trials of plans with so many steps cost in advance: 1/2 log(1 + luck h) each, float [K]."""
    price: FloatArray = 0.5 * count @ np.log1p(np.multiply.outer(steps, LUCK))
    return price


def calm_gain(n: FloatArray) -> FloatArray:
    """Return what n rewards of one arc may be given in advance for the claim that sigma is small, float [A, K].

    The sum over k = 2..n of 1/2 log(1 + 2 t (k - 1) / k), in closed form.
    """
    shrink = 2 * CALM_TILTS / (1 + 2 * CALM_TILTS)
    n = n[:, None]
    gain: FloatArray = 0.5 * (
        (n - 1) * np.log1p(2 * CALM_TILTS) + gammaln(n + 1 - shrink) - gammaln(2 - shrink) - gammaln(n + 1)
    )
    return gain


def larger_than(n: FloatArray, spread: FloatArray, gain: FloatArray, calm: FloatArray) -> FloatArray:
    """Compute the log of the e-process against "all have one sigma": the first arcs vary more than the others, [G].

    The average over NOISE_TILTS and CALM_TILTS of (1 - tilt)^(n/2) exp(tilt Q u / 2) exp(gain - t C u), at the unknown
    u = 1 / sigma^2 that makes it least. Its log is convex in u; a tangent bounds it from below.

    Args:
        n, spread: Rewards, and the sum Q, of the arcs that are said to vary more, float [G].
        gain, calm: `calm_gain`, float [G, K], and the sum C of Q, float [G], of all others.
    """
    scale = np.maximum(spread + calm, np.finfo(float).tiny)[:, None, None]
    groups = len(n)
    height = (gain[:, None, :] - noise_price(n)[:, :, None]).reshape(groups, -1)
    rise = (
        0.5 * np.multiply.outer(spread, NOISE_TILTS)[:, :, None] - np.multiply.outer(calm, CALM_TILTS)[:, None, :]
    ) / scale
    rise = rise.reshape(groups, -1)

    def slope(u: FloatArray) -> FloatArray:
        power = height + rise * u[:, None]
        share = np.exp(power - power.max(axis=1, keepdims=True))
        return np.asarray((rise * share).sum(axis=1) / share.sum(axis=1))

    low, high = np.zeros(groups), np.ones(groups)
    for _ in range(60):
        falls = slope(high) < 0
        if not falls.any():
            break
        low, high = np.where(falls, high, low), np.where(falls, 2 * high, high)
    least = averaged(height)  # at u = 0
    bounded = slope(high) >= 0
    for _ in range(60):
        middle = 0.5 * (low + high)
        falls = slope(middle) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    tangent = averaged(height + rise * low[:, None]) + np.minimum(slope(low), 0) * (high - low)
    return np.asarray(np.where(bounded & (spread + calm > 0), np.minimum(least, tangent), -np.inf))


def averaged(exponents: FloatArray) -> FloatArray:
    """Compute the log of the mean of exp over the last axis, float [G]."""
    top: FloatArray = exponents.max(axis=-1)
    mean: FloatArray = top + np.log(np.exp(exponents - top[..., None]).mean(axis=-1))
    return mean


def sums(group: IntArray, values: FloatArray, groups: int) -> FloatArray:
    """Compute the column sums of values [C, K] by group, float [groups, K]."""
    return np.stack([np.bincount(group, column, groups) for column in values.T], axis=1)
