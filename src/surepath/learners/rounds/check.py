"""The check at the end of a round: which options are out, how far the incumbent can be from the best.

A path differs from the incumbent in excursions, stretches between two meetings. Single excursions are listed. An arc is
out when every excursion through it has a bound below 0: the best path gains on each of its own. The bounds of a path's
excursions add up to a bound of the path, and a longest path over the incumbent's nodes finds the largest such sum; it
also leads the search for the paths that the sum does not settle, whose own bound is then computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.kernels.jit import kernel
from surepath.kernels.sweeps import Graph, backward, forward
from surepath.learners.rounds.bound import Prior, Scale
from surepath.learners.rounds.design import Blocks, Fit
from surepath.model.mdp import MDP
from surepath.model.paths import on_open_paths, values_to_go

# The bound as a sum along a path --------------------------------------------------------------------------------------
# Rounds count by their size n_j here, whatever the pair: C = sum n_j, D = z^T (sum n_j theta_j) / C, and the variance
# of C D is z^T S z with S = sum n_j^2 W_j. It is at most kappa C m(z), kappa an eigenvalue, and m(z) is a sum over arcs
# and nodes (`bound.py`). As h^-1(y) <= sqrt(2 y), for every slope k > 0
#
#     G(q | p) <= D + k [log 1/delta + log 1/weight + 1/2 log(1 + kappa C / c) - log prior(p | q)]
#                   + (kappa C + c) / (2 k C^2) m(z),
#
# in which everything is a sum over the stages: one pass forward and one backward find the largest through each arc. An
# arc is cleared when that is at most the gap for one slope; what is left is looked at again. At the first arc of a path
# that is cleared, all of the path was still there. It is an entry of its own and has its own weight.

SLOPES = 24
HALVINGS = 10  # of the interval in which the least gap lies


def planned_variances(mdp: MDP, scale: Scale) -> FloatArray:
    """Return M with m(z) = z^T M z for all differences z of paths, float [N, N]: what is in one alone squares to 1."""
    leaves = np.zeros((mdp.n_nodes, mdp.n_arcs))
    leaves[mdp.source, np.arange(mdp.n_arcs)] = 1.0
    return np.asarray(np.diag(scale.arc) - (leaves.T * scale.node[:-1]) @ leaves)


def span_of_differences(mdp: MDP, active: BoolArray, incumbent: IntArray) -> FloatArray:
    """Return a basis of the differences of active paths, float [N, r].

    Of each node one arc leads on and one leads to it, the incumbent's where it has them. Every arc but those that lead
    on gives a path: the one way to it, and the one way on. They are independent: no other turns as late, by its arc.
    """
    onward, inward = np.full(mdp.n_nodes + 1, -1), np.full(mdp.n_nodes + 1, -1)
    arcs = np.flatnonzero(active)
    onward[mdp.source[arcs]] = inward[mdp.target[arcs]] = arcs
    onward[mdp.source[incumbent]] = inward[mdp.target[incumbent]] = incumbent
    others = arcs[onward[mdp.source[arcs]] != arcs]
    rows = np.zeros((len(others), mdp.n_arcs))
    rows[:, incumbent] -= 1.0
    for row, e in zip(rows, others):
        row[e] += 1.0
        before, after = mdp.source[e], mdp.target[e]
        while before != 0:
            row[inward[before]] += 1.0
            before = mdp.source[inward[before]]
        while after != mdp.n_nodes:
            row[onward[after]] += 1.0
            after = mdp.target[onward[after]]
    return rows.T


def inflation(basis: FloatArray, fits: Sequence[Fit], variances: FloatArray) -> float:
    """Return a number that is at least z^T S z / m(z) for every z in the span: kappa C, confirmed by a Cholesky."""
    from scipy.linalg import cholesky, eigh

    own = basis.T @ np.sum([fit.n**2 * fit.spread for fit in fits], axis=0) @ basis
    planned = basis.T @ variances @ basis
    last = len(own) - 1
    most = float(eigh(own, planned, eigvals_only=True, subset_by_index=(last, last))[0]) * (1 + 1e-6)
    while True:
        try:
            cholesky(most * planned - own)
            return most
        except np.linalg.LinAlgError:
            most *= 1.01


@kernel
def excursion_passes(
    blocks: Blocks, weight: FloatArray, active: BoolArray, incumbent: IntArray, leave: FloatArray, meet: FloatArray
) -> FloatArray:
    """Compute the largest weight of a single excursion through each arc, with what it pays at its ends, float [N]."""
    first, target, source = blocks.graph.first, blocks.graph.target, blocks.graph.source
    sink, arcs = len(first) - 1, len(target)
    on, own = np.zeros(sink + 1, dtype=np.bool_), np.zeros(arcs, dtype=np.bool_)
    on[sink] = True
    for e in incumbent:
        on[source[e]] = own[e] = True
    ahead, behind = np.full(sink + 1, -np.inf), np.full(sink + 1, -np.inf)
    for i in range(sink, -1, -1):
        if i < sink:
            for e in range(first[i], first[i + 1]):
                if active[e] and not own[e]:
                    j = target[e]
                    ahead[i] = max(ahead[i], weight[e] + (meet[j] if on[j] else ahead[j]))
    worst = np.full(arcs, -np.inf)
    for i in range(sink):
        before = leave[i] if on[i] else behind[i]
        for e in range(first[i], first[i + 1]):
            if active[e] and not own[e]:
                j = target[e]
                behind[j] = max(behind[j], before + weight[e])
                worst[e] = before + weight[e] + (meet[j] if on[j] else ahead[j])
    return worst


@kernel
def clear_all(
    graph: Graph, weights: FloatArray, fixed: FloatArray, left: BoolArray, incumbent: IntArray, gap: float
) -> bool:
    """Clear arcs through which no path is above the gap for one row of weights; return whether none are left.

    `left` becomes false where arcs are cleared; the incumbent's stay.
    """
    nodes = len(graph.first)
    ahead, behind = np.zeros(nodes), np.zeros(nodes)
    own = np.zeros(len(left), dtype=np.bool_)
    for e in incumbent:
        own[e] = True
    while True:
        cleared, rest = 0, 0
        for row in range(len(weights)):
            weight = weights[row]
            backward(graph, weight, left, ahead)
            forward(graph, weight, left, behind)
            for e in range(len(left)):
                through = behind[graph.source[e]] + weight[e] + ahead[graph.target[e]]
                if left[e] and not own[e] and through + fixed[row] <= gap:
                    left[e] = False
                    cleared += 1
        for e in range(len(left)):
            rest += 1 if left[e] and not own[e] else 0
        if rest == 0 or cleared == 0:
            return rest == 0


class Additive:
    """The additive bound of one check."""

    def __init__(
        self,
        mdp: MDP,
        blocks: Blocks,
        prior: Prior,
        scale: Scale,
        bound: Mapping[str, Any],
        delta: float,
        fits: Sequence[Fit],
        active: BoolArray,
        incumbent: IntArray,
    ) -> None:
        self.mdp, self.blocks, self.prior, self.scale = mdp, blocks, prior, scale
        self.active, self.incumbent = active, incumbent
        total = float(sum(fit.n for fit in fits))
        self.effect = np.sum([fit.n * fit.effect for fit in fits], axis=0) / total
        inflated = inflation(span_of_differences(mdp, active, incumbent), fits, planned_variances(mdp, scale))
        c = bound["additive_trials"]
        self.cost = log(1 / (delta * bound["additive_weight"])) + 0.5 * log(1 + inflated / c)
        self.spread = (inflated + c) / (2 * total**2)
        variance = self.spread * 2 * np.array([scale.arc.min(), values_to_go(mdp, 2 * scale.arc)[0]])
        low, high = np.sqrt(variance[0] / (2 * (self.cost + 4 * mdp.log_paths))), np.sqrt(variance[1] / 2)
        self.slopes = np.geomspace(low, high, SLOPES)

    def weights(self, k: float, fixed: float = 0.0) -> FloatArray:
        """Return the weight of each arc at a slope, float [N]; the incumbent's own weigh what staying costs.

        Under the excursion prior every excursion of a path pays what is `fixed`.
        """
        mdp, prior, scale = self.mdp, self.prior, self.scale
        own = np.repeat(self.incumbent, np.diff(mdp.stage_arc))  # the incumbent's arc in the stage of each
        node, beside = mdp.source, mdp.source[own]
        apart = node != beside
        variance = scale.arc + scale.arc[own] - np.where(apart, scale.node[node] + scale.node[beside], 0.0)
        paid = np.where(apart, prior.elsewhere[beside], prior.leave[beside] + (fixed if prior.single else 0.0))
        weight = self.effect - self.effect[own] + k * paid + self.spread / k * variance
        weight[self.incumbent] = k * prior.stay * prior.choices[mdp.source[self.incumbent]]
        return np.asarray(weight)

    def worst_through(self) -> FloatArray:
        """Compute for each arc the least over slopes of the largest bound of a single excursion through it."""
        worst = np.full(self.mdp.n_arcs, np.inf)
        for k in self.slopes:
            fixed = k * (self.cost + self.prior.fixed)
            leave, meet = k * self.prior.stay * self.prior.before + fixed, k * self.prior.stay * self.prior.after
            found = excursion_passes(self.blocks, self.weights(k), self.active, self.incumbent, leave, meet)
            worst = np.minimum(worst, found)
        return worst

    def clears(self, gap: float) -> bool:
        """Return whether every active path is within this gap of the incumbent."""
        price = self.cost + self.prior.fixed
        weights = np.stack([self.weights(k, price) for k in self.slopes])
        fixed = self.slopes * (0.0 if self.prior.single else price)
        return clear_all(self.blocks.graph, weights, fixed, self.active.copy(), self.incumbent, gap)

    def gap(self, known: float, epsilon: float, slack: float) -> float:
        """Return a proven gap, at most the known one; the least but for 1 part in 2^HALVINGS above epsilon."""
        low, high = 0.0, known
        if known > epsilon and self.clears(epsilon - slack):
            high = epsilon
        elif not np.isfinite(high):
            high = max(epsilon, float(self.spread / self.slopes[0]), 1e-12)
            while not self.clears(high):
                low, high = high, 4 * high
            high += slack
        for _ in range(HALVINGS if high > epsilon else 0):
            middle = (low + high) / 2
            if self.clears(middle):
                high = middle + slack
            else:
                low = middle
        return min(high, known)


# Excursions -----------------------------------------------------------------------------------------------------------

MOST_EXCURSIONS = 100_000  # listed where the additive pass can stand in for the list
LONGEST_LIST = 1_000_000  # where it cannot


class Excursions(NamedTuple):
    """Single excursions off the incumbent."""

    path: IntArray  # [E, H] the incumbent but for one stretch
    start: IntArray  # [E] stage at which it leaves
    end: IntArray  # [E] stage at which it is back


@kernel
def count_excursions(blocks: Blocks, active: BoolArray, incumbent: IntArray) -> float:
    """Count the single excursions over active arcs."""
    first, target, source = blocks.graph.first, blocks.graph.target, blocks.graph.source
    sink = len(first) - 1
    on, ways = np.zeros(sink + 1, dtype=np.bool_), np.zeros(sink + 1)
    for e in incumbent:
        on[source[e]] = True
    on[sink] = True
    total = 0.0
    own = len(incumbent) - 1
    for i in range(sink - 1, -1, -1):
        for e in range(first[i], first[i + 1]):
            if active[e] and not (on[i] and e == incumbent[own]):
                ways[i] += 1.0 if on[target[e]] else ways[target[e]]
        if on[i]:
            total += ways[i]
            own -= 1
    return total


def refuse_long_list(who: str, blocks: Blocks, active: BoolArray, incumbent: IntArray) -> None:
    """Refuse what would have to list more single excursions than fit into memory."""
    count = count_excursions(blocks, active, incumbent)
    if count > LONGEST_LIST:
        raise SettingError(
            f"{who} compares all changes of one stretch of a plan one by one, at most {LONGEST_LIST:,}; here are about "
            f"{count:.0e}. Let fewer steps depend on others; with a declared sigma the gap without gamma needs no list"
        )


@kernel
def list_excursions(blocks: Blocks, active: BoolArray, incumbent: IntArray, count: int) -> Excursions:
    """List the single excursions over active arcs, of which there are `count`."""
    first, target, source = blocks.graph.first, blocks.graph.target, blocks.graph.source
    horizon = len(incumbent)
    paths = np.zeros((count, horizon), dtype=np.int64)
    start, end = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    path, found = incumbent.copy(), 0
    for leave in range(horizon):
        h = leave
        path[h] = first[source[incumbent[leave]]] - 1
        while h >= leave:
            path[h] += 1
            e = path[h]
            node = source[incumbent[leave]] if h == leave else target[path[h - 1]]
            if e >= first[node + 1]:
                path[h] = incumbent[h]
                h -= 1
                continue
            if not active[e] or e == incumbent[h]:
                continue
            if h + 1 == horizon or target[e] == source[incumbent[h + 1]]:
                paths[found] = path
                start[found], end[found] = leave, h + 1
                found += 1
            else:
                h += 1
                path[h] = first[target[e]] - 1
    return Excursions(paths[:found], start[:found], end[:found])


@kernel
def worst_through(arcs: int, incumbent: IntArray, listed: Excursions, bound: FloatArray) -> tuple[FloatArray, IntArray]:
    """Find the largest bound of an excursion through each arc, -inf where there is none, and which one it is."""
    worst, which = np.full(arcs, -np.inf), np.full(arcs, -1, dtype=np.int64)
    for t in range(len(bound)):
        for h in range(listed.start[t], listed.end[t]):
            e = listed.path[t, h]
            if bound[t] > worst[e]:
                worst[e] = bound[t]
                which[e] = t
    return worst, which


class Stretches(NamedTuple):
    """Excursions that the best path may have: by the stage where they leave, the largest sum they lead to first."""

    listed: Excursions
    bound: FloatArray  # [E] at least 0
    first: IntArray  # [H + 1] the first of each stage
    best: FloatArray  # [H + 1] largest sum of bounds of disjoint excursions from a stage on


def stretches_of(horizon: int, listed: Excursions, bound: FloatArray) -> Stretches:
    """Sort the excursions whose bound is at least 0."""
    best, order = np.zeros(horizon + 1), [np.zeros(0, dtype=np.int64)] * horizon
    for h in range(horizon - 1, -1, -1):
        own = np.flatnonzero((listed.start == h) & (bound >= 0))
        sums = bound[own] + best[listed.end[own]]
        best[h] = max(best[h + 1], sums.max(initial=0.0))
        order[h] = own[np.argsort(-sums, kind="stable")]
    first, place = np.cumsum([0, *map(len, order)]), np.concatenate(order)
    return Stretches(Excursions(*(part[place] for part in listed)), bound[place], first, best)


@kernel
def list_paths(incumbent: IntArray, stretches: Stretches, above: float, most: int) -> tuple[IntArray, FloatArray, bool]:
    """List the paths of excursions whose sum of bounds is larger than `above`; also these sums.

    Returns the paths [n, H], their sums [n] and whether there are no others; at most `most` are listed.
    """
    horizon, bound, first, best = len(incumbent), stretches.bound, stretches.first, stretches.best
    end = stretches.listed.end
    paths, sums, found = np.empty((most, horizon), dtype=np.int64), np.empty(most), 0
    stage, at = np.zeros(horizon + 1, dtype=np.int64), np.zeros(horizon + 1, dtype=np.int64)
    total, path = np.zeros(horizon + 1), np.zeros((horizon + 1, horizon), dtype=np.int64)
    path[0] = incumbent
    depth = 0
    while depth >= 0:
        h, i = stage[depth], at[depth]
        if h >= horizon or total[depth] + best[h] <= above:
            depth -= 1
            continue
        if i >= first[h + 1] or total[depth] + bound[i] + best[end[i]] <= above:
            stage[depth] = h + 1
            at[depth] = first[h + 1]
            continue
        at[depth] += 1
        value = total[depth] + bound[i]
        path[depth + 1] = path[depth]
        path[depth + 1, h : end[i]] = stretches.listed.path[i, h : end[i]]
        if value > above:
            if found == most:
                return paths[:found], sums[:found], False
            paths[found] = path[depth + 1]
            sums[found] = value
            found += 1
        depth += 1
        total[depth] = value
        stage[depth] = end[i]
        at[depth] = first[end[i]]
    return paths[:found], sums[:found], True


# Judging --------------------------------------------------------------------------------------------------------------

Bounds = Callable[[IntArray, bool], tuple[FloatArray, FloatArray]]

MOST_LISTED = 100_000  # paths whose own bounds are computed at a check that may be the last
FEW_LISTED = 4_096  # and at others
FIRST_LISTED = 256


@dataclass
class Verdict:
    """Verdict on the incumbent at the end of a round.

    Attributes:
        incumbent: Its path.
        active: Arcs that may still be on the best path, bool [N].
        gap: How far the incumbent can be from the best.
        lead, bound: D and G of single excursions.
        path: The excursions, int [E, H].
        strongest: The excursion of largest bound through each arc, int [N]; -1 where there is none.
        effect: D and G of the excursion of largest bound through each arc, float [2, N], before any was eliminated;
            0 on the incumbent, NaN where there was none.
    """

    incumbent: IntArray
    active: BoolArray
    gap: float
    lead: FloatArray
    bound: FloatArray
    path: IntArray
    strongest: IntArray
    effect: FloatArray

    def aims(self, mdp: MDP, epsilon: float) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
        """Return what the next round should tell apart: differences, their weights, and a policy for the pools."""
        arcs = np.flatnonzero(self.active & (self.strongest >= 0))
        t = self.strongest[arcs]
        if not arcs.size or not np.isfinite(self.bound[t]).all():
            return None, None, None
        behind, width = -self.lead[t], self.bound[t] - self.lead[t]
        weight = 1.0 / (np.maximum(behind, width / 2) + epsilon) ** 2
        digits = 10.0 ** (2 - np.floor(np.log10(weight)))
        weight = np.round(weight * digits) / digits  # so that two machines choose the same plans
        difference = np.zeros((len(arcs), mdp.n_arcs))
        for row, path in zip(difference, self.path[t]):
            row[path] += 1.0
            row[self.incumbent] -= 1.0
        policy = np.zeros(mdp.n_arcs)
        policy[arcs] = weight
        for arc in self.incumbent:
            node = mdp.source[arc]
            others = policy[mdp.first[node] : mdp.first[node + 1]].sum()
            policy[arc] = others if others > 0 else 1.0
        return difference, weight / weight.mean(), np.sqrt(policy)


def judge(
    mdp: MDP,
    blocks: Blocks,
    active: BoolArray,
    incumbent: IntArray,
    bounds: Bounds,
    prior: Prior,
    epsilon: float,
    slack: float,
    additive: Callable[[BoolArray], Additive] | None,
) -> Verdict:
    """Eliminate arcs, and bound how far the incumbent is from the best.

    Args:
        mdp: The problem.
        blocks: Its graph.
        active: Arcs that are left.
        incumbent: The path to judge.
        bounds: Computes D and G of paths; True: of single excursions.
        prior: Of the bound; one over single excursions says nothing of other pairs.
        epsilon: The gap that is wanted.
        slack: What rounding can have done to a bound.
        additive: Makes the additive bound over these arcs, where the bound has such an entry.
    """
    active, count = active.copy(), int(count_excursions(blocks, active, incumbent))
    passes: Additive | None = None
    few = count <= (LONGEST_LIST if additive is None else MOST_EXCURSIONS)
    # Without a list or the pass nothing is decided; the first incumbent had fewer excursions.
    listed = list_excursions(blocks, active & few, incumbent, count if few else 0)
    lead, bound = bounds(listed.path, True)
    bound = bound + slack
    strongest = worst_through(mdp.n_arcs, incumbent, listed, bound)[1]
    effect = np.full((2, mdp.n_arcs), np.nan)
    effect[:, strongest >= 0] = np.stack([lead, bound])[:, strongest[strongest >= 0]]
    effect[:, incumbent] = 0.0
    while True:
        worst, strongest = worst_through(mdp.n_arcs, incumbent, listed, bound)
        if not few:
            passes = None if additive is None else additive(active)
            worst = np.zeros(mdp.n_arcs) if passes is None else passes.worst_through() + slack
        out = active & (worst < 0)
        out[incumbent] = False
        if not out.any():
            break
        active = on_open_paths(mdp, active & ~out)
        kept = active[listed.path].all(axis=1)
        listed = Excursions(*(part[kept] for part in listed))
        lead, bound = lead[kept], bound[kept]
    stretches = stretches_of(mdp.horizon, listed, bound)
    gap = float(stretches.best[0]) if few else np.inf
    if few and gap > epsilon and prior.single == 0:
        gap = _gap_of_paths(bounds, incumbent, stretches, epsilon, slack)
    if gap > epsilon and additive is not None:
        gap = (passes or additive(active)).gap(gap, epsilon, slack)
    return Verdict(incumbent, active, gap, lead, bound, listed.path, strongest, effect)


def _gap_of_paths(bounds: Bounds, incumbent: IntArray, stretches: Stretches, epsilon: float, slack: float) -> float:
    """Bound the paths that the sum of their excursions leaves open by their own G as well.

    Every path is bounded by the smaller of the two, so a path whose sum is below what another has in both need not be
    looked at.
    """

    def largest(above: float, most: int) -> tuple[float, bool]:
        paths, sums, complete = list_paths(incumbent, stretches, above, most)
        own = 0.0
        for begin in range(0, len(paths), FEW_LISTED):
            part = slice(begin, begin + FEW_LISTED)
            own = max(own, float(np.minimum(sums[part], bounds(paths[part], False)[1] + slack).max()))
            if own > epsilon and begin == 0 and not complete:
                break
        return own, complete

    gap = float(stretches.best[0])
    first, _ = largest(0.9 * gap, FIRST_LISTED)
    more, complete = largest(max(first, epsilon), FEW_LISTED if first > epsilon else MOST_LISTED)
    if not complete:
        return gap
    least = max(first, more)
    if least > epsilon:
        return min(gap, least)
    rest, complete = largest(least, FEW_LISTED)
    return max(least, rest) if complete else epsilon
