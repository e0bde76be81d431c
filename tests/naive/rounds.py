"""The bounds of Rounds by enumeration: all plans, pseudo-inverses, every score of every round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from surepath.model.mdp import MDP
from tests.naive.challenger import detour_prior, most_choices
from tests.naive.paths import all_paths

Scored = tuple[np.ndarray, np.ndarray]  # paths [n, H] and scores [n] of a round, in the order asked


def indicator(mdp: MDP, path: Sequence[int] | np.ndarray) -> np.ndarray:
    """A row with 1 at each arc of the path."""
    row = np.zeros(mdp.n_arcs)
    row[list(path)] = 1.0
    return row


def degree(mdp: MDP, arc: int) -> int:
    node = mdp.source[arc]
    return int(mdp.first[node + 1] - mdp.first[node])


def h(x: float) -> float:
    return float(x * x / 2 + np.log(2) + norm.logcdf(x))


def h_inverse(y: float) -> float:
    return float(brentq(lambda x: h(x) - y, 0, np.sqrt(2 * y) + 1, xtol=1e-13)) if y > 0 else 0.0


def plan_variances(mdp: MDP, flow: np.ndarray, sigma: float) -> np.ndarray:
    """The pseudo-inverse of E[x x^T] / sigma^2 when paths are drawn by the Markov chain of a flow."""
    node = np.zeros(mdp.n_nodes + 1)
    np.add.at(node, mdp.source, flow)
    total = np.zeros((mdp.n_arcs, mdp.n_arcs))
    for path in all_paths(mdp):
        chance = np.prod([flow[arc] / node[mdp.source[arc]] for arc in path])
        total += chance * np.outer(indicator(mdp, path), indicator(mdp, path))
    return np.asarray(np.linalg.pinv(total / sigma**2, rcond=1e-12))


def detour_cost(mdp: MDP, p: Sequence[int], q: Sequence[int], rho: float) -> float:
    """-log of the chance that a walk beside q, which is not q, is p."""
    return float(-np.log(detour_prior(mdp, tuple(p), tuple(q), rho, most_choices(mdp))))


def single_cost(mdp: MDP, p: Sequence[int], q: Sequence[int], rho: float, prior: str) -> float:
    """The largest cost of a pair that differs as p and q do, in one excursion, whatever else they share."""
    if prior == "excursion":
        apart = [mine for mine, theirs in zip(p, q) if mine != theirs]
        chance = 1 / (most_choices(mdp) * max(degree(mdp, apart[0]) - 1, 1))
        return float(-np.log(chance / np.prod([degree(mdp, arc) for arc in apart[1:]])))
    stages = [i for i, (mine, theirs) in enumerate(zip(p, q)) if mine != theirs]
    low, high = stages[0], stages[-1] + 1
    costs = []
    for path in all_paths(mdp):  # whatever comes before and after the excursion
        if mdp.source[path[low]] != mdp.source[p[low]]:
            continue
        if high < mdp.horizon and mdp.source[path[high]] != mdp.source[p[high]]:
            continue
        mine, theirs = ([*path[:low], *part[low:high], *path[high:]] for part in (p, q))
        costs.append(detour_cost(mdp, mine, theirs, rho))
    return max(costs)


def least_bound(
    rounds: Sequence[Scored],
    z: np.ndarray,
    sigma: float,
    variances: np.ndarray,
    trials: Sequence[float],
    costs: Sequence[float] | np.ndarray,
) -> tuple[float, float]:
    """D and the least G over entries, for a difference z; costs hold all logarithms but the last."""
    information, weighed = 0.0, 0.0
    for paths, scores in rounds:
        x = np.array([np.bincount(path, minlength=len(z)) for path in paths], dtype=float)
        inverse = np.linalg.pinv(x.T @ x, rcond=1e-12)
        tau = sigma**2 * z @ inverse @ z
        information += 1 / tau
        weighed += z @ inverse @ x.T @ scores / tau
    m = z @ variances @ z
    widths = [
        np.sqrt(information + c / m) / information * h_inverse(cost + 0.5 * np.log(1 + information * m / c))
        for c, cost in zip(trials, costs)
    ]
    return weighed / information, weighed / information + min(widths)


def excursions(mdp: MDP, p: Sequence[int], q: Sequence[int]) -> list[list[int]]:
    """The paths that differ from p in one of the stretches in which q does."""
    found, begin = [], None
    for stage in range(mdp.horizon + 1):
        meet = stage == mdp.horizon or mdp.source[p[stage]] == mdp.source[q[stage]]
        if begin is not None and meet:
            found.append([*p[:begin], *q[begin:stage], *p[stage:]])
            begin = None
        if stage < mdp.horizon and begin is None and p[stage] != q[stage]:
            begin = stage
    return found


def predictions(paths: np.ndarray, scores: np.ndarray, n_arcs: int) -> np.ndarray:
    """Each score in [0, 1] predicted from those before it alone, by regressions made anew every time, or their mean.

    The one is taken whose squared error has been least so far.
    """
    x = np.array([[*np.bincount(path, minlength=n_arcs), 1.0] for path in paths])
    error, chosen = np.zeros(5), []
    for t in range(len(paths)):
        before, seen = x[:t], scores[:t]
        guesses = [seen.mean() if t else 0.5]
        for penalty in (0.3, 3.0, 30.0, 300.0):
            ridge = np.diag([*np.full(n_arcs, penalty), 0.1])
            guesses.append(0.5 + x[t] @ np.linalg.solve(before.T @ before + ridge, before.T @ (seen - 0.5)))
        chosen.append(guesses[int(np.argmin(error))])
        error += (np.clip(guesses, 0, 1) - scores[t]) ** 2
    return np.array(chosen)


def betting_bound(
    rounds: Sequence[Scored],
    guesses: Sequence[np.ndarray],
    z: np.ndarray,
    tilts: Sequence[float],
    weights: Sequence[float],
    goal: float,
) -> float:
    """G for scores in [0, 1], with the exact sum of every bet; the reach is 0.8 in the first round."""
    total, weighed, bets = 0.0, 0.0, []
    for j, ((paths, scores), guess) in enumerate(zip(rounds, guesses)):
        x = np.array([np.bincount(path, minlength=len(z)) for path in paths], dtype=float)
        inverse = np.linalg.pinv(x.T @ x, rcond=1e-12)
        g = x @ inverse @ z
        reach = np.full(len(g), 0.8) if j == 0 else np.where(g > 0, 1 - guess, guess)
        a = 1 / max((np.abs(g) * reach).max(), 0.2 * float(g @ g))
        total += a
        weighed += a * float(g @ scores)
        bets.append(a * g * (scores - guess))
    u = np.concatenate(bets)
    costs = [float((-np.log1p(-tilt * u) - tilt * u).sum()) for tilt in tilts]

    def logarithm(y: float) -> float:
        parts = [np.log(w) + tilt * y - cost for tilt, w, cost in zip(tilts, weights, costs)]
        return float(np.logaddexp.reduce(parts) - goal)

    return (weighed + brentq(logarithm, -1e3, 1e6, xtol=1e-9)) / total
