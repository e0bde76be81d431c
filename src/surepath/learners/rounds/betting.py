"""The bound where only the range of scores is known: bets against predictions made before a score.

Scores count in [0, 1]. In the order asked, each gets a prediction yhat from what precedes it; r = y - yhat. For a pair
z, g = z^T W_j x is the weight of a score in z^T theta_j. With a weight a_j of each round that is known at its start,
C = sum a_j, D = sum a_j z^T theta_j / C, kappa(x) = -log(1 - x) - x and tilts l with weights w fixed in advance,

    G(q | p) = D + y / C,    sum_l w_l exp(l y - K(l)) = 1 / (delta prior(p | q)),    K(l) = sum kappa(l a_j g r),

holds as the bound of `bound.py` does, for any law of scores in the range, if l a_j |g| c <= 1 for the reach c of every
score: how far above its prediction it can be where g > 0, or below where g < 0. So tilts are below 1, and a_j = 1 /
max(max |g| c, 0.2 tau_j / R), R the widest range. K is bounded by sums of powers of r over the plays of each plan
(docs, "End scores").
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log, log1p
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import FloatArray, IntArray
from surepath.kernels.jit import hot_kernel, kernel
from surepath.learners.rounds.bound import Prior, prior_cost
from surepath.learners.rounds.fit import Blocks, Fit, Round, rows_of

PENALTIES = (0.3, 3.0, 30.0, 300.0)  # on arcs
FREE = 0.1  # on what is common to all scores
CLIP = 0.2  # in the first round predictions stay this far from the ends of the range
PART = 0.2  # of tau in a round's weight
ONE_BY_ONE = 60_000  # scores times arcs up to which the first round is predicted score by score


class Rows(NamedTuple):
    """Plays by round, plan and block; M counts these."""

    first: IntArray  # [R + 1] first row of each round
    weight: FloatArray  # [N, M] g of each arc
    plays: FloatArray  # [M]
    square: FloatArray  # [M] sum of r^2
    cube: FloatArray  # [M] of r^3
    fourth: FloatArray  # [M] of r^4
    high: FloatArray  # [M] largest r
    low: FloatArray  # [M] least r
    up: FloatArray  # [M] how far above the prediction a score can be
    down: FloatArray  # [M] and below


@hot_kernel
def tail(x: float) -> float:
    """Bound (kappa(x) - x^2/2 - x^3/3) / x^4 from above, x < 1: increasing, 1/4 at 0."""
    if x <= 0.0:
        return 0.25
    if x < 0.1:
        return 0.25 + x / 5.0 + x * x / 6.0 + x * x * x / (7.0 * (1.0 - x))
    return (-log1p(-x) - x - x * x / 2.0 - x * x * x / 3.0) / (x * x * x * x) * (1.0 + 1e-9)


@kernel
def bet_bounds(
    blocks: Blocks,
    prior: Prior,
    rows: Rows,
    effect: FloatArray,
    tilts: FloatArray,
    weights: FloatArray,
    delta: float,
    incumbent: IntArray,
    paths: IntArray,
    single: int,
) -> tuple[FloatArray, FloatArray]:
    """Compute D and G of each path against the incumbent; with `single`, of excursions."""
    horizon, rounds = len(incumbent), len(effect)
    lead, bound = np.zeros(len(paths)), np.zeros(len(paths))
    g, cost = np.zeros(len(rows.plays)), np.zeros(len(tilts))
    widest = blocks.unit.max()
    for t in range(len(paths)):
        differ = False
        g[:] = 0.0
        for h in range(horizon):
            p, q = incumbent[h], paths[t, h]
            if p != q:
                differ = True
                plus, minus = rows.weight[q], rows.weight[p]
                for i in range(len(g)):
                    g[i] += plus[i] - minus[i]
        if not differ:
            continue
        total, weighed, largest = 0.0, 0.0, -np.inf
        v2, v3, v4 = 0.0, 0.0, 0.0
        for j in range(rounds):
            line, tau, reach = 0.0, 0.0, 0.0
            for h in range(horizon):
                line += effect[j, paths[t, h]] - effect[j, incumbent[h]]
            for i in range(rows.first[j], rows.first[j + 1]):
                x = g[i]
                tau += rows.plays[i] * x * x
                reach = max(reach, x * rows.up[i] if x > 0.0 else -x * rows.down[i])
            a = 1.0 / max(reach, PART * tau / widest)
            total += a
            weighed += a * line
            for i in range(rows.first[j], rows.first[j + 1]):
                x = a * g[i]
                xx = x * x
                v2 += xx * rows.square[i]
                v3 += xx * x * rows.cube[i]
                v4 += xx * xx * rows.fourth[i]
                largest = max(largest, max(x * rows.high[i], x * rows.low[i]))
        goal = prior_cost(blocks, prior, incumbent, paths[t], single) - log(delta)
        y = np.inf
        for k in range(len(tilts)):
            l = tilts[k]
            cost[k] = log(weights[k]) - (l * l * v2 / 2.0 + l**3 * v3 / 3.0 + l**4 * v4 * tail(l * largest))
            y = min(y, (goal - cost[k]) / l)
        for _ in range(4):  # convex and increasing in y: every step from above stays above the root
            top = -np.inf
            for k in range(len(tilts)):
                top = max(top, tilts[k] * y + cost[k])
            value, slope = 0.0, 0.0
            for k in range(len(tilts)):
                part = exp(tilts[k] * y + cost[k] - top)
                value += part
                slope += tilts[k] * part
            y -= max(0.0, (top + log(value) - goal) * value / slope)
        lead[t] = weighed / total
        bound[t] = lead[t] + y * (1.0 + 1e-12) / total
        if not bound[t] < np.inf:
            bound[t] = np.inf  # what is no number proves nothing
    return lead, bound


class Bets:
    """The evidence of all rounds, for scores of which the range alone is known."""

    def __init__(self, blocks: Blocks, bound: Mapping[str, Any], delta: float) -> None:
        self.blocks, self.delta = blocks, delta
        self.tilts, self.weights = np.array(bound["tilts"]), np.array(bound["weights"])
        self.predictor = Predictor(blocks)
        self.effects: list[FloatArray] = []
        self.parts: list[Rows] = []
        self.rows: Rows | None = None

    def add(self, done: Round, fit: Fit) -> None:
        """Take in a finished round: predict its scores, then learn from them."""
        self.parts.append(self._rows(done, fit, self.guess(done, fit), not self.parts))
        self.effects.append(fit.effect)
        first = np.concatenate([[0], np.cumsum([len(part.plays) for part in self.parts])])
        joined = [np.concatenate(columns, axis=-1) for columns in list(zip(*self.parts))[1:]]
        self.rows = Rows(first.astype(np.int64), *(np.ascontiguousarray(column) for column in joined))

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

        high, low = np.full(size, -np.inf), np.full(size, np.inf)
        np.maximum.at(high, at, r.ravel())
        np.minimum.at(low, at, r.ravel())
        weight = (rows_of(blocks, plans, len(fit.effect)) @ fit.spread).reshape(size, -1)
        up, down = np.full(size, 1 - CLIP), np.full(size, 1 - CLIP)
        if not start:
            up[at], down[at] = 1 - guess.ravel(), guess.ravel()
        number, square, cube, fourth = (summed(r**k) for k in (0, 2, 3, 4))
        first = np.zeros(0, dtype=np.int64)
        return Rows(first, np.ascontiguousarray(weight.T), number, square, cube, fourth, high, low, up, down)

    def weights_of(self, z: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
        """Return the weight a_j of a round for differences z, and the sum of its scores' absolute weights."""
        rows = self.parts[j]
        g = z @ rows.weight
        tau = (g**2 * rows.plays).sum(axis=1)
        reach = np.where(g > 0, g * rows.up, -g * rows.down).max(axis=1)
        unit = np.tile(self.blocks.unit, len(rows.plays) // len(self.blocks.unit))
        return 1 / np.maximum(reach, PART * tau / self.blocks.unit.max()), np.abs(g * rows.plays / unit).sum(axis=1)

    def bounds(
        self, prior: Prior, incumbent: IntArray, paths: IntArray, single: bool, rounds: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Compute D and G of paths against the incumbent, from the first `rounds`; with `single` of excursions."""
        assert self.rows is not None
        effect = np.stack(self.effects[:rounds])
        return bet_bounds(
            self.blocks, prior, self.rows, effect, self.tilts, self.weights, self.delta, incumbent, paths, int(single)
        )


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
