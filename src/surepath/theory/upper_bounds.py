"""Upper bounds: with probability 1 - delta, EPRL stops before this many episodes. And the measure they improve on.

A formula with a single sigma takes the largest of the arcs'. The paper simplifies k <= B log k + C; its simplification
needs large sigma H / gap, and outside that range a logarithm of it would turn negative: it is then replaced by 0, with
which the inequality holds for every sigma.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import check_delta, check_epsilon, one_of, one_sigma, whole
from surepath._types import FloatArray
from surepath.model.instance import Instance
from surepath.theory.case import Case, checked_case, divide, require_tree
from surepath.theory.flows import minimum_flow

COVERAGE_RULES = ("max-coverage", "static-max-coverage")
SAMPLINGS = (*COVERAGE_RULES, "max-diameter")
UNION = {"proven": 16, "published": 4}  # what multiplies N^3 / delta in the coverage rules' logarithm


@dataclass(frozen=True, eq=False)
class UpperBound:
    """An upper bound on the episodes of EPRL on one instance.

    Attributes:
        value: Episodes, with probability at least 1 - delta.
        local: g, the visits it allows each arc, float [N].
        flow_value: phi*(g), the minimum flow over them (coverage rules only, else NaN).
        factor: What multiplies phi*(g): 2 C_H (max log g + 1) (coverage rules only, else NaN).
    """

    value: float
    local: FloatArray
    flow_value: float
    factor: float


def upper_bound(
    instance: Instance,
    epsilon: float,
    delta: float,
    *,
    sampling: str = "max-coverage",
    sigma: ArrayLike | None = None,
    formula: str = "proven",
) -> UpperBound:
    """Compute the episodes that EPRL may need on this instance, by sampling rule, with probability 1 - delta.

    Coverage rules (Theorem "formal"): 2 C_H (max log g + 1) phi*(g), with C_H = 1 for "static-max-coverage",
    log(H) + 1 for "max-coverage", and on every arc, with D = max(gap, Delta_min, epsilon),

        g = 32 sigma^2 H^2 / D^2 (log(16 N^3 / delta) + L) + 2,     L = 8 log(16 sigma H log(16 N^3 / delta) / D).

    The paper has 4 in the place of 16, from "a trivial bound on the duration of each period is N". The coverage rules
    visit an undersampled arc every other episode only, so a period may take 2 N, and the threshold at 2 N k visits is
    what the proof gives. `formula="published"` takes the paper's.

    "max-diameter": sum over arcs of 32 sigma^2 H^2 / D^2 (log(4 N / delta) + L), plus N + 1, with
    L = 8 log(16 N sigma H log(4 N / delta) / epsilon); infinite at epsilon = 0.
    """
    at = checked_case(instance, epsilon, delta, sigma)
    rule = one_of("sampling", sampling, SAMPLINGS)
    if rule == "max-diameter":
        n = at.mdp.n_arcs
        local = _visits(at, 32.0, log(4 * n / at.delta), _logarithm(at, 16.0))
        return UpperBound(float(local.sum()) + n + 1, local, float("nan"), float("nan"))
    local = coverage_visits(at, formula)
    if np.isinf(local).any():
        return UpperBound(inf, local, inf, inf)
    share = 1.0 if rule == "static-max-coverage" else log(at.mdp.horizon) + 1
    factor = 2 * share * (log(float(local.max())) + 1)
    flow_value = float(minimum_flow(at.mdp, local).value)
    return UpperBound(factor * flow_value, local, flow_value, factor)


def tree_upper_bound(
    instance: Instance,
    epsilon: float,
    delta: float,
    *,
    sampling: str = "max-coverage",
    sigma: ArrayLike | None = None,
    formula: str = "proven",
) -> float:
    """Compute the bounds of the two theorems for trees: a maximum over stages in the place of the flow and of the sum.

    Coverage rules: 2 max over stages of sum of g. "max-diameter": max over stages of the sum of
    128 sigma^2 H^2 / D^2 (log(4 N / delta) + L) + 2, with L = 8 log(32 sigma N H log(4 N / delta) / epsilon). (The
    proof of the latter sums over the last stage alone, which is never larger; the statement is given.) It need not be
    below `upper_bound`: for max-diameter its constant is four times as large.

    Raises:
        ProblemError: The MDP is not a tree.
    """
    at = checked_case(instance, epsilon, delta, sigma)
    rule = one_of("sampling", sampling, SAMPLINGS)
    require_tree(at.mdp)
    if rule == "max-diameter":
        local = _visits(at, 128.0, log(4 * at.mdp.n_arcs / at.delta), _logarithm(at, 32.0)) + 2
        return float(np.add.reduceat(local, at.mdp.stage_arc[:-1]).max())
    return 2 * float(np.add.reduceat(coverage_visits(at, formula), at.mdp.stage_arc[:-1]).max())


def worst_case_upper_bound(
    states: int,
    actions: int,
    horizon: int,
    epsilon: float,
    delta: float,
    *,
    sampling: str = "max-coverage",
    sigma: float = 1.0,
    arcs: int | None = None,
) -> float:
    """Compute the episodes EPRL may need on any MDP of this size, with probability 1 - delta; infinite at epsilon = 0.

    c sigma^2 N H / epsilon^2 (log(4 N / delta) + 4 log(2 c sigma^2 N H log(4 N / delta) / epsilon^2)), plus 8 N + 2 and
    c = 256 for the coverage rules, plus 2 N + 1 and c = 128 for "max-diameter". N is the number of arcs that can be
    reached where `arcs` says it, which is what the proof has, and S A H, never smaller, where it does not.
    """
    horizon = whole("horizon", horizon, low=1)
    size = whole("states", states, low=1) * whole("actions", actions, low=1) * horizon
    if arcs is not None:
        size = whole("arcs", arcs, low=1, high=size)
    variance, confidence = one_sigma(sigma) ** 2, log(4 * size / check_delta(delta))
    rule = one_of("sampling", sampling, SAMPLINGS)
    if check_epsilon(epsilon) == 0:
        return inf
    constant = 128.0 if rule == "max-diameter" else 256.0
    lead = float(divide(constant * variance * size * horizon, epsilon))
    rest = 2 * size + 1 if rule == "max-diameter" else 8 * size + 2
    inner = 2 * lead * confidence
    return lead * (confidence + 4 * (max(0.0, log(inner)) if inner > 0 else 0.0)) + rest


def gap_complexity(instance: Instance, epsilon: float) -> FloatArray:
    """Return the measure of Wagenmaker et al. in deterministic MDPs, by arc, float [N]; its sum is C(M, epsilon).

    1 / max(value gap, epsilon)^2, where the only optimal action of a state takes the least positive value gap of the
    state (and counts nothing where it is the only action). Compare with sums over deterministic return gaps: those
    do not pay for close choices in states that no good path visits.
    """
    at = checked_case(instance, epsilon, 0.5)
    mdp, gap = at.mdp, at.gaps.value
    best = np.add.reduceat((gap == 0).astype(np.int64), mdp.first[:-1])[mdp.source]
    least = np.minimum.reduceat(np.where(gap > 0, gap, np.inf), mdp.first[:-1])[mdp.source]
    own = np.where((gap == 0) & (best == 1), least, gap)
    return divide(1.0, np.maximum(own, at.epsilon))


def coverage_visits(at: Case, formula: str = "proven") -> FloatArray:
    """Compute g of Theorem "formal", float [N]."""
    confidence = log(UNION[one_of("formula", formula, UNION)] * at.mdp.n_arcs**3 / at.delta)
    with np.errstate(divide="ignore"):
        inside = 16 * at.largest_sigma * at.mdp.horizon * confidence / at.upper_gap()
        extra = 8 * np.maximum(np.log(np.maximum(inside, 1.0)), 0.0)
    return _visits(at, 32.0, confidence, extra) + 2


def _visits(at: Case, constant: float, confidence: float, extra: FloatArray | float) -> FloatArray:
    """Compute constant sigma^2 H^2 / D^2 (confidence + extra); nothing to learn when every reward is known."""
    if at.largest_sigma == 0:
        return np.zeros(at.mdp.n_arcs)
    return divide(constant * at.largest_sigma**2 * at.mdp.horizon**2 * (confidence + extra), at.upper_gap())


def _logarithm(at: Case, constant: float) -> float:
    """Compute 8 log(constant N sigma H log(4 N / delta) / epsilon) of the max-diameter theorems, 0 or more."""
    if at.epsilon == 0:
        return inf if at.largest_sigma > 0 else 0.0
    n = at.mdp.n_arcs
    inside = constant * n * at.largest_sigma * at.mdp.horizon * log(4 * n / at.delta) / at.epsilon
    return 8 * log(max(inside, 1.0))
