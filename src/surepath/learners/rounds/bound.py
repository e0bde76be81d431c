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
from surepath.learners.rounds.fit import Blocks, Fit
from surepath.model.mdp import MDP
from surepath.model.paths import values_so_far, values_to_go

# Numbers of the bound, fixed before the data --------------------------------------------------------------------------

RHO = 0.4
EXACT_TRIALS, EXACT_WEIGHTS = (4096.0, 256.0, 16.0), (0.25, 0.35, 0.40)
DIVISORS, WEIGHTS = (15.0, 120.0, 1000.0), (0.5, 0.3, 0.2)
LEARNED_TILTS = (0.95, 0.6, 0.38, 0.24, 0.15, 0.09, 0.05, 0.025, 0.012, 0.005)
LEARNED_WEIGHTS = (0.6, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.01)
ADDITIVE_PART = 0.5  # of delta for the entry of the additive pass, where there are too many plans to list
MOST_LISTED = 1e6  # plans from which on there is such an entry
DIGITS = 9  # of the design's flow: what two machines agree on


class Prior(NamedTuple):
    """What the prior charges, in logarithms."""

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
    """What a pair pays beside its prior."""

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
            bound[t] = np.inf  # what is no number proves nothing
    return lead, bound
