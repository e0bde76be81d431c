"""Lower bounds: how many episodes any (epsilon, delta)-PAC algorithm needs, on this instance or on the hardest one.

They hold for Gaussian rewards with the given sigma. Where the arcs' sigmas differ each formula says which it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from surepath._types import FloatArray, IntArray
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.theory.case import Case, checked_case, divide, log_confidence, require_tree
from surepath.theory.flows import Flow, minimum_flow


@dataclass(frozen=True, eq=False)
class LowerBound:
    """Theorem 1 on one instance.

    Attributes:
        local: Visits that each arc needs in expectation, float [N].
        value: Episodes needed in expectation: the minimum flow over `local`.
        flow: A flow of that value, float [N].
        cut: Arcs of the cut that proves it, int [K]: their local bounds sum to `value`.
        largest_stage: Largest sum of `local` over a stage; never above `value`.
        total: Sum of `local` over all arcs; never below `value`.
    """

    local: FloatArray
    value: float
    flow: FloatArray
    cut: IntArray
    largest_stage: float
    total: float


def lower_bound(
    instance: Instance, epsilon: float, delta: float, *, sigma: ArrayLike | None = None, sharp: bool = False
) -> LowerBound:
    """Compute the bound of Theorem 1: an (epsilon, delta)-PAC algorithm plays at least `value` episodes, on average.

    Each arc e of stage h must be visited

        local_e = sigma_e^2 log(1 / (4 delta)) / (4 max(gap_e, Delta_min of h, epsilon)^2)

    times, gap_e being its deterministic return gap; the episodes needed for all of them together are the minimum flow
    over these demands. A stage with a single arc demands nothing, nor does an arc with known reward; delta >= 1/4 makes
    the bound 0. Several optimal arcs in a stage and epsilon = 0 make it infinite: no algorithm can tell equal from
    almost equal.

    Args:
        instance: The problem with its true means.
        epsilon: How far from the best an answer may be.
        delta: Allowed probability of a wrong answer.
        sigma: Replaces the instance's own factors.
        sharp: Take the constants of the three lemmas behind the theorem, which are larger:
            2 sigma_e^2 log(1 / (3 delta)) / (gap_e + epsilon)^2 off Z^epsilon; with Delta_min of h in the place of
            gap_e for the only arc of Z^epsilon in its stage; the theorem's own for several arcs of Z^epsilon.

    Example:
        >>> from surepath import Gaussian
        >>> two = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.0, 1.0]))
        >>> round(lower_bound(two, 0.1, 0.05).value, 4)
        0.8047
    """
    at = checked_case(instance, epsilon, delta, sigma)
    return demanded(at.mdp, local_bounds(at, sharp=sharp))


def demanded(mdp: MDP, local: FloatArray) -> LowerBound:
    """Return what visits of the arcs add up to: the minimum flow over them, with its cut."""
    stages = np.add.reduceat(local, mdp.stage_arc[:-1])
    best = _minimum_flow(mdp, local)
    return LowerBound(local, float(best.value), best.flow, best.cut, float(stages.max()), float(stages.sum()))


def local_bounds(at: Case, *, sharp: bool = False, factor: float = 3.0) -> FloatArray:
    """Compute the visits each arc needs, eq. (local-lb), float [N]; sharp: log(1 / (factor delta)) as in the lemmas."""
    gap = at.gaps.deterministic_return
    stage = np.repeat(np.arange(at.mdp.horizon), np.diff(at.mdp.stage_arc))
    least = at.gaps.stage_minimum(at.epsilon)[stage]
    variance = at.sigma**2
    basic = divide(variance * log_confidence(at.delta, 4) / 4, np.maximum(np.maximum(gap, least), at.epsilon))
    if not sharp:
        return basic
    near = at.gaps.near_optimal(at.epsilon)
    numerator = 2 * variance * log_confidence(at.delta, factor)
    alone = near & (least > 0)
    keen = divide(numerator, np.where(alone, least, gap) + at.epsilon)
    return np.where(near & ~alone, basic, keen)


def _minimum_flow(mdp: MDP, local: FloatArray) -> Flow:
    """Find the minimum flow, also when some demands are infinite: then so are the arcs that must carry them."""
    endless = np.isinf(local)
    if not endless.any():
        return minimum_flow(mdp, local)
    carried = minimum_flow(mdp, endless.astype(np.float64))
    flow = np.where(carried.flow > 0, np.inf, 0.0) + minimum_flow(mdp, np.where(endless, 0.0, local)).flow
    return Flow(np.inf, flow, carried.cut, carried.in_cut)


def tree_lower_bound(
    instance: Instance, epsilon: float, delta: float, *, sigma: ArrayLike | None = None, sharp: bool = False
) -> float:
    """Compute the lower bound for trees: a maximum over stages in the place of the flow.

    The maximum over stages h of the sum over arcs of sigma^2 (H - h + 1) log(1 / (4 delta)) / (4 max(...)^2).

    The gaps are those of Theorem 1. The argument shifts all rewards below an arc at once, so an arc's sigma here is the
    least of its own and of those below it; a known reward below it makes its term 0 (true, if weak).

    With `sharp` it takes the constants of the lemma behind it, which are larger: 2 sigma^2 (H - h + 1)
    log(1 / (2.4 delta)) / (gap + epsilon)^2 off Z^epsilon, with Delta_min of h in the place of the gap for the only arc
    of Z^epsilon in its stage, the theorem's own for several arcs of Z^epsilon. (For the only arc the lemma states
    log(1 / (4 delta)); its proof gives 2.4.)

    Raises:
        ProblemError: The MDP is not a tree.
    """
    at = checked_case(instance, epsilon, delta, sigma)
    mdp = at.mdp
    require_tree(mdp)
    below = at.sigma.copy()
    for h in range(mdp.horizon - 2, -1, -1):
        low, high = mdp.stage_node[h + 1], mdp.stage_node[h + 2]
        starts = mdp.first[low:high] - mdp.first[low]
        least = np.minimum.reduceat(below[mdp.first[low] : mdp.first[high]], starts)
        arcs = slice(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        below[arcs] = np.minimum(below[arcs], least[mdp.target[arcs] - low])
    local = local_bounds(Case(at.instance, at.gaps, at.epsilon, at.delta, below), sharp=sharp, factor=2.4)
    stages = np.add.reduceat(local, mdp.stage_arc[:-1])
    return float((stages * np.arange(mdp.horizon, 0, -1)).max())
