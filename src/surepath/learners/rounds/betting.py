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
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import FloatArray, IntArray
from surepath.learners.rounds.bound import Prior, prior_costs
from surepath.learners.rounds.fit import Blocks, Fit, Round, rows_of

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
