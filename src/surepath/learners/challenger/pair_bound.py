"""G(q | p) for one pair of paths in plain NumPy: how much better than p the path q may still be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.learners.challenger.conjugate import table_conjugate
from surepath.learners.challenger.noise.learned import BERNSTEIN, learned_values
from surepath.learners.challenger.state import DETOUR, EXCURSION, OWN, RIVAL, SHIFTED

if TYPE_CHECKING:
    from surepath.learners.challenger.learner import Challenger


def pair_bound(learner: Challenger, challenger: IntArray, incumbent: IntArray) -> float:
    """Return the least G over the entries and a fine grid of slopes; infinite while a separating arc is unvisited.

    Under the excursion prior every excursion has a bound of its own, and the bound of the pair is their sum.
    """
    if learner.pairs.prior[0] != EXCURSION:
        return stretch_bound(learner, challenger, incumbent)
    return sum(stretch_bound(learner, challenger[x], incumbent[x]) for x in stretches(learner, challenger, incumbent))


def stretches(learner: Challenger, challenger: IntArray, incumbent: IntArray) -> list[slice]:
    """Return the stages of each excursion: from where the two part to where they meet again."""
    source, found, start = learner.mdp.source, [], -1
    for h, (q, p) in enumerate(zip(challenger, incumbent)):
        if start >= 0 and source[q] == source[p]:
            found.append(slice(start, h))
            start = -1
        if start < 0 and q != p:
            start = h
    return [*found, slice(start, len(incumbent))] if start >= 0 else found


def stretch_bound(learner: Challenger, challenger: IntArray, incumbent: IntArray) -> float:
    """Return the least bound on the difference of two paths, or of one excursion and the incumbent's arcs beside it."""
    work, pairs = learner._work, learner.pairs
    apart = challenger != incumbent
    arcs = np.concatenate([challenger[apart], incumbent[apart]])
    side = np.repeat([RIVAL, OWN], int(apart.sum()))
    difference = float((work.mean[challenger] - work.mean[incumbent])[apart].sum())
    difference += float((work.top[arcs] - work.mean[arcs]).sum())  # what rounding may have taken
    if ((learner.visits[arcs] == 0) & ~pairs.is_known[arcs]).any():
        return float("inf")
    best, unit = float("inf"), float(work.unit[0])
    for j in range(len(pairs.cost)):
        noisy = work.a[side, j, arcs] > 0
        own, of = side[noisy], arcs[noisy]
        a, extra = work.a[own, j, of], work.extra[own, j, of]
        if not a.size:
            return difference
        fixed = pairs.cost[j] + prior_cost(learner, challenger, incumbent, j)
        slopes = _middle(learner, j, of, a, fixed + float(extra.sum())) * np.geomspace(1 / 8, 8, 97)
        total = slopes * fixed
        for arc, whose in zip(arcs.tolist(), side.tolist()):
            total = total + arc_widths(learner, whose, j, slopes, arc)
        best = min(best, difference + unit * float(total.min()))
    return best


def arc_widths(learner: Challenger, side: int, j: int, slopes: FloatArray, arc: int) -> FloatArray:
    """Compute w of one arc for entry j at each slope: what `bound.fill_widths` computes, in NumPy."""
    work, pairs, kind = learner._work, learner.pairs, int(learner.pairs.kind[j])
    a, extra = work.a[side, j, arc], work.extra[side, j, arc]
    if a == 0:
        return np.zeros_like(slopes)
    if pairs.learned is not None and work.learned_work is not None and kind >= BERNSTEIN and pairs.learned.learns[arc]:
        return learned_values(pairs.learned, work.learned_work, kind, side, j, slopes, arc)
    y = a / slopes
    if kind == SHIFTED:
        tail = learner.visits[arc] * y**2 / 2 + pairs.c[side, j, arc] * (pairs.tilt[j, arc] - y) ** 2 / 2
    else:
        tail = table_conjugate(y)
    return np.asarray(slopes * (tail + extra))


def _middle(learner: Challenger, j: int, arcs: IntArray, a: FloatArray, fixed: float) -> float:
    """Guess a slope near the one that makes the bound least."""
    pairs = learner.pairs
    if pairs.kind[j] != SHIFTED:
        return float(np.sqrt((a**2).sum() / (2 * fixed)))
    slope, steadiness = pairs.plan[j]
    return float(slope * pairs.c[RIVAL, j, arcs].sum() / (steadiness * learner.visits[arcs].sum()))


def prior_cost(learner: Challenger, challenger: IntArray, incumbent: IntArray, j: int) -> float:
    """Compute -log prior(incumbent | challenger) of entry j; for the excursion prior, of one stretch."""
    mdp, pairs = learner.mdp, learner.pairs
    kind, total = pairs.prior[j], float(pairs.toll[j])
    if kind not in (DETOUR, EXCURSION):
        return total
    assert pairs.walks is not None
    stay, leave_by = (-np.log1p(-pairs.walks.rho), pairs.walks.rho) if kind == DETOUR else (0.0, 1.0)
    for q, p in zip(challenger, incumbent):
        node = mdp.source[p]
        degree = int(mdp.first[node + 1] - mdp.first[node])
        if degree == 1:
            continue
        if q == p:
            total += stay
        elif mdp.source[q] == node:
            total += np.log((degree - 1) / leave_by)
        else:
            total += np.log(degree)
    return float(total)
