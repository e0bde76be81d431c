"""What the divergence version of Theorem 1 needs, from a list of paths: least changes by trying, KL by programs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from surepath.model.mdp import MDP
from tests.naive.paths import all_paths


def least_change(mdp: MDP, gains: np.ndarray, epsilon: float, arc: int, *, through: bool) -> float:
    """Least rise (fall) of one arc's gain after which all (none) of the epsilon-optimal paths go through it."""
    paths = [list(p) for p in all_paths(mdp)]

    def done(change: float) -> bool:
        other = gains.copy()
        other[arc] += change if through else -change
        returns = [other[p].sum() for p in paths]
        good = [p for p, r in zip(paths, returns) if r >= max(returns) - epsilon - 1e-12]
        return all((arc in p) == through for p in good)

    if not done(1e6):
        return np.inf
    low, high = 0.0, 1e6
    if done(0.0):
        return 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if done(middle) else (middle, high)
    return high


def nearest_on_a_grid(values: np.ndarray, weights: np.ndarray, goal: float, grid: np.ndarray) -> float:
    """Least KL to a law on the grid, which holds the values, with mean at least the goal: a convex program."""
    at = np.searchsorted(grid, values)
    if goal > grid[-1]:
        return np.inf
    top = np.zeros(len(grid))
    top[-1] = 1.0
    found = []
    for spread in (0.05, 0.3, 0.9):  # from one start alone the solver may end early at the edge
        flat = (1 - spread) * np.bincount(at, weights, minlength=len(grid)) + spread / len(grid)
        share = max(0.0, (goal - flat @ grid) / (grid[-1] - flat @ grid))  # of the largest value: the mean is the goal
        ended = minimize(
            lambda q: float((weights * np.log(weights / q[at])).sum()),
            (1 - share) * flat + share * top,
            jac=lambda q: -np.bincount(at, weights / q[at], minlength=len(grid)),
            bounds=[(1e-12, 1)] * len(grid),
            constraints=[
                {"type": "eq", "fun": lambda q: q.sum() - 1, "jac": lambda q: np.ones(len(grid))},
                {"type": "ineq", "fun": lambda q: q @ grid - goal, "jac": lambda q: grid},
            ],
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-13},
        )
        if abs(ended.x.sum() - 1) < 1e-9 and ended.x @ grid > goal - 1e-9:
            found.append(float(ended.fun))
    return min(found)
