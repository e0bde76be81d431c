"""How far EPRL's upper bound is from the lower bound of Theorem 1, as the paper compares them: by minimum flows.

With c the demands of Theorem 1 and g those of the upper bound for the coverage rules (`coverage_visits`),

    g = alpha H^2 c + g',     alpha = 128,

where alpha H^2 c is the part of g that grows with log(1 / (4 delta)) and g' the rest, 0 or more. The minimum flow of a
sum is at most the sum of the minimum flows, hence phi*(g) <= alpha H^2 phi*(c) + phi*(g').
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from surepath.model.instance import Instance
from surepath.theory.case import checked_case
from surepath.theory.flows import minimum_flow
from surepath.theory.lower_bounds import demanded, local_bounds
from surepath.theory.upper_bounds import coverage_visits

ALPHA = 128.0


@dataclass(frozen=True)
class FlowComparison:
    """The numbers of phi*(g) <= alpha H^2 phi*(c) + phi*(g').

    Attributes:
        upper: phi*(g), the flow of the upper bound.
        lower: phi*(c), Theorem 1.
        rest: phi*(g').
        factor: alpha H^2.
        matched: Whether g and c divide by the same gaps on every arc, as with two disjoint optimal paths, and all
            sigmas agree: then g' depends on delta through log log(1 / delta) only, and for small delta the two bounds
            differ by `factor` and by what multiplies phi*(g). Where it is False g' may hold a part that grows with
            log(1 / delta): the paper compares the two for matched gaps only.
    """

    upper: float
    lower: float
    rest: float
    factor: float
    matched: bool

    @property
    def bound(self) -> float:
        """Return alpha H^2 phi*(c) + phi*(g'), never below `upper` but for rounding."""
        return self.factor * self.lower + self.rest


def compare_flows(
    instance: Instance, epsilon: float, delta: float, *, sigma: ArrayLike | None = None
) -> FlowComparison:
    """Compare the minimum flows of the upper bound and of Theorem 1; infinite where either is.

    Example:
        >>> from surepath import families
        >>> found = compare_flows(families.twin_optimal(3), 0.1, 0.01)
        >>> found.matched, round(found.upper) <= round(found.bound)
        (True, True)
    """
    at = checked_case(instance, epsilon, delta, sigma)
    upper, lower, factor = coverage_visits(at), local_bounds(at), ALPHA * at.mdp.horizon**2
    stage = np.repeat(np.arange(at.mdp.horizon), np.diff(at.mdp.stage_arc))
    own = np.maximum(at.gaps.deterministic_return, np.maximum(at.gaps.stage_minimum(at.epsilon)[stage], at.epsilon))
    matched = bool((own == at.upper_gap()).all() and (at.sigma == at.largest_sigma).all())
    needed = demanded(at.mdp, lower).value
    if np.isinf(upper).any():
        return FlowComparison(np.inf, needed, np.inf, factor, matched)
    rest = np.maximum(upper - factor * lower, 0.0)
    granted, left = (float(minimum_flow(at.mdp, demand).value) for demand in (upper, rest))
    return FlowComparison(granted, needed, left, factor, matched)
