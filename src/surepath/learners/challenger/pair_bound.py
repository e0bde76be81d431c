"""G(q | p) for one pair of paths in plain NumPy: how much better than p the path q may still be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepath._types import IntArray
from surepath.learners.challenger.conjugate import table_conjugate
from surepath.learners.challenger.state import DETOUR, HALF_NORMAL, INTERVAL, OWN, RIVAL

if TYPE_CHECKING:
    from surepath.learners.challenger.learner import Challenger


def pair_bound(learner: Challenger, challenger: IntArray, incumbent: IntArray) -> float:
    """The least G over the entries and a fine grid of slopes; infinite while a separating arc is unvisited."""
    work, pairs = learner._work, learner.pairs
    apart = challenger != incumbent
    arcs = np.concatenate([challenger[apart], incumbent[apart]])
    side = np.repeat([RIVAL, OWN], int(apart.sum()))
    difference = float((work.mean[challenger] - work.mean[incumbent])[apart].sum())
    difference += float((work.top[arcs] - work.mean[arcs]).sum())  # what rounding may have taken
    if ((learner.visits[arcs] == 0) & ~pairs.is_known[arcs]).any():
        return float("inf")
    best = float("inf")
    for j in range(len(pairs.cost)):
        a, extra = work.a[side, j, arcs], work.extra[side, j, arcs]
        a, extra = a[a > 0], extra[a > 0]
        if not a.size:
            return difference
        if pairs.kind[j] == INTERVAL:
            best = min(best, difference + float((a * np.sqrt(2 * (extra + pairs.cost[j]))).sum()))
            continue
        fixed = pairs.cost[j] + prior_cost(learner, challenger, incumbent, int(pairs.prior[j]))
        middle = np.sqrt((a**2).sum() / (2 * (fixed + extra.sum())))
        slopes = middle * np.geomspace(1 / 8, 8, 97)
        y = a / slopes[:, None]
        tail = table_conjugate(y) if pairs.kind[j] == HALF_NORMAL else y**2 / 2
        best = min(best, difference + float((slopes * (tail.sum(axis=1) + extra.sum() + fixed)).min()))
    return best


def prior_cost(learner: Challenger, challenger: IntArray, incumbent: IntArray, kind: int) -> float:
    """-log prior(incumbent | challenger)."""
    mdp = learner.mdp
    if kind != DETOUR:
        return float(learner.pairs.log_paths)
    rho, total = learner.pairs.rho, 0.0
    for q, p in zip(challenger, incumbent):
        home = mdp.source[p]
        degree = int(mdp.first[home + 1] - mdp.first[home])
        if degree == 1:
            continue
        if q == p:
            total += -np.log1p(-rho)
        elif mdp.source[q] == home:
            total += np.log((degree - 1) / rho)
        else:
            total += np.log(degree)
    return float(total)
