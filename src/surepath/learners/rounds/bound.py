"""The bound on the difference of two plans, from rounds whose plans were fixed before their scores.

Legend: p the incumbent, q another path, z = x_q - x_p; of round j: theta_j its effects, tau_j(z) = z^T W_j z the
variance of z under them in units of the noise (W_j = Fit.spread). With I = sum 1/tau_j and D =
(sum z^T theta_j / tau_j) / I, with probability at least 1 - delta, for the best path q, all p, all rounds and
all entries i at once,

    V(q) - V(p) <= G(q | p) = D + sqrt(I + c) / I * h^-1( log 1/delta + log 1/weight_i - log prior(p | q)
                                                          + 1/2 log(1 + I/c) ),          c = trials_i / m(z),

h(x) = x^2/2 + log(2 Phi(x)), m(z) the variance of z under one play of the optimal design (docs, "End scores").
Where sigma is unknown and the noise Gaussian, h^-1 is replaced by a table (`gaussian_table`).

Priors, each over the wrong answers p given the right one q:

    detour      p walks beside q: stays with it with probability 1 - rho, leaves by one of the others with rho, takes
                every arc alike elsewhere; divided by 1 - (1 - rho)^b, b the most choices on a path
    excursion   over single excursions: one of b choices to leave at, one of the others, then every arc alike
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import erfc, exp, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import FloatArray, IntArray, real
from surepath.errors import SettingError
from surepath.kernels.flow import FLOW_GAP, STEPS_OF_FLOW, optimal_flow
from surepath.kernels.jit import bare_kernel, hot_kernel, inner_kernel, kernel
from surepath.learners.rounds.design import Blocks, Fit, Round, rows_of
from surepath.model.mdp import MDP
from surepath.model.paths import values_so_far, values_to_go

# Numbers of the bound, fixed before the data --------------------------------------------------------------------------

RHO = 0.4
EXACT_TRIALS, EXACT_WEIGHTS = (4096.0, 256.0, 16.0), (0.25, 0.35, 0.40)
DIVISORS, WEIGHTS = (15.0, 120.0, 1000.0), (0.1, 0.8, 0.1)  # of a one-look design, of which 1/6 to 1/3 is needed
LEARNED_TILTS = (0.95, 0.6, 0.38, 0.24, 0.15, 0.09, 0.05, 0.025, 0.012, 0.005)
LEARNED_WEIGHTS = (0.6, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.01)
ADDITIVE_PART = 0.5  # of delta for the entry of the additive pass, where there are too many plans to list
MOST_LISTED = 1e6  # plans from which on there is such an entry
DIGITS = 9  # of the design's flow: what two machines agree on


class Prior(NamedTuple):
    """Costs of the prior, in logarithms."""

    single: int  # 1: the excursion prior, which is over single excursions
    stay: float  # for staying with the best path where there is a choice
    leave: FloatArray  # [n_nodes + 1] for leaving it at a node
    elsewhere: FloatArray  # [n_nodes + 1] for a choice off it
    choices: IntArray  # [n_nodes + 1] 1 where there is a choice
    before: IntArray  # [n_nodes + 1] most choices on a way to the node
    after: IntArray  # [n_nodes + 1] most choices from the node on, its own included
    fixed: float  # for every pair


class Scale(NamedTuple):
    """m(z), the variance of a pair under one play of the optimal design: a sum over what is in one path alone."""

    arc: FloatArray  # [N]
    node: FloatArray  # [n_nodes + 1] to be taken away


def default_bound(mdp: MDP, blocks: Blocks, epsilon: float, delta: float, noise: str) -> dict[str, Any]:
    """Choose the numbers of the bound."""
    prior: dict[str, Any] = {"prior": "detour" if epsilon > 0 else "excursion", "rho": RHO}
    if noise == "range":
        return {**prior, "tilts": list(LEARNED_TILTS), "weights": list(LEARNED_WEIGHTS)}
    trials, weights = list(EXACT_TRIALS), EXACT_WEIGHTS
    if epsilon > 0 and noise == "sigma":
        scale = scale_of(mdp, blocks)
        most = float(values_to_go(mdp, scale.arc)[0])
        need = 4 * most * (log(1 / delta) + mdp.log_paths) / epsilon**2
        trials, weights = [max(need / divisor, 1.0) for divisor in DIVISORS], WEIGHTS
    part = ADDITIVE_PART if mdp.log_paths > log(MOST_LISTED) and noise == "sigma" else 0.0
    bound = {**prior, "trials": trials, "weights": [weight * (1 - part) for weight in weights]}
    if part:
        bound |= {"additive_trials": float(trials[1]), "additive_weight": part}
    return bound


def checked_bound(given: Any, default: Mapping[str, Any]) -> dict[str, Any]:
    """Check a bound that was given, number by number, against the form of the default one."""
    kind = "tilts" if "tilts" in default else "trials"
    law = SettingError(
        f"bound must be a dict with exactly the keys {', '.join(default)}: prior 'detour' or 'excursion', rho between "
        f"0 and 1, {kind} above 0 (tilts below 1) and as many weights, of sum at most 1; got {given!r}"
    )
    if not isinstance(given, Mapping) or set(given) != set(default):
        raise law
    bound = dict(given)
    for name in (kind, "weights"):
        if not isinstance(bound[name], (list, tuple)):
            raise law
        bound[name] = [real(f"one of the {name}", value) for value in bound[name]]
    entries, weights, rho = bound[kind], bound["weights"], real("rho", bound["rho"])
    total = sum(weights) + float(bound.get("additive_weight", 0.0))
    sound = 0 < len(entries) == len(weights) and min(*entries, *weights) > 0 and 0 < rho < 1 and total <= 1 + 1e-12
    if not sound or bound["prior"] not in ("detour", "excursion") or (kind == "tilts" and max(entries) >= 1):
        raise law
    return bound


def scale_of(mdp: MDP, blocks: Blocks) -> Scale:
    """Compute m(z) from the flow of the optimal design, which is rounded so that all machines agree on it."""
    everything = np.ones(mdp.n_arcs, dtype=np.bool_)
    flow = optimal_flow(blocks.graph, blocks.inside, everything, STEPS_OF_FLOW, FLOW_GAP)[0]
    digits = 10.0 ** (DIGITS - 1 - np.floor(np.log10(flow)))
    flow = np.round(flow * digits) / digits
    node = np.zeros(mdp.n_nodes + 1)
    np.add.at(node, mdp.source, flow)
    square = (blocks.unit**2)[blocks.of]
    stage = np.searchsorted(mdp.stage_node, np.arange(mdp.n_nodes), side="right") - 1
    taken = np.zeros(mdp.n_nodes + 1)
    inside = np.flatnonzero(blocks.inside)
    taken[inside] = square[stage[inside]] / node[inside]
    return Scale(square[mdp.arcs.stage] / flow, taken)


def prior_of(mdp: MDP, bound: Mapping[str, Any]) -> Prior:
    """Compute what the prior of a bound charges."""
    rho, single = bound["rho"], bound["prior"] == "excursion"
    degree = np.ones(mdp.n_nodes + 1)
    degree[:-1] = np.diff(mdp.first)
    choices = (degree > 1).astype(np.int64)
    others = np.maximum(degree - 1, 1)
    here = choices[mdp.source].astype(np.float64)
    before, after = (values(mdp, here).astype(np.int64) for values in (values_so_far, values_to_go))
    most = max(int(after[0]), 1)
    if single:
        return Prior(1, 0.0, np.log(others), np.log(degree), choices, before, after, log(most))
    fixed = float(np.log(-np.expm1(most * np.log1p(-rho))))
    return Prior(0, float(-np.log1p(-rho)), np.log(others / rho), np.log(degree), choices, before, after, fixed)


# The inverse of h -----------------------------------------------------------------------------------------------------


@bare_kernel
def h_inverse(y: float) -> float:
    """Return x with x^2/2 + log(2 Phi(x)) = y, never less; 0 for y <= 0.

    h is convex and increasing, so Newton's steps from a point above the root stay above it.
    """
    if y <= 0.0:
        return 0.0
    x = sqrt(2.0 * y)
    for _ in range(6):
        twice = erfc(-x * sqrt(0.5))
        density = sqrt(2.0 / pi) * exp(-0.5 * x * x)
        step = (0.5 * x * x + log(twice) - y) / (x + density / twice)
        x -= step
        if step < 1e-9 * x:
            break
    return x * (1.0 + 1e-12) + 1e-14


GAUSSIAN_TILTS = (0.0, 0.02, 0.05, 0.12, 0.3, 0.7, 1.6)
GAUSSIAN_WEIGHTS = (0.1, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15)
FINE = 1.012  # ratio of the grid of sigmas
TABLE_STEP, TABLE_END = 0.1, 120.0  # of the table's argument
REACH = 30.0  # the grid of sigmas goes this far from the residuals' own, up and down


def gaussian_table(rss: float, free: int) -> FloatArray:
    """Tabulate F(B), the largest sigma h^-1(B - k(sigma)), at B = 0, TABLE_STEP, ...

    k(sigma) = log sum v (1 + s)^(free/2) exp(-s rss / (2 sigma^2)) is the evidence of the residuals against a sigma; it
    increases with sigma. A cell of the grid takes its upper end for the factor and its lower end for k; the first cell
    begins at 0, and where B exceeds k at the end of the grid nothing bounds sigma.
    """
    if free <= 0 or not rss > 0.0:
        return np.full(int(TABLE_END / TABLE_STEP) + 2, np.inf)
    s, v = np.array(GAUSSIAN_TILTS), np.array(GAUSSIAN_WEIGHTS)
    middle = sqrt(rss / free)
    ends = np.asarray(middle / REACH * FINE ** np.arange(2 * log(REACH) / log(FINE)), dtype=np.float64)
    low = np.concatenate([[1e-9 * middle], ends[:-1]])
    exponent = np.log(v)[:, None] + 0.5 * free * np.log1p(s)[:, None] - s[:, None] * rss / (2 * low**2)
    top = exponent.max(axis=0)
    k = top + np.log(np.exp(exponent - top).sum(axis=0))
    largest = np.zeros(int(TABLE_END / TABLE_STEP) + 2)
    fill_gaussian(ends, k, largest)
    return largest


@kernel
def fill_gaussian(ends: FloatArray, k: FloatArray, largest: FloatArray) -> None:
    """Fill in the largest sigma h^-1(B - k) at each B of the table."""
    last = len(ends) - 1
    for i in range(len(largest)):
        b, top = i * TABLE_STEP, 0.0
        if b > k[last]:
            largest[i] = np.inf
            continue
        for j in range(last, -1, -1):
            if b > k[j] and ends[j] * sqrt(2.0 * (b - k[j])) > top:
                top = max(top, ends[j] * h_inverse(b - k[j]))
        largest[i] = top


@hot_kernel
def width_factor(table: FloatArray, y: float) -> float:
    """Return h^-1(y), or what the table has for it, rounded up; infinite beyond its end."""
    if len(table) == 0:
        return h_inverse(y)
    if not y < TABLE_END:
        return np.inf
    return float(table[int(max(y, 0.0) / TABLE_STEP) + 1])


# Pairs ----------------------------------------------------------------------------------------------------------------


@inner_kernel
def prior_cost(blocks: Blocks, prior: Prior, incumbent: IntArray, path: IntArray, single: int) -> float:
    """Return -log prior(incumbent | path); with `single` of the excursion in which they differ, whatever is shared.

    What the best path has in common with the incumbent outside the excursion is not known: it pays for as many choices
    as there can be.
    """
    source, target = blocks.graph.source, blocks.graph.target
    total, start, end = prior.fixed, -1, 0
    for h in range(len(incumbent)):
        p, q = incumbent[h], path[h]
        node = source[p]
        if p == q:
            if single == 0:
                total += prior.stay * prior.choices[node]
            continue
        if start < 0:
            start = h
        end = h + 1
        if source[q] == node:
            total += prior.leave[node]
        else:
            total += prior.elsewhere[node]
    if single == 1 and start >= 0:
        total += prior.stay * (prior.before[source[incumbent[start]]] + prior.after[target[incumbent[end - 1]]])
    return total


@kernel
def prior_costs(blocks: Blocks, prior: Prior, incumbent: IntArray, paths: IntArray, single: int) -> FloatArray:
    """Compute `prior_cost` of each path."""
    costs = np.zeros(len(paths))
    for t in range(len(paths)):
        costs[t] = prior_cost(blocks, prior, incumbent, paths[t], single)
    return costs


@inner_kernel
def pair_scale(blocks: Blocks, scale: Scale, incumbent: IntArray, path: IntArray) -> float:
    """Compute m(z)."""
    source, total = blocks.graph.source, 0.0
    for h in range(len(incumbent)):
        p, q = incumbent[h], path[h]
        if p != q:
            total += scale.arc[p] + scale.arc[q]
            if source[p] != source[q]:
                total -= scale.node[source[p]] + scale.node[source[q]]
    return total


class Evidence(NamedTuple):
    """All rounds, stacked."""

    effect: FloatArray  # [R, N]
    spread: FloatArray  # [R, N, N]


def evidence_of(fits: Sequence[Fit]) -> Evidence:
    """Stack the fits of all rounds."""
    return Evidence(np.stack([fit.effect for fit in fits]), np.stack([fit.spread for fit in fits]))


class Entries(NamedTuple):
    """Cost of a pair beside its prior."""

    scale: Scale
    trials: FloatArray  # [K]
    cost: FloatArray  # [K] log 1/delta + log 1/weight
    table: FloatArray  # in place of h^-1, or empty


@kernel
def pair_bounds(
    blocks: Blocks, prior: Prior, entries: Entries, seen: Evidence, incumbent: IntArray, paths: IntArray, single: int
) -> tuple[FloatArray, FloatArray]:
    """Compute D and the least G over entries of each path against the incumbent; with `single`, of excursions."""
    horizon, rounds = len(incumbent), len(seen.effect)
    effect, spread = seen.effect, seen.spread
    lead, bound = np.zeros(len(paths)), np.zeros(len(paths))
    arcs, signs = np.zeros(2 * horizon, dtype=np.int64), np.zeros(2 * horizon)
    for t in range(len(paths)):
        count = 0
        for h in range(horizon):
            p, q = incumbent[h], paths[t, h]
            if p != q:
                arcs[count], signs[count] = q, 1.0
                arcs[count + 1], signs[count + 1] = p, -1.0
                count += 2
        if count == 0:
            continue
        information, weighed = 0.0, 0.0
        for j in range(rounds):
            line, tau = 0.0, 0.0
            for a in range(count):
                line += signs[a] * effect[j, arcs[a]]
                row, part = spread[j, arcs[a]], 0.0
                for b in range(a):
                    part += signs[b] * row[arcs[b]]
                tau += 2.0 * signs[a] * part + row[arcs[a]]
            information += 1.0 / tau
            weighed += line / tau
        lead[t] = weighed / information
        least = np.inf
        m = pair_scale(blocks, entries.scale, incumbent, paths[t])
        price = prior_cost(blocks, prior, incumbent, paths[t], single)
        for i in range(len(entries.trials)):
            c = entries.trials[i] / m
            y = entries.cost[i] + price + 0.5 * log(1.0 + information / c)
            width = sqrt(information + c) / information * width_factor(entries.table, y)
            least = min(least, width)
        bound[t] = lead[t] + least
        if not bound[t] < np.inf:
            bound[t] = np.inf  # NaN proves nothing
    return lead, bound


# A range alone --------------------------------------------------------------------------------------------------------
# Scores count in [0, 1]. In the order asked, each gets a prediction yhat from what precedes it; r = y - yhat. For a
# pair z, g = z^T W_j x is the weight of a score in z^T theta_j. With a weight a_j of each round that is known at its
# start, C = sum a_j, D = sum a_j z^T theta_j / C, kappa(x) = -log(1 - x) - x and tilts l with weights w fixed in
# advance,
#
#     G(q | p) = D + y / C,    sum_l w_l exp(l y - K(l)) = 1 / (delta prior(p | q)),    K(l) = sum kappa(l a_j g r),
#
# holds as the bound above does, for any law of scores in the range, if l a_j |g| c <= 1 for the reach c of every
# score: how far above its prediction it can be where g > 0, or below where g < 0. So tilts are below 1, and a_j = 1 /
# max(max |g| c, 0.2 tau_j / R), R the widest range. K is bounded by sums of powers of r over the plays of each plan
# (docs, "End scores").

PENALTIES = (0.3, 3.0, 30.0, 300.0)  # on arcs
FREE = 0.1  # on what is common to all scores
CLIP = 0.2  # in the first round predictions stay this far from the ends of the range
PART = 0.2  # of tau in a round's weight
ONE_BY_ONE = 60_000  # scores times arcs up to which the first round is predicted score by score
BLOCK_NUMBERS = 1_000_000  # numbers of one block of paths


class Rows(NamedTuple):
    """The plays of a round, by plan and block."""

    weight: FloatArray  # [N, M] g of each arc
    plays: FloatArray  # [M]
    powers: FloatArray  # [3, M] sums of r^2, r^3 and r^4
    ends: FloatArray  # [2, M] largest and least r
    reach: FloatArray  # [2, M] how far above the prediction a score can be, and below


def tail(x: FloatArray) -> FloatArray:
    """Bound (kappa(x) - x^2/2 - x^3/3) / x^4 from above, x < 1: increasing, 1/4 at 0."""
    x = np.maximum(x, 1e-9)
    near = 0.25 + x / 5 + x**2 / 6 + x**3 / (7 * (1 - x))
    return np.where(x < 0.1, near, (-np.log1p(-x) - x - x**2 / 2 - x**3 / 3) / x**4 * (1 + 1e-9))


class Bets:
    """The evidence of all rounds, for scores of which the range alone is known."""

    def __init__(self, blocks: Blocks, bound: Mapping[str, Any], delta: float) -> None:
        self.blocks, self.delta = blocks, delta
        self.tilts, self.weights = np.array(bound["tilts"]), np.array(bound["weights"])
        self.predictor = Predictor(blocks)
        self.effects: list[FloatArray] = []
        self.parts: list[Rows] = []

    def add(self, done: Round, fit: Fit) -> None:
        """Take in a finished round: predict its scores, then learn from them."""
        self.parts.append(self._rows(done, fit, self.guess(done, fit), not self.parts))
        self.effects.append(fit.effect)

    def guess(self, done: Round, fit: Fit) -> FloatArray:
        """Predict the scores of a round from what precedes each, float [n, B], and learn from them."""
        guess, edge = self.predictor.play(done, in_order=not self.parts), 0.0 if self.parts else CLIP
        return np.asarray(np.clip(guess, edge, 1 - edge))

    def _rows(self, done: Round, fit: Fit, guess: FloatArray, start: bool) -> Rows:
        plans, which = np.unique(done.paths, axis=0, return_inverse=True)
        which = which.ravel()
        blocks, scores = self.blocks, done.scores
        count, r = scores.shape[1], scores - guess
        size = len(plans) * count
        at = (which[:, None] * count + np.arange(count)).ravel()

        def summed(values: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(at, values.ravel(), size), dtype=np.float64)

        ends, reach = np.outer([-np.inf, np.inf], np.ones(size)), np.full((2, size), 1 - CLIP)
        np.maximum.at(ends[0], at, r.ravel())
        np.minimum.at(ends[1], at, r.ravel())
        weight = (rows_of(blocks, plans, len(fit.effect)) @ fit.spread).reshape(size, -1)
        if not start:
            reach[:, at] = 1 - guess.ravel(), guess.ravel()
        number, *powers = (summed(r**k) for k in (0, 2, 3, 4))
        return Rows(np.ascontiguousarray(weight.T), number, np.stack(powers), ends, reach)

    def weights_of(self, z: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
        """Return the weight a_j of a round for differences z, and the sum of its scores' absolute weights."""
        rows = self.parts[j]
        g = z @ rows.weight
        unit = np.tile(self.blocks.unit, len(rows.plays) // len(self.blocks.unit))
        return self._share(rows, g), np.abs(g * rows.plays / unit).sum(axis=1)

    def _share(self, rows: Rows, g: FloatArray) -> FloatArray:
        """Return a_j of differences whose scores weigh g, float [n]."""
        reach = np.where(g > 0, g * rows.reach[0], -g * rows.reach[1]).max(axis=1)
        return np.asarray(1 / np.maximum(reach, PART * ((g * g) @ rows.plays) / self.blocks.unit.max()))

    def bounds(
        self, prior: Prior, incumbent: IntArray, paths: IntArray, single: bool, rounds: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Compute D and G of paths against the incumbent, from the first `rounds`; with `single` of excursions."""
        lead, bound = np.zeros(len(paths)), np.zeros(len(paths))
        goal = prior_costs(self.blocks, prior, incumbent, paths, int(single)) - np.log(self.delta)
        differ = np.flatnonzero((paths != incumbent).any(axis=1))
        for some in np.array_split(differ, 1 + len(differ) * len(self.parts[0].plays) // BLOCK_NUMBERS):
            lead[some], bound[some] = self._bounds(incumbent, paths[some], goal[some], rounds)
        return lead, bound

    def _bounds(
        self, incumbent: IntArray, paths: IntArray, goal: FloatArray, rounds: int | None
    ) -> tuple[FloatArray, FloatArray]:
        """Compute D and G of paths that all differ from the incumbent; `goal` is log 1 / (delta prior)."""
        n, effects = len(paths), self.effects[:rounds]
        total, weighed, largest, v = np.zeros(n), np.zeros(n), np.full(n, -np.inf), np.zeros((3, n))
        for effect, rows in zip(effects, self.parts):
            g = np.zeros((n, len(rows.plays)))
            for p, q in zip(incumbent, paths.T):
                g += rows.weight[q] - rows.weight[p]
            share = self._share(rows, g)
            total += share
            weighed += share * (effect[paths] - effect[incumbent]).sum(axis=1)
            g *= share[:, None]
            largest = np.maximum(largest, np.maximum(g * rows.ends[0], g * rows.ends[1]).max(axis=1))
            power = g * g
            for k, sums in enumerate(rows.powers):
                v[k] += power @ sums
                power *= g
        tilts = self.tilts[:, None]
        spent = tilts**2 * v[0] / 2 + tilts**3 * v[1] / 3 + tilts**4 * v[2] * tail(tilts * largest)
        cost = np.log(self.weights)[:, None] - spent  # [K, n]
        y = ((goal - cost) / tilts).min(axis=0)
        for _ in range(4):  # convex and increasing in y: every step from above stays above the root
            parts = tilts * y + cost
            value = np.logaddexp.reduce(parts, axis=0)
            y -= np.maximum(value - goal, 0.0) / (tilts * np.exp(parts - value)).sum(axis=0)
        bound = (weighed + y * (1 + 1e-12)) / total
        return weighed / total, np.where(bound < np.inf, bound, np.inf)  # what is not a number proves nothing


class Predictor:
    """Ridge regressions on all rows so far, with several penalties, and the mean; each knows its squared error.

    Any prediction from what precedes a score keeps the proof; a good one makes the residuals small.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks, self.arcs, count = blocks, len(blocks.graph.target), len(blocks.unit)
        self.matrix, self.product = np.zeros((self.arcs + count,) * 2), np.zeros(self.arcs + count)
        self.total, self.count = np.zeros(count), 0
        self.error = np.zeros(1 + len(PENALTIES))  # that of the mean first

    def play(self, done: Round, in_order: bool) -> FloatArray:
        """Predict the scores of a round by the best model so far, float [n, B], and learn them.

        Each is predicted from those asked before it, many from those before them all; else from the rounds before.
        """
        n, unit = len(done.paths), self.blocks.unit
        rows = rows_of(self.blocks, done.paths, self.arcs) * unit[:, None]  # arcs of the block, and its constant:
        x = np.concatenate([rows, np.broadcast_to(np.eye(len(unit)), (n, len(unit), len(unit)))], axis=2)
        step = 1 + n * self.arcs // ONE_BY_ONE if in_order else n
        return np.concatenate([self._next(x[i : i + step], done.scores[i : i + step]) for i in range(0, n, step)])

    def _next(self, x: FloatArray, y: FloatArray) -> FloatArray:
        guess = np.full((1 + len(PENALTIES), *y.shape), 0.5)
        if self.count:
            guess[0] = self.total / self.count
            for k, size in enumerate(PENALTIES):
                penalty = np.where(np.arange(len(self.product)) < self.arcs, size, FREE)
                guess[k + 1] += x @ np.linalg.solve(self.matrix + np.diag(penalty), self.product)
        best = guess[int(np.argmin(self.error))]
        self.error += ((np.clip(guess, 0, 1) - y) ** 2).sum(axis=(1, 2))
        rows = x.reshape(-1, len(self.product))
        self.matrix += rows.T @ rows
        self.product += rows.T @ (y - 0.5).reshape(-1)
        self.total, self.count = self.total + y.sum(axis=0), self.count + len(y)
        return np.asarray(best)
