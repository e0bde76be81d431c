"""The processes of bounded and of Gaussian rewards, straight from their definitions; nothing of the package is used."""

from __future__ import annotations

import numpy as np

_T = np.arange(-46.0, 4.2, 0.025)
_S = np.exp(_T)  # l = 1 - exp(-s), s = exp(t): an even grid of t integrates what falls off at both ends
_L, _PSI = -np.expm1(-_S), _S + np.expm1(-_S)


def log_z(s: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The logarithm of the integral over 0 < l < 1 of exp(l s - psi(l) w), and the mean of l."""
    power = s[:, None] * _L - w[:, None] * _PSI - _S + _T
    top = power.max(axis=1)
    mass = np.exp(power - top[:, None])
    total = mass.sum(axis=1)
    return top + np.log(total * 0.025), (mass * _L).sum(axis=1) / total


def z_star(y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The supremum over s of y s - log Z(s, w), by bisection."""
    low, high = -2.0 / y - 2.0 * np.sqrt(w), 4.0 * (w + np.sqrt(w) + 1.0) * y / (1 - y) + 4.0 * np.sqrt(w)
    for _ in range(60):
        middle = (low + high) / 2
        above = log_z(middle, w)[1] > y
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    s = (low + high) / 2
    return np.asarray(y * s - log_z(s, w)[0])


def log_process(s: np.ndarray, v: np.ndarray) -> np.ndarray:
    """log M(S, V) of the intervals: 40 % of c = 1/2, 40 % of c = 4 and 20 % of c = 64."""
    parts = []
    for c, share in ((0.5, 0.4), (4.0, 0.4), (64.0, 0.2)):
        start = log_z(np.zeros(1), np.array([c]))[0][0]
        parts.append(np.log(share) + log_z(s, v + c)[0] - start)
    return np.asarray(np.logaddexp.reduce(parts, axis=0))


def largest_sum(budget: float, v: np.ndarray) -> np.ndarray:
    """The S at which log M(S, V) is the budget, by bisection."""
    low, high = np.zeros_like(v), 10 * budget + 10 * np.sqrt(2 * (v + 64) * budget)
    for _ in range(60):
        middle = (low + high) / 2
        inside = log_process(middle, v) <= budget
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.asarray((low + high) / 2)


def squares(rewards: np.ndarray) -> float:
    """V: the sum of (x - m)^2 with m = (1/2 + sum so far) / (visits so far + 1)."""
    total, so_far = 0.0, 0.5
    for n, x in enumerate(rewards):
        total += (x - so_far / (n + 1)) ** 2
        so_far += x
    return total


def log_wealth(rewards: np.ndarray, r: float, tilts: np.ndarray, prior: np.ndarray, unbet: float) -> float:
    """log of unbet + sum of prior times the product over the rewards of 1 + l (r - x)."""
    total = np.log(unbet)
    for tilt, weight in zip(tilts, prior):
        if weight > 0:
            total = np.logaddexp(total, np.log(weight) + np.log1p(tilt * (r - rewards)).sum())
    return float(total)
