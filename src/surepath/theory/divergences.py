"""How hard it is to mistake an arc's law for one with another mean: the divergence to the nearest such law.

For a class of laws, K(law, x) = inf of KL(law, other) over the others of the class whose mean is x or beyond.

Gaussian   laws with the same sigma: (x - mean)^2 / (2 sigma^2).
Bernoulli  laws on {0, 1}: kl(mean, x).
bounded    all laws on [low, high]: for x above the mean, max over 0 <= l <= 1 / (high - x) of E log(1 - l (X - x))
           (Honda and Takemura 2010), attained by giving every value X the weight 1 / (1 - l (X - x)) and what is then
           missing to `high`; for x below the mean the same with signs turned. Concave in l: found by bisection.

A continuous law enters by a Gauss quadrature with QUADRATURE points. Where no law of the class has such a mean, K is
infinite.
"""

from __future__ import annotations

from math import log

import numpy as np
from scipy.special import rel_entr, roots_jacobi

from surepath._types import FloatArray
from surepath.errors import ProblemError
from surepath.model.instance import Instance
from surepath.model.rewards import BERNOULLI, BETA, CALLABLE, GAUSSIAN, TABLE, UNIFORM, ArcLaws

QUADRATURE = 128
_HALVINGS = 80


def kl(p: float, q: float) -> float:
    """Compute the relative entropy of two Bernoulli laws.

    Example:
        >>> round(kl(0.5, 0.9), 4)
        0.5108
    """
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def nearest(instance: Instance, arc: int, shift: float, sigma: float) -> float:
    """Compute K of an arc's law and its mean moved by `shift`, in the user's direction; sigma is for Gaussian arcs.

    Raises:
        ProblemError: The arc's law is a function of the user, of which only the mean is known.
    """
    law, kind = instance.law, int(instance.law.kind[arc])
    if shift == 0:
        return 0.0
    if kind == CALLABLE:
        raise ProblemError(
            f"the divergence needs the law of every arc, and {instance.mdp.describe_arc(arc)} has one of your own; "
            f"use lower_bound, which supposes Gaussian noise"
        )
    mean = float(law.mean[arc])
    if kind == GAUSSIAN:
        return float("inf") if sigma == 0 else shift**2 / (2 * sigma**2)
    if kind == BERNOULLI:
        return kl(mean, mean + shift) if 0 <= mean + shift <= 1 else float("inf")
    values, weights = atoms(law, arc)
    if shift < 0:
        return bounded(-values, weights, -mean - shift, -float(law.low[arc]))
    return bounded(values, weights, mean + shift, float(law.high[arc]))


def bounded(values: FloatArray, weights: FloatArray, goal: float, high: float) -> float:
    """Compute K of a law with finitely many values and a goal above its mean, among all laws up to `high`.

    Example:
        >>> round(bounded(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.9, 1.0), 4)
        0.5108
    """
    if goal >= high:
        return float("inf")
    away = values - goal
    low, up = 0.0, 1 / (high - goal)
    for _ in range(_HALVINGS):  # the slope of E log(1 - l away) falls in l
        middle = (low + up) / 2
        inner = 1 - middle * away
        if (inner > 0).all() and float((weights * -away / inner).sum()) > 0:
            low = middle
        else:
            up = middle
    return max(0.0, float((weights * np.log(1 - low * away)).sum()))


def atoms(law: ArcLaws, arc: int) -> tuple[FloatArray, FloatArray]:
    """Return values and weights of a bounded law: its own, or those of a Gauss quadrature."""
    kind, low, high = int(law.kind[arc]), float(law.low[arc]), float(law.high[arc])
    a, b = float(law.a[arc]), float(law.b[arc])
    if kind == TABLE:
        values = law.table[law.table_first[arc] : law.table_first[arc + 1]]
        return values, np.full(len(values), 1 / len(values))
    if kind == UNIFORM and a < b:
        points, weights = np.polynomial.legendre.leggauss(QUADRATURE)
        return (a + b) / 2 + points * (b - a) / 2, weights / 2
    if kind == BETA and a > 0 and b > 0 and low < high:
        points, weights = roots_jacobi(QUADRATURE, b - 1, a - 1)
        return low + (points + 1) / 2 * (high - low), weights / weights.sum()
    return np.array([float(law.mean[arc])]), np.ones(1)


def change_of_measure(delta: float) -> tuple[float, float]:
    """Compute kl(delta, 1 - delta) and kl(1/2, delta), 0 from delta = 1/2 on.

    What an algorithm that errs with probability delta must collect: to be sure of an answer in one world and against
    it in another; and, where its answer is anybody's guess in one world, to be sure in another.
    """
    if delta >= 0.5:
        return 0.0, 0.0
    return (1 - 2 * delta) * log((1 - delta) / delta), kl(0.5, delta)
