"""The bound as a sum along a path, for problems with too many plans to list.

Rounds count by their size n_j here, whatever the pair: C = sum n_j, D = z^T (sum n_j theta_j) / C, and the variance of
C D is z^T S z with S = sum n_j^2 W_j. It is at most kappa C m(z), kappa an eigenvalue, and m(z) is a sum over arcs and
nodes (`bound.py`). As h^-1(y) <= sqrt(2 y), for every slope k > 0

    G(q | p) <= D + k [log 1/delta + log 1/weight + 1/2 log(1 + kappa C / c) - log prior(p | q)]
                  + (kappa C + c) / (2 k C^2) m(z),

in which everything is a sum over the stages: one pass forward and one backward find the largest through each arc. An
arc is cleared when that is at most the gap for one slope; what is left is looked at again. At the first arc of a path
that is cleared, all of the path was still there. It is an entry of its own and has its own weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.kernels.jit import kernel
from surepath.kernels.sweeps import Graph, backward, forward
from surepath.learners.rounds.bound import Prior, Scale
from surepath.learners.rounds.fit import Blocks, Fit
from surepath.model.mdp import MDP
from surepath.model.paths import values_to_go

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
        toll = np.where(apart, prior.elsewhere[beside], prior.leave[beside] + (fixed if prior.single else 0.0))
        weight = self.effect - self.effect[own] + k * toll + self.spread / k * variance
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
