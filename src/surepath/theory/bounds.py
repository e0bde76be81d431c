"""Bounds of the paper as numbers: lower, upper, of the worst case, and all of them for one instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, log, log2
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, ndtr

from surepath._checks import FloatArray, IntArray, check_delta, check_epsilon, check_sigma, one_of, one_sigma, whole
from surepath.errors import SettingError
from surepath.kernels.flow import schedule
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, even_flow
from surepath.model.worlds import GAUSSIAN, Instance
from surepath.theory.characteristic_time import CharacteristicTime, characteristic_time
from surepath.theory.flows import Flow, minimum_flow
from surepath.theory.gaps import Case, checked_case, confidence, divide, is_tree, log_confidence, require_tree

# Lower bounds ---------------------------------------------------------------------------------------------------------
# How many episodes any (epsilon, delta)-PAC algorithm needs, on this instance or on the hardest one.
#
# They hold for Gaussian rewards with the given sigma. Where the arcs' sigmas differ each formula says which it takes.


@dataclass(frozen=True, eq=False)
class LowerBound:
    """Theorem 1 on one instance.

    Attributes:
        local: Visits that each arc needs in expectation, float [N].
        value: Episodes needed in expectation: the minimum flow over `local`.
        flow: A flow of that value, float [N].
        cut: Arcs of the cut that proves it, int [K]: their local bounds sum to `value`.
    """

    local: FloatArray
    value: float
    flow: FloatArray
    cut: IntArray


def lower_bound(instance: Instance, epsilon: float, delta: float, *, sigma: ArrayLike | None = None) -> LowerBound:
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

    Example:
        >>> from surepath import Gaussian
        >>> two = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.0, 1.0]))
        >>> round(lower_bound(two, 0.1, 0.05).value, 4)
        0.8047
    """
    at = checked_case(instance, epsilon, delta, sigma)
    local = local_bounds(at)
    best = _minimum_flow(at.mdp, local)
    return LowerBound(local, float(best.value), best.flow, best.cut)


def local_bounds(at: Case) -> FloatArray:
    """Compute the visits each arc needs, eq. (local-lb), float [N]."""
    least = np.repeat(at.gaps.stage_minimum(at.epsilon), np.diff(at.mdp.stage_arc))
    gap = np.maximum(np.maximum(at.gaps.deterministic_return, least), at.epsilon)
    return divide(at.sigma**2 * log_confidence(at.delta) / 4, gap)


def _minimum_flow(mdp: MDP, local: FloatArray) -> Flow:
    """Find the minimum flow, also when some demands are infinite: then so are the arcs that must carry them."""
    endless = np.isinf(local)
    if not endless.any():
        return minimum_flow(mdp, local)
    carried = minimum_flow(mdp, endless.astype(np.float64))
    flow = np.where(carried.flow > 0, np.inf, 0.0) + minimum_flow(mdp, np.where(endless, 0.0, local)).flow
    return Flow(np.inf, flow, carried.cut, carried.in_cut)


def tree_lower_bound(instance: Instance, epsilon: float, delta: float, *, sigma: ArrayLike | None = None) -> float:
    """Compute the lower bound for trees: a maximum over stages in the place of the flow.

    The maximum over stages h of the sum over arcs of sigma^2 (H - h + 1) log(1 / (4 delta)) / (4 max(...)^2).

    The gaps are those of Theorem 1. The argument shifts all rewards below an arc at once, so an arc's sigma here is the
    least of its own and of those below it; a known reward below it makes its term 0 (true, if weak).

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
    local = local_bounds(Case(at.instance, at.gaps, at.epsilon, at.delta, below))
    stages = np.add.reduceat(local, mdp.stage_arc[:-1])
    return float((stages * np.arange(mdp.horizon, 0, -1)).max())


# Upper bounds ---------------------------------------------------------------------------------------------------------
# With probability 1 - delta, EPRL stops before this many episodes. And the measure they improve on.
#
# A formula with a single sigma takes the largest of the arcs'. The paper simplifies k <= B log k + C; its
# simplification needs large sigma H / gap, and outside that range a logarithm of it would turn negative: it is then
# replaced by 0, with which the inequality holds for every sigma.

SAMPLINGS = ("static-max-coverage", "max-coverage", "max-diameter")


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
    instance: Instance, epsilon: float, delta: float, *, sampling: str = "max-coverage", sigma: ArrayLike | None = None
) -> UpperBound:
    """Compute the episodes that EPRL may need on this instance, by sampling rule, with probability 1 - delta.

    Coverage rules (Theorem "formal"): 2 C_H (max log g + 1) phi*(g), with C_H = 1 for "static-max-coverage",
    log(H) + 1 for "max-coverage", and on every arc, with D = max(gap, Delta_min, epsilon),

        g = 32 sigma^2 H^2 / D^2 (log(16 N^3 / delta) + L) + 2,     L = 8 log(16 sigma H log(16 N^3 / delta) / D).

    The paper has 4 in the place of 16, from "a trivial bound on the duration of each period is N". The coverage rules
    visit an undersampled arc every other episode only, so a period may take 2 N, and the threshold at 2 N k visits is
    what the proof gives.

    "max-diameter": sum over arcs of 32 sigma^2 H^2 / D^2 (log(4 N / delta) + L), plus N + 1, with
    L = 8 log(16 N sigma H log(4 N / delta) / epsilon); infinite at epsilon = 0.
    """
    at = checked_case(instance, epsilon, delta, sigma)
    rule = one_of("sampling", sampling, SAMPLINGS)
    if rule == "max-diameter":
        n = at.mdp.n_arcs
        local = _visits(at, 32.0, log(4 * n / at.delta), _logarithm(at, 16.0))
        return UpperBound(float(local.sum()) + n + 1, local, float("nan"), float("nan"))
    local = coverage_visits(at)
    if np.isinf(local).any():
        return UpperBound(inf, local, inf, inf)
    share = 1.0 if rule == "static-max-coverage" else log(at.mdp.horizon) + 1
    factor = 2 * share * (log(float(local.max())) + 1)
    flow_value = float(minimum_flow(at.mdp, local).value)
    return UpperBound(factor * flow_value, local, flow_value, factor)


def tree_upper_bound(
    instance: Instance, epsilon: float, delta: float, *, sampling: str = "max-coverage", sigma: ArrayLike | None = None
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
    return 2 * float(np.add.reduceat(coverage_visits(at), at.mdp.stage_arc[:-1]).max())


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


def coverage_visits(at: Case) -> FloatArray:
    """Compute g of Theorem "formal", float [N]."""
    confidence = log(16 * at.mdp.n_arcs**3 / at.delta)
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


# Worst case -----------------------------------------------------------------------------------------------------------
# The worst case over all problems of a size: what must be spent on some problem, and what is enough on every one.
#
# The paper states that some MDP takes S A H^2 log(1/(4 delta)) / (72 epsilon^2) episodes. That is refuted: a list of
# plays fixed in advance (`design_episodes`) needs fewer on every graph once delta is small. What the paper's own lemma
# does give is of order S A H. The docs tell the story ("The worst case").


def worst_case_lower_bound(
    states: int, actions: int, horizon: int, epsilon: float, delta: float, *, sigma: float = 1.0
) -> float:
    """Compute the episodes that every (epsilon, delta)-PAC algorithm needs, in the mean, on some MDP of this size.

    S A (H - log2 S) sigma^2 log(1/(4 delta)) / (8 epsilon^2), proven on `minimax_tree`: a
    tree entered at stage 1 whose leaves keep the agent. Each of the S A / 2 pairs of a leaf and an action, raised (or
    lowered, if it is the answer more often than not) by 2 epsilon / (H - log2 S) at every stage, must be distinguished
    from all means zero. That takes (H - log2 S)^2 sigma^2 log(1/(4 delta)) / (4 epsilon^2) visits over the stages, and
    an episode makes H - log2 S visits of leaves in all.

    Raises:
        SettingError: S is not a power of two, S or A is below 2, H is at most log2 S, or epsilon = 0.

    Example:
        >>> round(worst_case_lower_bound(8, 4, 9, 0.1, 0.05))
        3863
    """
    states, actions = whole("states", states, low=2), whole("actions", actions, low=2)
    horizon = whole("horizon", horizon, low=1)
    depth = int(log2(states))
    if 2**depth != states:
        raise SettingError(f"this bound is proved for S = 2^d states; {states} is not a power of two")
    if horizon <= depth:
        raise SettingError(f"this bound is proved for H > log2(S) = {depth} stages, not {horizon}")
    if check_epsilon(epsilon) == 0:
        raise SettingError("this bound needs epsilon above 0")
    size = states * actions * (horizon - depth) / 8
    return float(divide(one_sigma(sigma) ** 2 * log_confidence(check_delta(delta)) * size, epsilon))


def design_episodes(mdp: MDP, epsilon: float, delta: float, sigma: ArrayLike = 1.0) -> int:
    """Count the episodes of the best fixed list of plays that is (epsilon, delta)-PAC on this graph for any means.

    Exact: from the optimal flow and the counts it is rounded to, not from the formula
    4 N sigma^2 (log P + log(1/delta)) / epsilon^2.

    Example:
        >>> from surepath import families
        >>> design_episodes(families.minimax_hard(2, 2, 9).mdp, 1.0, 0.1)
        708
    """
    if check_epsilon(epsilon) == 0:
        raise SettingError("a design needs an epsilon above 0: with epsilon 0 no fixed number of episodes is enough")
    noise = check_sigma(sigma, mdp.n_arcs)
    noise[mdp.is_known] = 0.0
    return schedule(mdp, noise, epsilon, check_delta(delta)).episodes


def most_trials(mdp: MDP, settings: Mapping[str, Any], flow: ArrayLike | None = None) -> float:
    """Bound the episodes after which a check of Challenger passes under any dependence, whatever was seen.

    The incumbent has the largest empirical return, so its gap is at most the sum over stages of the largest S0 width
    (docs, "Challenger: the theorem"), a number of the visits alone. Nothing may be excluded.

    Args:
        mdp: The problem.
        settings: Those of a Challenger on it, as `settings()` gives them, with a declared sigma and epsilon above 0.
        flow: The part of the episodes that goes through each arc, float [N]; by default that of evenly picked actions.

    Example:
        >>> from surepath import Challenger, families
        >>> mdp = families.chain(8, 4, seed=0).mdp
        >>> round(most_trials(mdp, Challenger(mdp, 0.3, 0.1, 0.1).settings()))
        4160
    """
    epsilon = check_epsilon(settings["epsilon"])
    entries = [entry for entry in settings.get("bound", ()) if entry["prior"] == "stages"]
    if epsilon == 0 or not entries or any(entry["kind"] != "half-normal" for entry in entries):
        raise SettingError('this bound is for epsilon above 0, dependence="any" and a declared sigma')
    even = even_flow(mdp)
    parts = even if flow is None else np.asarray(flow, dtype=np.float64)
    sigma = np.where(mdp.is_known, 0.0, check_sigma(settings["sigma"], mdp.n_arcs))
    choice = (np.diff(mdp.first)[mdp.source] > 1).astype(np.float64)
    most = max(1.0, float(choice[best_path(mdp, choice)].sum()))
    degree = np.diff(mdp.first)[mdp.source]
    far = 0.5 / max(1, mdp.n_arcs - mdp.horizon)
    near = far + 0.5 / (most * np.maximum(degree - 1, 1))
    shares = even / even.mean()
    sides = [
        [np.clip(entry["scale"] * part, 1.0, 1e15) for part in (shares, np.sqrt(shares * mdp.n_arcs / mdp.horizon))]
        for entry in entries
    ]

    def gap(episodes: float) -> float:
        n, total = np.maximum(np.floor(episodes * parts), 1.0), 0.0
        for h in range(mdp.horizon):
            arcs = np.arange(mdp.stage_arc[h], mdp.stage_arc[h + 1])
            source, least = mdp.source[arcs], np.full((len(arcs), len(arcs)), np.inf)
            share = np.where(source[:, None] == source, near[arcs], far)
            for entry, both in zip(entries, sides):
                (a, u), (b, v) = ((sigma * np.sqrt(n + c) / n, 0.5 * np.log1p(n / c)) for c in both)
                cost = -np.log(settings["delta"] * entry["weight"] * share) + u[arcs][:, None] + v[arcs]
                k = np.sqrt(0.5 * (a[arcs][:, None] ** 2 + b[arcs] ** 2) / cost)[..., None] * SLOPES
                k = np.maximum(k, 1e-300)
                width = _conjugate(a[arcs][:, None, None] / k) + _conjugate(b[arcs][:, None] / k) + cost[..., None]
                least = np.minimum(least, (k * width).min(axis=-1))
            np.fill_diagonal(least, 0.0)
            total += float(least.max())
        return total

    low = high = 1.0 / float(parts.min())
    while gap(high) > epsilon:
        low, high = high, 2.0 * high
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if gap(middle) <= epsilon else (middle, high)
    return high


SLOPES = 1.2 ** np.arange(-3, 8)  # that a check tries for a pair, beside the one that suits S0


def _conjugate(y: FloatArray) -> FloatArray:
    """Compute h*(y) or a little above it, h(x) = x^2 / 2 + log(2 Phi(x)), from points x with h'(x) = y; 0 at y = 0."""
    x = np.linspace(-40.0, 60.0, 20_001)
    scaled = erfcx(-np.minimum(x, 0.0) / np.sqrt(2))  # left of 0 the terms of h cancel, and h(x) = log of this
    right = np.maximum(x, 0.0)
    h = np.where(x < 0, np.log(scaled), right**2 / 2 + np.log(2 * ndtr(right)))
    slope = x + np.where(x < 0, np.sqrt(2 / np.pi) / scaled, np.exp(-(right**2) / 2) / np.sqrt(2 * np.pi) / ndtr(right))
    inside = np.interp(y, slope, x * slope - h)
    return np.where(y == 0, 0.0, np.where(y > slope[-1], y * y / 2, inside))


# Summary --------------------------------------------------------------------------------------------------------------

TIMED_ARCS = 5_000  # up to this many arcs T* is computed unasked
TIME = "T* kl(delta, 1 - delta)"
UNASKED = f"not computed above {TIMED_ARCS:,} options unless asked for"
GAUSSIAN_ONLY = ("Theorem 1", "tree theorem", TIME)  # lower bounds whose proofs suppose Gaussian noise


@dataclass(frozen=True)
class Row:
    """One bound: its name, what kind of number it is, the number (None where it does not apply) and how to read it."""

    name: str
    kind: Literal["lower", "upper", "measure"]
    value: float | None
    reading: str


@dataclass(frozen=True, eq=False)
class Summary:
    """All bounds of an instance.

    Attributes:
        case: The instance, its gaps, epsilon, delta and sigma.
        rows: The bounds, lower ones first.
        lower: Theorem 1 in full: what each arc needs, the flow and the cut.
        time: T* with its certificate, or None when it was not computed.
        gaussian: Whether all rewards to learn are Gaussian, for which the lower bounds are proved.
    """

    case: Case
    rows: tuple[Row, ...]
    lower: LowerBound
    time: CharacteristicTime | None
    gaussian: bool = True


def summarize(
    instance: Instance, epsilon: float, delta: float, *, sigma: ArrayLike | None = None, time: bool | None = None
) -> Summary:
    """Return every bound of an instance.

    Args:
        instance: The problem with its true means.
        epsilon, delta: Accuracy and allowed probability of a wrong answer.
        sigma: Replaces the instance's own factors.
        time: Compute T*; by default only up to 5,000 arcs.
    """
    at = checked_case(instance, epsilon, delta, sigma)
    basic = lower_bound(instance, epsilon, delta, sigma=at.sigma)
    timed = time or (time is None and at.mdp.n_arcs <= TIMED_ARCS)
    limit = characteristic_time(instance, sigma=at.sigma) if timed else None
    rows = [
        Row("Theorem 1", "lower", basic.value, "no (epsilon, delta)-PAC learner needs fewer trials on average"),
        _limit(at, limit),
        _tree_lower(at),
        _worst_lower(at),
        *_upper(at),
    ]
    gaussian = bool((instance.law.kind[~at.mdp.is_known] == GAUSSIAN).all())
    if not gaussian:
        rows = [_supposed(row) for row in rows]
    return Summary(at, tuple(rows), basic, limit, gaussian)


def _supposed(row: Row) -> Row:
    """Say in the reading of a Gaussian lower bound that it supposes Gaussian noise, where the rewards have another."""
    if row.value is None or row.name not in GAUSSIAN_ONLY:
        return row
    return replace(row, reading=f"if the noise were Gaussian with this sigma: {row.reading}")


def _limit(at: Case, limit: CharacteristicTime | None) -> Row:
    if limit is None:
        return Row(TIME, "measure", None, UNASKED)
    note = f"to find the very best plan: T* = {limit.value:.4g} (certified to {100 * limit.gap:.2g} %)"
    if not limit.unique:
        note = "to find the very best plan: infinite, several plans are best"
    if at.epsilon > 0:
        note += "; no lower bound for an epsilon above 0"
    value = limit.bound(at.delta) if confidence(at.delta) > 0 else 0.0  # infinite times nothing is nothing
    return Row(TIME, "measure" if at.epsilon > 0 else "lower", value, note)


def _tree_lower(at: Case) -> Row:
    name = "tree theorem"
    if not is_tree(at.mdp):
        return Row(name, "lower", None, "holds for trees; here some state can be reached in two ways")
    value = tree_lower_bound(at.instance, at.epsilon, at.delta, sigma=at.sigma)
    return Row(name, "lower", value, "Theorem 1 times up to H: in a tree, options of a step share nothing below")


def _size_of(at: Case) -> tuple[int, int, int]:
    """Return S, A, H: distinct states, most actions of a state, stages."""
    mdp = at.mdp
    return len(np.unique(mdp.node_state)), int(np.diff(mdp.first).max()), mdp.horizon


def _worst_lower(at: Case) -> Row:
    name = "worst case of this size"
    try:
        value = worst_case_lower_bound(*_size_of(at), at.epsilon, at.delta, sigma=at.largest_sigma)
    except SettingError as error:
        return Row(name, "measure", None, str(error))
    words = "a lower bound on the hardest problem with as many states, options a state and steps, not on this one"
    return Row(name, "measure", value, words)


def _upper(at: Case) -> list[Row]:
    rows = []
    conditions = "EPRL with preset theory (any noise with these sigmas) stops before, with probability 1 - delta"
    for rule in SAMPLINGS:
        value = upper_bound(at.instance, at.epsilon, at.delta, sampling=rule, sigma=at.sigma).value
        reading = conditions + ("; epsilon above 0" if rule == "max-diameter" else "")
        if is_tree(at.mdp):
            other = tree_upper_bound(at.instance, at.epsilon, at.delta, sampling=rule, sigma=at.sigma)
            names = ("the theorem for trees", "the theorem for all graphs")
            winner, loser = names if other < value else names[::-1]
            reading += f". From {winner}; {loser} gives {max(value, other):,.0f}"
            value = min(value, other)
        rows.append(Row(f"EPRL {rule}", "upper", value, reading))
    for rule in ("max-coverage", "max-diameter"):
        value = worst_case_upper_bound(
            *_size_of(at), at.epsilon, at.delta, sampling=rule, sigma=at.largest_sigma, arcs=at.mdp.n_arcs
        )
        reading = "the same on any problem with as many steps and options, whatever the means; epsilon above 0"
        rows.append(Row(f"EPRL {rule}, worst case", "upper", value, reading))
    return rows
