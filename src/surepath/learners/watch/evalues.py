"""The three e-processes behind every finding; derived and proven in docs/watch-theory.md.

An e-process is a running number whose expectation, at any time one may choose to stop, is at most 1 while what was
declared holds. So it ever exceeds 1/alpha with probability alpha at most. Sums and averages here run over logarithms.

Letters: n rewards, z = (reward - first reward of the arc) / sigma, Q = sum of squares of z about the arc's own mean.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray, IntArray

# What is averaged over. Small ones see a slightly larger noise over many rewards, large ones a far larger one at once.
TILTS = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95])
# Variance, in units of sigma squared, of the shifts that a change of context may cause.
SHIFTS = np.array([1 / 16, 1.0, 16.0])
# The same for the mean of an arc, where contexts shift all arcs of a stage alike.
MARGINS = np.array([1 / 4, 1.0])


def noise_price(n: FloatArray) -> FloatArray:
    """Return what n rewards cost in advance: -n/2 log(1 - tilt), float [G, K]."""
    price: FloatArray = -0.5 * np.multiply.outer(n, np.log1p(-TILTS))
    return price


def shift_price(n: FloatArray) -> FloatArray:
    """Return what a context with n rewards costs in advance: 1/2 log(1 + shift n), float [C, K]."""
    price: FloatArray = 0.5 * np.log1p(np.multiply.outer(n, SHIFTS))
    return price


def larger_noise(n: FloatArray, spread: FloatArray) -> FloatArray:
    """Compute the log of the e-process against "the noise is at most as declared", float [G].

    The average over tilts of (1 - tilt)^(n/2) exp(tilt Q / 2), for groups of arcs with n rewards and a sum Q.
    """
    return averaged(0.5 * np.multiply.outer(spread, TILTS) - noise_price(n))


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


def averaged(exponents: FloatArray) -> FloatArray:
    """Compute the log of the mean of exp over the last axis, float [G]."""
    top: FloatArray = exponents.max(axis=-1)
    mean: FloatArray = top + np.log(np.exp(exponents - top[..., None]).mean(axis=-1))
    return mean


def sums(group: IntArray, values: FloatArray, groups: int) -> FloatArray:
    """Compute the column sums of values [C, K] by group, float [groups, K]."""
    return np.stack([np.bincount(group, column, groups) for column in values.T], axis=1)
