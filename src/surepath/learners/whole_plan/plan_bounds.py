"""What is known of each plan of WholePlan: lower and upper bound of its value, from its own returns.

A plan's return is the sum of rewards that are conditionally sub-Gaussian in turn, so its own factor is the root of the
sum of their squares, and the width is that of `kernels/widths.py` with a union over the P plans. It shares nothing
between plans, yet on a handful of plans one width beats a sum of H of them.

A return is added up relative to the origins of its arcs (their first gains, see `kernels/widths.py`), and a plan's
value is relative to that of one plan, the pivot, from the differences of their arcs' centres stage by stage: large
rewards that differ little lose nothing. What rounding can still do is added to the width (see `per_arc/rounding.py`).
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.jit import hot_kernel, inner_kernel
from surepath.kernels.widths import UNIT, base_width, origin_of
from surepath.learners.whole_plan import state as at
from surepath.learners.whole_plan.state import Plans


@hot_kernel
def width_of(plans: Plans, p: int) -> float:
    """Compute half the confidence interval of plan p; infinite while it has not been played."""
    n = plans.visits[p]
    if n == 0:
        return np.inf
    kind, delta, prior = int(plans.bound[0]), plans.bound[1], plans.bound[2]
    return float(plans.sigma[p] * base_width(kind, float(n), float(len(plans.visits)), delta, prior))


@hot_kernel
def interval(plans: Plans, p: int) -> tuple[float, float]:
    """Compute lower and upper bound of plan p relative to the pivot, allowing for rounding; NaN counts as no bound."""
    n = plans.visits[p]
    if n == 0:
        return -np.inf, np.inf
    mean, width = plans.base[p] + plans.sums[p] / n, width_of(plans, p)
    share = (2.0 * plans.arcs.shape[1] + 8.0) * (abs(mean) + width) + 2.0 * abs(plans.sums[p])
    reach = width + plans.size[p] + UNIT * share
    if not abs(mean) + reach < np.inf:
        return -np.inf, np.inf
    return mean - reach, mean + reach


@inner_kernel
def set_base(plans: Plans, p: int) -> None:
    """Compute the value of plan p, all of whose arcs were visited, relative to the pivot."""
    pivot, horizon = plans.tally[at.PIVOT], plans.arcs.shape[1]
    base, size, rewards = 0.0, 0.0, 0.0
    for h in range(horizon):
        difference = plans.centre[plans.arcs[p, h]] - plans.centre[plans.arcs[pivot, h]]
        base += difference
        size += abs(difference)
        rewards += abs(plans.origin[plans.arcs[p, h]])
    plans.base[p] = base
    plans.size[p] = UNIT * ((2.0 * horizon + 8.0) * size + rewards)


@inner_kernel
def find_pivot(plans: Plans) -> None:
    """Make the plan of largest mean the pivot: then the values that matter are the smallest."""
    pivot = plans.tally[at.PIVOT]
    best = plans.base[pivot] + plans.sums[pivot] / plans.visits[pivot]
    for p in range(len(plans.visits)):
        if plans.visits[p] > 0 and plans.base[p] + plans.sums[p] / plans.visits[p] > best:
            pivot, best = p, plans.base[p] + plans.sums[p] / plans.visits[p]
    plans.tally[at.PIVOT] = pivot
    for p in range(len(plans.visits)):
        if plans.visits[p] > 0:
            set_base(plans, p)


@inner_kernel
def bounds(plans: Plans) -> tuple[float, float, int]:
    """Find the largest upper bound of active plans, the largest lower bound and its plan; ties: lowest plan."""
    top, floor, best = -np.inf, -np.inf, -1
    for p in range(len(plans.visits)):
        if plans.active[p]:
            lower, upper = interval(plans, p)
            plans.upper[p] = upper
            top = max(top, upper)
            if best < 0 or lower > floor:
                floor, best = lower, p
    return top, floor, best


@inner_kernel
def find_origins(plans: Plans, p: int) -> None:
    """Set the origins of arcs that the episode of plan p in Plans.gain is the first to play."""
    for h in range(plans.arcs.shape[1]):
        e = plans.arcs[p, h]
        if not plans.seen[e]:
            plans.seen[e] = True
            plans.origin[e] = origin_of(plans.gain[h], plans.noise[e])
            plans.centre[e] = plans.origin[e]
