"""The best allocation of episodes to arcs for telling the best path from all others: the game behind T*."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack

from surepath._types import FloatArray, IntArray
from surepath.kernels.arrays import graph_of
from surepath.kernels.sweeps import backward
from surepath.theory.case import Case
from surepath.theory.kernels.excursions import Question, candidates, search, sweep, sweep_forward
from surepath.theory.kernels.soft_game import Challengers, play, spread

STEP = 0.03  # of the grid of k, in logarithm; a step off by half of it costs (STEP / 2)^2 of the bound
TURN_STEPS = 500  # quasi-Newton steps a turn
STIR = (0.0, 0.02, 0.001)  # shares of the start that are moved, by turn
SHARPEST = 3000.0  # of the smooth minimum: its error is log(challengers) / sharpness
LP_ARCS = 40_000  # above this many arcs the mixture of gradients is the smooth minimum's own


class Seen(NamedTuple):
    """What a search at some weights found: the fine question, its sweep, and the least f_q."""

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

    def solve(self, tolerance: float, rounds: int, limit: int) -> None:
        """Raise `below` and lower `above` until they are within the relative tolerance, or `rounds` are spent.

        The best allocation against the challengers known so far is often absurd for those that are not; so the
        next one is searched for on the line to it, and a step is taken only where it helps against all.
        """
        best = self._find_challengers(self.weight, keep=np.inf).least
        if not self.rows:
            self.below = self.above = np.inf
            return
        for turn in range(rounds):
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
                best = self._settle(tolerance, limit)
                if self.below >= (1 - tolerance) * self.above:
                    return
        self._settle(tolerance, limit)

    def _settle(self, tolerance: float, limit: int) -> float:
        """Prove what the weights achieve, by branch and bound; keep the challenger that decides it."""
        seen = self._find_challengers(self.weight)
        hardest = np.full(self.mdp.horizon, -1, dtype=np.int64)
        low, found = search(self.graph, seen.ask, seen.to_go, tolerance / 20, limit, hardest)
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
        return Challengers(first, np.concatenate(self.rows), np.array(self.gaps) ** 2 / 2, self.variance)

    def _improve(self, sharpness: float, stir: float) -> FloatArray:
        """Return the weights that do best against the challengers kept, from the present ones on.

        An arc whose share has come near 0 would stay there, so the start is stirred: a part of it is spread evenly,
        as much again follows the flow that the last certificate points to.
        """
        weight = np.empty(self.mdp.n_arcs)
        start = (1 - 2 * stir) * self.weight + stir * self.even + stir * self.pointed
        logits = np.log(np.maximum(start, 1e-12))
        game = self._challengers()
        for softer in (64.0, 16.0, 4.0, 1.0):  # a sharp minimum is followed from a soft one, not from afar
            if sharpness / softer >= 5:
                play(
                    self.graph, game, sharpness / softer, TURN_STEPS if softer == 1 else TURN_STEPS // 4, logits, weight
                )
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
