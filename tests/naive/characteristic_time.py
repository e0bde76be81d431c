"""T* by listing all paths and solving the concave program over mixtures of them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from surepath.model.mdp import MDP
from tests.naive.gaps import returns


def hardness(mdp: MDP, gains: np.ndarray, sigma: np.ndarray, weight: np.ndarray) -> float:
    """min over paths q of gap_q^2 / (2 sum over K of sigma_e^2 / w_e), q other than the best path."""
    table = returns(mdp, gains)
    best = max(table, key=lambda path: table[path])
    found = np.inf
    for path, value in table.items():
        differ = [e for e in set(path) ^ set(best) if sigma[e] > 0]
        if path != best and differ:
            with np.errstate(divide="ignore"):
                found = min(found, (table[best] - value) ** 2 / (2 * np.sum(sigma[differ] ** 2 / weight[differ])))
    return float(found)


def characteristic_time(mdp: MDP, gains: np.ndarray, sigma: np.ndarray) -> float:
    """1 / max over mixtures of paths of the hardness; an upper bound on T*, equal up to the solver's accuracy."""
    table = returns(mdp, gains)
    paths = list(table)
    best = max(paths, key=lambda path: table[path])
    through = np.zeros((mdp.n_arcs, len(paths)))
    for column, path in enumerate(paths):
        through[list(path), column] = 1
    rivals = [p for p in paths if p != best and any(sigma[e] > 0 for e in set(p) ^ set(best))]
    if not rivals:
        return 0.0
    differ = np.array([[e in set(p) ^ set(best) for e in range(mdp.n_arcs)] for p in rivals], dtype=float)
    half = np.array([(table[best] - table[p]) ** 2 / 2 for p in rivals])
    unit = half.min()

    def heights(x: np.ndarray) -> np.ndarray:
        return half / unit / (differ @ (sigma**2 / np.maximum(through @ x[:-1], 1e-12)))

    def slopes(x: np.ndarray) -> np.ndarray:
        weight = np.maximum(through @ x[:-1], 1e-12)
        sums = differ @ (sigma**2 / weight)
        by_weight = (half / unit / sums**2)[:, None] * differ * (sigma**2 / weight**2)
        return np.hstack([by_weight @ through, -np.ones((len(rivals), 1))])

    last = np.zeros(len(paths) + 1)
    last[-1] = -1
    start = np.append(np.full(len(paths), 1 / len(paths)), 0.0)
    start[-1] = heights(start).min()
    answer = minimize(
        lambda x: -x[-1],
        start,
        jac=lambda x: last,
        method="SLSQP",
        bounds=[(0, 1)] * len(paths) + [(0, None)],
        constraints=[
            {"type": "eq", "fun": lambda x: x[:-1].sum() - 1, "jac": lambda x: np.append(np.ones(len(paths)), 0)},
            {"type": "ineq", "fun": lambda x: heights(x) - x[-1], "jac": slopes},
        ],
        options={"maxiter": 500, "ftol": 1e-10},
    )
    mixture = np.maximum(answer.x[:-1], 0)
    weight = through @ (mixture / mixture.sum())
    return 1 / hardness(mdp, gains, sigma, weight)
