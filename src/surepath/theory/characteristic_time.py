"""The characteristic time: the least expected number of episodes, between two certified sides."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog, minimize
from scipy.sparse import coo_array, csr_array, hstack

from surepath._checks import BoolArray, FloatArray, IntArray, one_of, real
from surepath.errors import SettingError
from surepath.kernels.jit import kernel
from surepath.kernels.sweeps import Graph, backward, graph_of
from surepath.model.paths import values_to_go
from surepath.model.worlds import Instance
from surepath.theory.gaps import Case, checked_case, confidence

# Excursions -----------------------------------------------------------------------------------------------------------
# Paths that leave a given path once and come back: which of them is hardest to tell from it?
#
# Legend. p: the given path. An excursion leaves a node of p by an arc off p and ends at the first node of p (or the
# sink) it meets. Each arc e has a cost a[e] >= 0 and a size b[e] >= 0; A and B are their sums along the excursion,
# and the question is the least A^2 / B. A path that leaves p several times is never easier: with r the least ratio of
# its excursions, (sum A_i)^2 >= r (sum sqrt(B_i))^2 >= r sum B_i.
#
# For every k, A^2 / B >= 2 k A - k^2 B, with equality at k = A / B, and the right side is additive: one backward sweep
# finds its least value. The largest over a grid of k bounds the ratio from below; the search closes what is left open.


class Question(NamedTuple):
    """Question put to the excursions: the given path, the terms of A and B, and the grid of k."""

    node_on: BoolArray  # [n_nodes + 1] on the path; the sink counts as on it
    leaves: IntArray  # [L] arcs off the path that leave one of its nodes
    a: FloatArray  # [N]
    b: FloatArray  # [N]
    k: FloatArray  # [K] grid


@kernel
def sweep(graph: Graph, ask: Question, to_go: FloatArray, pick: IntArray) -> None:
    """Fill to_go [K, n + 1] with the least 2 k A - k^2 B from a node off the path on, pick with its first arc."""
    first, target = graph.first, graph.target
    for g in range(len(ask.k)):
        k = ask.k[g]
        for i in range(len(first) - 1, -1, -1):
            if ask.node_on[i]:
                to_go[g, i] = 0.0
                continue
            best = np.inf
            for e in range(first[i], first[i + 1]):
                x = 2.0 * k * ask.a[e] - k * k * ask.b[e] + to_go[g, target[e]]
                if x < best:
                    best = x
                    pick[g, i] = e
            to_go[g, i] = best


@kernel
def sweep_forward(graph: Graph, ask: Question, so_far: FloatArray, came: IntArray) -> None:
    """Fill so_far [K, n + 1] with the least 2 k A - k^2 B from the path to a node off it, came with the last arc."""
    first, target = graph.first, graph.target
    so_far[:] = np.inf
    for g in range(len(ask.k)):
        k = ask.k[g]
        for e in ask.leaves:
            x = 2.0 * k * ask.a[e] - k * k * ask.b[e]
            if x < so_far[g, target[e]]:
                so_far[g, target[e]] = x
                came[g, target[e]] = e
        for i in range(len(first) - 1):
            if not ask.node_on[i]:
                for e in range(first[i], first[i + 1]):
                    x = so_far[g, i] + 2.0 * k * ask.a[e] - k * k * ask.b[e]
                    if x < so_far[g, target[e]]:
                        so_far[g, target[e]] = x
                        came[g, target[e]] = e


@kernel
def candidates(graph: Graph, ask: Question, pick: IntArray, came: IntArray, paths: IntArray, ratio: FloatArray) -> None:
    """Find for each arc the best excursion through it on the grid: its arcs (then -1) and A^2 / B; paths [N, H].

    Arcs on the path and arcs that no excursion uses get ratio inf.
    """
    source, target = graph.source, graph.target
    trial = np.empty(paths.shape[1], dtype=np.int64)
    ratio[:] = np.inf
    leaving = np.zeros(len(ratio), dtype=np.bool_)
    for e in ask.leaves:
        leaving[e] = True
    for through in range(len(ratio)):
        if ask.node_on[source[through]] and not leaving[through]:
            continue
        for g in range(len(ask.k)):
            total_a, total_b, length = ask.a[through], ask.b[through], 1
            e = through
            while not ask.node_on[source[e]]:
                e = came[g, source[e]]
                total_a += ask.a[e]
                total_b += ask.b[e]
                length += 1
            last = through
            place = length
            while not ask.node_on[target[last]]:
                last = pick[g, target[last]]
                trial[place] = last
                place += 1
                total_a += ask.a[last]
                total_b += ask.b[last]
            found = total_a * total_a / total_b if total_b > 0 else np.inf
            if found < ratio[through]:
                ratio[through] = found
                paths[through, length:place] = trial[length:place]
                paths[through, place:] = -1
                e = through
                for back in range(length - 1, -1, -1):
                    paths[through, back] = e
                    if back > 0:
                        e = came[g, source[e]]


@kernel
def bound_from(ask: Question, to_go: FloatArray, node: int, a: float, b: float) -> float:
    """Return a lower bound on A^2 / B of every excursion that comes to a node with sums a and b."""
    best = 0.0
    for g in range(len(ask.k)):
        x = 2.0 * ask.k[g] * a - ask.k[g] * ask.k[g] * b + to_go[g, node]
        if x > best:
            best = x
    return best


@kernel
def search(
    graph: Graph, ask: Question, to_go: FloatArray, slack: float, limit: int, path: IntArray
) -> tuple[float, float]:
    """Find the least A^2 / B by branch and bound: (proven lower bound, ratio of the best excursion, left in path [H]).

    A branch is cut once its bound is within the relative slack of the best found; after `limit` nodes the bounds of
    what is open count as they are.
    """
    first, target = graph.first, graph.target
    horizon = len(path)
    best, floor = np.inf, np.inf
    trail = np.empty(horizon, dtype=np.int64)
    next_arc = np.empty(horizon + 1, dtype=np.int64)
    sum_a, sum_b = np.zeros(horizon + 1), np.zeros(horizon + 1)
    opened = 0
    order = np.empty(len(ask.leaves))
    for j in range(len(ask.leaves)):
        e = ask.leaves[j]
        order[j] = bound_from(ask, to_go, target[e], ask.a[e], ask.b[e])
    for j in np.argsort(order):
        if order[j] >= best * (1.0 - slack):
            floor = min(floor, order[j])
            continue
        e = ask.leaves[j]
        trail[0], sum_a[1], sum_b[1] = e, ask.a[e], ask.b[e]
        depth = 1
        if not ask.node_on[target[e]]:
            next_arc[1] = first[target[e]]
        while depth > 0:
            e = trail[depth - 1]
            node = target[e]
            if ask.node_on[node]:
                if sum_b[depth] > 0:
                    found = sum_a[depth] * sum_a[depth] / sum_b[depth]
                    if found < best:
                        best = found
                        path[:depth] = trail[:depth]
                        path[depth:] = -1
                depth -= 1
                continue
            f = next_arc[depth]
            if f == first[node + 1]:
                depth -= 1
                continue
            next_arc[depth] += 1
            a, b = sum_a[depth] + ask.a[f], sum_b[depth] + ask.b[f]
            low = bound_from(ask, to_go, target[f], a, b)
            opened += 1
            if low >= best * (1.0 - slack) or opened > limit:
                floor = min(floor, low)
                continue
            trail[depth], sum_a[depth + 1], sum_b[depth + 1] = f, a, b
            depth += 1
            if not ask.node_on[target[f]]:
                next_arc[depth] = first[target[f]]
    return min(floor, best), best


# Soft game ------------------------------------------------------------------------------------------------------------
# Allocations of unit flow that do well against a list of challengers: a smooth maximin, by quasi-Newton steps.
#
# Legend. A challenger q is a set K of arcs with f_q(w) = half_q / sum over K of variance_e / w_e; K may have nodes too,
# with the flow through them and a negative variance (`flows.py`). Sought: the flow w
# of value 1 with the largest -1/s log sum over q of f_q(w)^-s, which is within log(number of q) / s of log min f_q. A
# flow is written as the share of each arc at its node, shares as the softmax of logits, so every point is a flow and
# no constraint is left; stationary points are optimal because the problem is concave in w.


class Challengers(NamedTuple):
    """Challenger q has the arcs arc[first[q] : first[q + 1]]; N + i stands for node i."""

    first: IntArray  # [Q + 1]
    arc: IntArray
    half: FloatArray  # [Q] half its squared gap
    variance: FloatArray  # [N + n_nodes]


@kernel
def spread(graph: Graph, share: FloatArray, weight: FloatArray) -> None:
    """Write the unit flow that takes each arc of a node with its share, 1 in all at every node, into weight [N]."""
    first, target = graph.first, graph.target
    n = len(first) - 1
    mass = np.zeros(n + 1)
    mass[0] = 1.0
    for i in range(n):
        for e in range(first[i], first[i + 1]):
            weight[e] = max(mass[i] * share[e], 1e-140)
            mass[target[e]] += weight[e]


@kernel
def softmin(
    graph: Graph, game: Challengers, sharpness: float, logits: FloatArray, weight: FloatArray, out: FloatArray
) -> float:
    """Return minus the smooth minimum of log f_q at these logits; write its derivative to out, the flow to weight."""
    first, target = graph.first, graph.target
    n, count = len(first) - 1, len(game.half)
    share = np.empty(len(logits))
    for i in range(n):
        top, total = -np.inf, 0.0
        for e in range(first[i], first[i + 1]):
            top = max(top, logits[e])
        for e in range(first[i], first[i + 1]):
            share[e] = np.exp(logits[e] - top)
            total += share[e]
        for e in range(first[i], first[i + 1]):
            share[e] /= total
    spread(graph, share, weight)
    through = np.zeros(len(game.variance))  # flow of arcs, then of nodes
    through[: len(weight)] = weight
    for e in range(len(weight)):
        through[len(weight) + graph.source[e]] += weight[e]
    noise = game.variance / through
    sums, height = np.empty(count), np.empty(count)
    least = np.inf
    for q in range(count):
        total = 0.0
        for j in range(game.first[q], game.first[q + 1]):
            total += noise[game.arc[j]]
        total = max(total, 1e-300)
        sums[q] = total
        height[q] = np.log(game.half[q]) - np.log(total)
        least = min(least, height[q])
    mass = 0.0
    for q in range(count):
        height[q] = np.exp(-sharpness * (height[q] - least))
        mass += height[q]
    slope = np.zeros(len(through))
    for q in range(count):
        mix = height[q] / mass / sums[q]
        if height[q] > 1e-30:
            for j in range(game.first[q], game.first[q + 1]):
                slope[game.arc[j]] += mix
    slope *= noise / through  # d log f_q / d w_e = variance_e / w_e^2 / sum
    for e in range(len(weight)):
        slope[e] += slope[len(weight) + graph.source[e]]
    value = np.zeros(n + 1)
    for i in range(n - 1, -1, -1):
        total = 0.0
        for e in range(first[i], first[i + 1]):
            total += share[e] * (slope[e] + value[target[e]])
        value[i] = total
        for e in range(first[i], first[i + 1]):
            out[e] = -weight[e] * (slope[e] + value[target[e]] - total)
    return float(np.log(mass) / sharpness - least)


# Allocation -----------------------------------------------------------------------------------------------------------
# The best allocation of episodes to arcs for telling the best path from all others: the game behind T*.

STEP = 0.03  # of the grid of k, in logarithm; a step off by half of it costs (STEP / 2)^2 of the bound
TURN_STEPS = 500  # quasi-Newton steps a turn
STIR = (0.0, 0.02, 0.001)  # shares of the start that are moved, by turn
SHARPEST = 3000.0  # of the smooth minimum: its error is log(challengers) / sharpness
MOST_SEARCHES = 60  # of searching for harder paths
SEARCH_LIMIT = 2_000_000  # nodes of the final branch and bound
LP_ARCS = 40_000  # above this many arcs the mixture of gradients is the smooth minimum's own


class Seen(NamedTuple):
    """Answer of a search at some weights: the fine question, its sweep, and the least f_q."""

    ask: Question
    to_go: FloatArray
    least: float


class Allocation:
    """Weights of the arcs, the challengers that matter, and certified bounds on the value of the game.

    Several paths may be best as long as they differ in known rewards only. They count as one path then: challengers
    leave any of their arcs and come back to any, and what they share or not adds no noise.

    Attributes:
        weight: The best allocation found, float [N].
        below, above: Proven bounds on max over w of min over q of f_q, in units of least gap^2 / largest sigma^2.
        least: Least gap of a path that is not best.
        unit: Largest sigma^2 / least gap^2: T* = unit / value.
    """

    def __init__(self, at: Case) -> None:
        mdp = at.mdp
        self.mdp, self.graph = mdp, graph_of(mdp)
        self.path = at.gaps.optimal_path
        gap = at.gaps.deterministic_return
        self.on_path = gap == 0
        self.node_on = np.zeros(mdp.n_nodes + 1, dtype=np.bool_)
        self.node_on[mdp.source[self.on_path]] = True
        self.node_on[-1] = True
        self.leaves = np.flatnonzero(self.node_on[mdp.source] & ~self.on_path).astype(np.int64)
        largest, self.least = at.largest_sigma, float(gap[gap > 0].min(initial=np.inf))
        self.nothing_to_learn = self.leaves.size == 0 or largest == 0
        if self.nothing_to_learn:
            return
        self.unit = (largest / self.least) ** 2
        self.cost = at.gaps.value / self.least
        self.variance = (at.sigma / largest) ** 2
        self.items = np.concatenate([self.variance, np.zeros(mdp.n_nodes)])
        self.beside = self.path[np.repeat(np.arange(mdp.horizon), np.diff(mdp.stage_arc))]  # arc of p at that stage
        self.rows: list[IntArray] = []  # K of each challenger
        self.gaps: list[float] = []
        self._seen: set[bytes] = set()
        self.below, self.above = 0.0, np.inf
        heaviest = np.empty(mdp.n_nodes + 1)
        backward(self.graph, self.cost, np.ones(mdp.n_arcs, dtype=np.bool_), heaviest)
        self.longest = float(heaviest[0])  # largest gap of a path
        self.weight = self.even = self.pointed = self.uniform()
        demand = np.where(self.variance > 0, self.variance / np.maximum(gap / self.least, 1) ** 2, 0)
        if demand.any():
            from surepath.theory.flows import minimum_flow

            first = np.asarray(minimum_flow(mdp, demand).flow)
            self.weight = 0.9 * first / first[: mdp.first[1]].sum() + 0.1 * self.weight

    def uniform(self) -> FloatArray:
        """Return the flow that takes every arc of a node alike, float [N]."""
        share = 1.0 / np.diff(self.mdp.first)[self.mdp.source]
        weight = np.empty(self.mdp.n_arcs)
        spread(self.graph, share, weight)
        return weight

    def solve(self, tolerance: float) -> None:
        """Raise `below` and lower `above` until they are within the relative tolerance, or MOST_SEARCHES are spent.

        The best allocation against the challengers known so far is often absurd for those that are not; so the
        next one is searched for on the line to it, and a step is taken only where it helps against all.
        """
        best = self._find_challengers(self.weight, keep=np.inf).least
        if not self.rows:
            self.below = self.above = np.inf
            return
        for turn in range(MOST_SEARCHES):
            known, before = len(self.rows), best
            ahead = self._improve(SHARPEST * min(1.0, 4.0 ** (turn - 4)), STIR[turn % len(STIR)])
            for part in (1.0, 0.6, 0.3, 0.1, 0.03):
                weight = (1 - part) * self.weight + part * ahead
                least = self._find_challengers(weight).least
                if least > best:
                    best, self.weight = least, weight
                    break
            if turn < 2:
                continue
            self._certify(ahead)
            if best < (1 - 0.8 * tolerance) * self.above:
                self._certify(self.weight)
            stuck = len(self.rows) == known and best <= before * (1 + tolerance / 100)
            if stuck or best >= (1 - 0.8 * tolerance) * self.above:
                best = self._settle(tolerance)
                if self.below >= (1 - tolerance) * self.above:
                    return
        self._settle(tolerance)

    def _settle(self, tolerance: float) -> float:
        """Prove what the weights achieve, by branch and bound; keep the challenger that decides it."""
        seen = self._find_challengers(self.weight)
        hardest = np.full(self.mdp.horizon, -1, dtype=np.int64)
        low, found = search(self.graph, seen.ask, seen.to_go, tolerance / 20, SEARCH_LIMIT, hardest)
        self.below = max(self.below, low / 2)
        if found < np.inf:
            self._keep(hardest)
        return min(seen.least, found / 2)

    # Searching for challengers ---------------------------------------------------------------------------------

    def _question(self, weight: FloatArray, grid: FloatArray) -> Question:
        """Return the sums A and B of excursions at these weights."""
        noise = np.where(self.variance > 0, self.variance / np.maximum(weight, 1e-300), 0.0)
        return Question(self.node_on, self.leaves, self.cost, noise + noise[self.beside], grid)

    def _find_challengers(self, weight: FloatArray, keep: float = 1.3) -> Seen:
        """Find the hardest challenger through each arc, and keep those within a factor `keep` of the hardest of all.

        The excursion sought has A between 1 (in units of the least gap) and `longest`, and its k is r / A where r is
        its ratio: so the grid runs from r / longest to r, and is moved down while smaller ratios turn up.
        """
        n = self.mdp.n_nodes + 1
        paths = np.full((self.mdp.n_arcs, self.mdp.horizon), -1, dtype=np.int64)
        ratio = np.empty(self.mdp.n_arcs)
        grid, least = np.array([1e-9]), np.inf
        while True:
            coarse = self._question(weight, grid[:: max(1, len(grid) // 24)].copy())
            size = (len(coarse.k), n)
            to_go, so_far = np.zeros(size), np.zeros(size)
            pick, came = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
            sweep(self.graph, coarse, to_go, pick)
            sweep_forward(self.graph, coarse, so_far, came)
            candidates(self.graph, coarse, pick, came, paths, ratio)
            least = float(ratio.min())
            if not np.isfinite(least) or (len(grid) > 1 and least >= 2 * grid[0] * self.longest):
                break
            low, high = 0.4 * least / self.longest, 1.02 * least
            grid = np.exp(np.linspace(np.log(low), np.log(high), 2 + int(np.log(high / low) / STEP)))
        for e in np.flatnonzero(np.isfinite(ratio) & (ratio <= keep * least)):
            self._keep(paths[e])
        fine = self._question(weight, grid)
        to_go = np.zeros((len(grid), n))
        sweep(self.graph, fine, to_go, np.zeros((len(grid), n), dtype=np.int64))
        return Seen(fine, to_go, least / 2)

    def _keep(self, excursion: IntArray) -> None:
        arcs = excursion[excursion >= 0]
        key = arcs.tobytes()
        if key in self._seen:
            return
        self._seen.add(key)
        both = np.concatenate([arcs, self.beside[arcs]])
        self.rows.append(both[self.variance[both] > 0])
        self.gaps.append(float(self.cost[arcs].sum()))

    # The restricted game ---------------------------------------------------------------------------------------

    def _challengers(self) -> Challengers:
        first = np.concatenate([[0], np.cumsum([len(row) for row in self.rows])]).astype(np.int64)
        return Challengers(first, np.concatenate(self.rows), np.array(self.gaps) ** 2 / 2, self.items)

    def _improve(self, sharpness: float, stir: float) -> FloatArray:
        """Return the weights that do best against the challengers kept, from the present ones on.

        An arc whose share has come near 0 would stay there, so the start is stirred: a part of it is spread evenly,
        as much again follows the flow that the last certificate points to.
        """
        weight = np.empty(self.mdp.n_arcs)
        start = (1 - 2 * stir) * self.weight + stir * self.even + stir * self.pointed
        logits = np.log(np.maximum(start, 1e-12))
        game = self._challengers()

        def value(at: FloatArray, sharp: float) -> tuple[float, FloatArray]:
            slope = np.empty_like(at)
            return softmin(self.graph, game, sharp, at, weight, slope), slope

        for softer in (64.0, 16.0, 4.0, 1.0):  # a sharp minimum is followed from a soft one, not from afar
            if sharpness / softer >= 5:
                steps = TURN_STEPS if softer == 1 else TURN_STEPS // 4
                options = {"maxiter": steps, "maxcor": 16, "ftol": 1e-10, "gtol": 1e-10}
                args = (sharpness / softer,)
                logits = minimize(value, logits, args, jac=True, method="L-BFGS-B", options=options).x
        value(logits, sharpness)
        return weight

    def _heights(self, weight: FloatArray) -> tuple[FloatArray, csr_array]:
        """Compute f_q of the challengers kept, and their gradients by weight as rows."""
        game = self._challengers()
        counts = np.diff(game.first)
        safe = np.maximum(weight[game.arc], 1e-300)
        noise = self.variance[game.arc] / safe
        sums = np.add.reduceat(noise, game.first[:-1])
        height = game.half / sums
        rows = np.repeat(np.arange(len(counts)), counts)
        slopes = np.repeat(height / sums, counts) * noise / safe
        return height, csr_array((slopes, (rows, game.arc)), shape=(len(counts), self.mdp.n_arcs))

    def _certify(self, weight: FloatArray) -> None:
        """Lower `above` by the best mixture of gradients at the given weights.

        Linear program over the mixture and a potential per node: the least potential of the start such that along
        every arc it drops by the mixed gradient.
        """
        height, slopes = self._heights(weight)
        close = np.flatnonzero(height <= height.min() * 1.25)
        slopes = slopes[close]
        n, mdp = len(close), self.mdp
        raw = np.exp(-SHARPEST * np.log(height[close] / height.min())) / height[close]
        self._bound_by(slopes, raw / raw.sum())
        if mdp.n_arcs > LP_ARCS:
            return
        # Scaled so that the answer is near 1 and each challenger's largest coefficient is 1.
        largest = slopes.max(axis=1).toarray().ravel()
        share = largest / height.min()
        inner = mdp.target < mdp.n_nodes
        arcs = np.arange(mdp.n_arcs)
        potentials = coo_array(
            (
                np.concatenate([-np.ones(mdp.n_arcs), np.ones(int(inner.sum()))]),
                (np.concatenate([arcs, arcs[inner]]), np.concatenate([mdp.source, mdp.target[inner]])),
            ),
            shape=(mdp.n_arcs, mdp.n_nodes),
        )
        table = hstack([(slopes.multiply(1 / largest[:, None])).T, potentials]).tocsr()
        cost = np.zeros(n + mdp.n_nodes)
        cost[n] = 1.0
        once = np.zeros((1, n + mdp.n_nodes))
        once[0, :n] = share.min() / share
        limits = [(0, None)] * n + [(None, None)] * mdp.n_nodes
        answer = linprog(cost, table, np.zeros(mdp.n_arcs), once, [share.min()], limits, method="highs")
        if answer.status != 0:
            return
        mixture = np.maximum(answer.x[:n], 0.0) / largest
        self._bound_by(slopes, mixture / mixture.sum())
        flow = np.maximum(-answer.ineqlin.marginals, 0.0)  # the best flow for the linear model
        self.pointed = flow / flow[: mdp.first[1]].sum()

    def _bound_by(self, slopes: csr_array, mixture: FloatArray) -> None:
        """Lower `above`, as 1 / T* is at most the heaviest path under a mixture of gradients."""
        gradient = np.ascontiguousarray(mixture @ slopes)
        if not np.isfinite(gradient).all():  # an emptied arc overflowed: this mixture proves nothing
            return
        heaviest = np.empty(self.mdp.n_nodes + 1)
        passable = np.ones(self.mdp.n_arcs, dtype=np.bool_)
        backward(self.graph, gradient, passable, heaviest)
        self.above = min(self.above, float(heaviest[0]))


# Characteristic time --------------------------------------------------------------------------------------------------
# T*: the limit that no algorithm for finding the best path can beat, computed without listing paths.
#
#     1 / T* = max over flows w of value 1 of min over paths q of gap_q^2 / (2 sum over K of sigma_e^2 / w_e),
#
# K being the arcs in exactly one of q and the best path, gap_q how much q falls short. Every f_q(w) = gap_q^2 / (2 sum
# sigma^2 / w) is concave and grows in proportion to w, so f_q(w') <= <gradient at w, w'> for all w'. Hence both sides
# are certified: 1 / T* is at least min over q of f_q(w) at any w, the minimum bounded by branch and bound, and at most
# the heaviest path under any mixture of gradients of f_q's, one dynamic program. In between: keep the hardest q's
# found, maximise a smooth minimum of their f_q over flows, search for harder q's, repeat; mix the gradients by a linear
# program.


@dataclass(frozen=True, eq=False)
class CharacteristicTime:
    """The limit T* with its certificate.

    Attributes:
        value: T*, between `lower` and `upper`.
        lower: Proven lower bound on T*.
        upper: Proven upper bound on T*: what `allocation` achieves.
        allocation: Share of the episodes that goes through each arc in that case, float [N], a flow of value 1.
        unique: False when several paths are optimal that differ in more than known rewards: T* is then infinite.
    """

    value: float
    lower: float
    upper: float
    allocation: FloatArray
    unique: bool

    @property
    def gap(self) -> float:
        """Return the relative distance between the two bounds."""
        if self.upper == self.lower:
            return 0.0
        return (self.upper - self.lower) / self.upper

    def bound(self, delta: float) -> float:
        """Compute the episodes any algorithm needs on average: lower bound on T* times kl(delta, 1 - delta)."""
        return self.lower * confidence(delta) if self.lower > 0 else 0.0


def characteristic_time(
    instance: Instance, *, scores: str = "steps", sigma: ArrayLike | None = None, tolerance: float = 0.01
) -> CharacteristicTime:
    """Compute T* of an instance, certified to within a relative tolerance.

    Several optimal paths make it infinite, which is said and not searched for, unless they differ in known rewards
    only: then nothing has to distinguish them. One path alone, or rewards all known, make it 0.

    Args:
        instance: The problem with its true means.
        scores: "steps", or "end" for one score of a whole plan. Then `upper` is what a Markov law of plans achieves,
            and `lower` holds for all laws: close to it up to 5,000 plans, from the nearest rival alone beyond.
        sigma: Replaces the instance's own factors; of the whole score with "end".
        tolerance: Stop once upper - lower is below this share of upper; the result says what was reached.

    Example:
        >>> from surepath import MDP, Gaussian
        >>> two = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.0, 1.0]))
        >>> round(characteristic_time(two).value, 2)
        8.0
    """
    if not 0 < real("tolerance", tolerance) < 1:
        raise SettingError(f"tolerance must lie strictly between 0 and 1, not {tolerance:g}")
    at_end = one_of("scores", scores, ("steps", "end")) == "end"
    if at_end and sigma is None:
        sigma = sqrt(max(float(values_to_go(instance.mdp, instance.sigma**2)[0]), 0.0))
    at = checked_case(instance, 0.0, 0.5, sigma)
    n = at.mdp.n_arcs
    optimal = at.gaps.deterministic_return == 0
    several = np.add.reduceat(optimal.astype(np.int64), at.mdp.stage_arc[:-1]) > 1
    # Two optimal paths that differ in an arc to learn: one that is not the only optimal arc of its stage.
    if (optimal & (at.sigma > 0) & np.repeat(several, np.diff(at.mdp.stage_arc))).any():
        return CharacteristicTime(np.inf, np.inf, np.inf, np.full(n, np.nan), False)

    if at_end and at.mdp.n_nodes > at.mdp.horizon:
        from surepath.theory.flows import EndAllocation

        best: Allocation = EndAllocation(at)
    else:  # where no step depends on another, all is as with scores of steps that have the noise of the whole one
        best = Allocation(at)
    if best.nothing_to_learn:
        return CharacteristicTime(0.0, 0.0, 0.0, best.uniform(), True)
    best.solve(tolerance)
    # Gaps are differences of returns, and each arc's may have been taken for 0 within the tolerance: what a path's gap
    # may be off by, relative to the least gap, is added on both sides (twice, for its square).
    rounding = 1 + 1e-13 + 2 * instance.mdp.horizon * at.gaps.tolerance / best.least
    low, high = best.unit / best.above / rounding, best.unit / best.below * rounding
    return CharacteristicTime(sqrt(low) * sqrt(high), low, high, best.weight, True)
