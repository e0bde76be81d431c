"""The bound of rounds a second time, in plain NumPy: what scores of whole plans, or of several steps, prove.

From the docs ("End scores"). The plans of a round were fixed before its first score. A score covers a block of steps;
its row x has a 1 at each arc of the plan there, divided by the unit of the score (sigma; the width of the range; 1).
For two paths, z = x_q - x_p, and round j with V_j = sum x x^T, theta_j its least squares and W_j the inverse of V_j,

    tau_j = z^T W_j z,   I = sum 1 / tau_j,   D = sum (z^T theta_j / tau_j) / I,   c = trials / m(z),
    G(q | p) = D + sqrt(I + c) / I h^-1( log 1/(delta weight) - log prior(p | q) + 1/2 log(1 + I / c) )

h(x) = x^2/2 + log(2 Phi(x)), m(z) the variance of z under one play of the optimal design. With probability 1 - delta
the best path q has V(q) - V(p) <= G(q | p), always, for all p and entries (trials, weight). Where only the range of a
score is known, scores are bets against predictions made from what was asked before (`Range`); where the noise is
Gaussian and sigma is not known, h^-1 is the largest sigma h^-1(. - k(sigma)), k the evidence of the residuals.

The stretches in which q leaves p are single excursions, pairs of their own; their bounds add up to one of q too. Arcs
are ruled out after each round, when every excursion through them has a bound below 0. Nothing here is shared with the
compiled code but the problem itself. What is not finite proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erfc

from surepath._checks import LARGEST, BoolArray, FloatArray, IntArray
from surepath.errors import CertificateError
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, on_open_paths, values_to_go
from surepath.verify.bound import is_unit_flow, most_choices

MOST_LISTED = 1_000_000  # paths, or excursions, that are listed
CHUNK = 20_000  # of them at once
SAFE = 1 + 1e-9  # what rounding may do to a width
FLOW_GAP = 1e-4  # relative: how far the variance of a path may exceed the number of effects under the optimal design
SHARPEST = 1e-9  # of the largest eigenvalue: what counts as one of V
TABLE_STEP, TABLE_END = 0.1, 120.0  # of the argument of h^-1 where sigma is not known
GAUSSIAN_TILTS, GAUSSIAN_WEIGHTS = (0.0, 0.02, 0.05, 0.12, 0.3, 0.7, 1.6), (0.1, *(0.15,) * 6)


class Round(NamedTuple):
    """A finished round, larger is better."""

    paths: IntArray  # [n, H] in the order asked
    scores: FloatArray  # [n, blocks]


class Excursions(NamedTuple):
    """Single excursions off a path that leave it and meet it at the same stages."""

    start: int
    end: int
    paths: IntArray  # [E, H] the path but for the stretch
    bound: FloatArray  # [E] G


class Fit(NamedTuple):
    """The least squares of a round."""

    effect: FloatArray  # [N]
    inverse: FloatArray  # [N, N]
    known: FloatArray  # [N, N] W V: what is told of a difference of paths is itself if all of it is
    residual: float  # sum of squares
    free: int  # rows less effects


def h_inverse(y: FloatArray) -> FloatArray:
    """Return x >= 0 with h(x) = y, or a little more: Newton's steps from above stay above the root of a convex h."""
    y = np.maximum(y, 0.0)
    x = np.sqrt(2 * y)
    for _ in range(8):
        twice = erfc(-x / np.sqrt(2))
        x = x - (x * x / 2 + np.log(twice) - y) / (x + np.sqrt(2 / np.pi) * np.exp(-x * x / 2) / twice)
    return np.asarray(x * SAFE)


def refusal(settings: Mapping[str, Any]) -> str | None:
    """Say what makes the numbers of a bound no bound at all, or None."""
    bound, noise = settings["bound"], settings["noise"]
    if bound["prior"] not in ("detour", "excursion") or noise not in ("sigma", "range", "gaussian"):
        return f"this version cannot check the prior {bound['prior']} with noise {noise}"
    entries, weights = bound["tilts" if noise == "range" else "trials"], bound["weights"]
    numbers = [*entries, *weights, bound["rho"], float(bound.get("additive_trials", 1.0))]
    total = sum(weights) + float(bound.get("additive_weight", 0.0))
    if not all(isinstance(x, (int, float)) and 0 < x < np.inf for x in numbers) or not total <= 1 + 1e-12:
        return "the numbers of the bound must be above 0, and its weights sum to 1 at most"
    if len(entries) != len(weights) or not bound["rho"] < 1 or (noise == "range" and max(entries) >= 1):
        return "rho and tilts lie below 1, and every entry of the bound has a weight"
    return None


def read_rounds(listed: Any, mdp: MDP) -> list[Round]:
    """Read the rounds of a certificate: plans, and scores as they were told."""
    found, count = [], len(mdp.score_stages)
    for one in listed:
        paths = np.array([mdp.check_path(path) for path in one["plans"]], dtype=np.int64)
        scores = np.array(one["scores"], dtype=np.float64)
        if not len(paths) or scores.shape != (len(paths), count) or not (np.abs(scores) <= LARGEST).all():
            raise CertificateError(f"a round has {count} finite scores for each of its plans, at least one")
        for at, stage in enumerate(mdp.score_stages):
            if mdp.reward_range is not None:
                low, high = (float(end[mdp.stage_arc[stage]]) for end in mdp.reward_range)
                if ((scores[:, at] < low) | (scores[:, at] > high)).any():
                    raise CertificateError(f"a score lies outside the declared range from {low:g} to {high:g}")
        found.append(Round(paths, np.asarray(mdp.sign * scores)))
    return found


def same_in_log(rounds: Sequence[Round], plays: Iterable[tuple[Sequence[int], Sequence[float]]], mdp: MDP) -> bool:
    """Return whether trials, in the order asked, give these rounds: each scores the first open place of its plan."""
    coming = iter(rounds)
    scores: FloatArray = np.zeros((0, len(mdp.score_stages)))
    now, left = None, 0
    for path, rewards in plays:
        if left == 0:
            if now is not None and not np.array_equal(scores, now.scores):
                return False
            now = next(coming, None)
            if now is None:
                return True  # later trials are not part of this proof
            scores, left = np.full_like(now.scores, np.nan), len(now.paths)
        assert now is not None
        places = np.flatnonzero((now.paths == np.array(path)).all(axis=1) & np.isnan(scores[:, 0]))
        if len(rewards) == mdp.horizon and places.size:
            scores[places[0]] = mdp.sign * np.array([rewards[stage] for stage in mdp.score_stages])
            left -= 1
    return left == 0 and (now is None or np.array_equal(scores, now.scores)) and next(coming, None) is None


class PlainRounds:
    """The bound of one study in rounds.

    Args:
        mdp: The problem.
        settings: Of the study.
        planned: The part of the trials that each arc has under the optimal design, float [N].
        rounds: Those that are finished, in their order.
    """

    def __init__(
        self, mdp: MDP, settings: Mapping[str, Any], planned: FloatArray | None, rounds: Sequence[Round]
    ) -> None:
        self.mdp, self.settings, self.bound, self.rounds = mdp, settings, settings["bound"], list(rounds)
        self.noise, self.delta = settings["noise"], float(settings["delta"])
        self.scored = mdp.scored if mdp.scored is not None else (mdp.horizon - 1,)
        self.block = np.searchsorted(self.scored, np.arange(mdp.horizon))  # of each stage
        size = np.ptp(self.limits, axis=1) if self.noise == "range" else settings.get("sigma")
        self.unit = np.full(len(self.scored), 1.0 if self.noise == "gaussian" else size, dtype=np.float64)
        self.degree = np.append(np.diff(mdp.first).astype(np.float64), 1.0)
        self.before, self.after = most_choices(mdp)
        if planned is None and self.noise != "range":
            raise CertificateError("no proof: the planned shares of the trials are missing")
        self.flow = planned
        self.fits = [self._fit(done) for done in self.rounds]
        self._range = Range(self) if self.noise == "range" else None
        self._tables: dict[int, FloatArray] = {}

    @cached_property
    def limits(self) -> FloatArray:
        """Return least and largest gain of each block's score, float [blocks, 2]."""
        if self.mdp.reward_range is None or self.settings.get("reward_range") is not None:
            raise CertificateError("no proof: the range of the scores is not that of the problem")
        at = [int(self.mdp.stage_arc[stage]) for stage in self.scored]
        return np.sort(self.mdp.sign * np.stack([end[at] for end in self.mdp.reward_range], axis=1), axis=1)

    # Rounds ------------------------------------------------------------------------------------------------------

    def rows(self, paths: IntArray) -> FloatArray:
        """Return the rows of paths, float [n, blocks, N]."""
        found = np.zeros((len(paths), len(self.unit), self.mdp.n_arcs))
        for stage, block in enumerate(self.block):
            found[np.arange(len(paths)), block, paths[:, stage]] = 1 / self.unit[block]
        return found

    def _fit(self, done: Round) -> Fit:
        """Fit the effects; scores count from their means, which changes no difference of paths."""
        x = self.rows(done.paths).reshape(-1, self.mdp.n_arcs)
        y = ((done.scores - done.scores.mean(axis=0)) / self.unit).ravel()
        matrix = x.T @ x
        value, vector = np.linalg.eigh(matrix)
        kept = value > SHARPEST * value[-1]
        inverse = (vector[:, kept] / value[kept]) @ vector[:, kept].T
        effect = inverse @ (x.T @ y)
        return Fit(effect, inverse, inverse @ matrix, float(((y - x @ effect) ** 2).sum()), len(y) - int(kept.sum()))

    def wrong_design(self) -> bool:
        """Return whether the planned shares are not those of the optimal design, which the problem fixes.

        It is the unit flow under which no path has a larger variance than there are effects.
        """
        mdp, w = self.mdp, self.flow
        if w is None:
            return bool(self.noise != "range")
        if not is_unit_flow(mdp, w, 1e-6):
            return True
        taken = np.where(self._inside, 1 / self._node_flow, 0.0)
        most = values_to_go(mdp, 1 / w - taken[mdp.source])[0]
        effects = mdp.n_arcs - int(self._inside.sum())
        return not bool(most <= effects * (1 + FLOW_GAP))

    @cached_property
    def _node_flow(self) -> FloatArray:
        leaving = np.full(self.mdp.n_nodes + 1, 1e-300)
        if self.flow is not None:
            np.add.at(leaving, self.mdp.source, self.flow)
        return leaving

    @cached_property
    def _inside(self) -> BoolArray:
        """Return which nodes lie inside what one score covers."""
        inside = np.zeros(self.mdp.n_nodes + 1, dtype=bool)
        for stage in range(1, self.mdp.horizon):
            if stage - 1 not in self.scored:
                inside[self.mdp.stage_node[stage] : self.mdp.stage_node[stage + 1]] = True
        return inside

    # Pairs -------------------------------------------------------------------------------------------------------

    def prior_cost(self, path: IntArray, others: IntArray, single: tuple[int, int] | None) -> FloatArray:
        """Return -log prior(path | other) of paths [n, H], or of the one excursion between two stages.

        What the best path shares with `path` beside an excursion is not known: it pays for the most choices there are.
        """
        mdp, rho = self.mdp, float(self.bound["rho"])
        detour = self.bound["prior"] == "detour"
        most = max(float(self.after[0]), 1.0)
        stay = -np.log1p(-rho) if detour else 0.0
        cost = np.full(len(others), np.log(-np.expm1(most * np.log1p(-rho))) if detour else np.log(most))
        for h, own in enumerate(path.tolist()):
            node = int(mdp.source[own])
            degree, arcs = self.degree[node], others[:, h]
            if degree > 1:
                beside = np.log(degree - 1) - (np.log(rho) if detour else 0.0)
                away = np.where(mdp.source[arcs] == node, beside, np.log(degree))
                cost += np.where(arcs == own, 0.0 if single else stay, away)
        if single is not None:
            end = int(mdp.source[path[single[1]]]) if single[1] < mdp.horizon else mdp.n_nodes
            cost += stay * (self.before[int(mdp.source[path[single[0]]])] + self.after[end])
        return cost

    def scale(self, path: IntArray, others: IntArray) -> FloatArray:
        """Return m(z) of paths [n, H]: 1 / w of arcs in one alone, less 1 / w of nodes inside a block in one alone."""
        assert self.flow is not None
        mdp, total = self.mdp, np.zeros(len(others))
        for h, own in enumerate(path.tolist()):
            arcs, square = others[:, h], self.unit[self.block[h]] ** 2
            total += np.where(arcs == own, 0.0, square * (1 / self.flow[arcs] + 1 / self.flow[own]))
            a, b = mdp.source[arcs], int(mdp.source[own])
            if self._inside[b]:
                total -= np.where(a == b, 0.0, square * (1 / self._node_flow[a] + 1 / self._node_flow[b]))
        return total

    def bounds(self, path: IntArray, others: IntArray, upto: int, single: tuple[int, int] | None = None) -> FloatArray:
        """Return G of paths [n, H] against `path` after the first rounds; with `single`, of one excursion."""
        found = [np.zeros(0)]
        for some in np.split(others, range(CHUNK, len(others), CHUNK)):
            cost = self.prior_cost(path, some, single) - np.log(self.delta)
            z = np.zeros((len(some), self.mdp.n_arcs))
            np.add.at(z, (np.arange(len(some))[:, None], some), 1.0)
            z[:, path] -= 1.0
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                if self._range is not None:
                    value = self._range.bounds(z, cost, upto)
                else:
                    value = self._mixture(z, cost, self.scale(path, some), upto)
            told = np.isfinite(value)
            for fit in self.fits[:upto]:  # each round tells the two apart
                told &= np.abs(z - z @ fit.known).max(axis=1) < 1e-6
            found.append(np.where(z.any(axis=1), np.where(told, value, np.inf), 0.0))
        return np.concatenate(found)

    def _mixture(self, z: FloatArray, cost: FloatArray, m: FloatArray, upto: int) -> FloatArray:
        information, weighed = np.zeros(len(z)), np.zeros(len(z))
        for fit in self.fits[:upto]:
            tau = ((z @ fit.inverse) * z).sum(axis=1)
            information += 1 / tau
            weighed += z @ fit.effect / tau
        least = np.full(len(z), np.inf)
        for trials, weight in zip(self.bound["trials"], self.bound["weights"]):
            c = trials / m
            y = cost - np.log(weight) + np.log1p(information / c) / 2
            width = h_inverse(y) if self.noise == "sigma" else self._gaussian(y, upto)
            least = np.minimum(least, np.sqrt(information + c) / information * width)
        return np.asarray(weighed / information + least)

    def _gaussian(self, y: FloatArray, upto: int) -> FloatArray:
        """Return the largest sigma h^-1(y - k(sigma)), from a table that is rounded up."""
        if upto not in self._tables:
            self._tables[upto] = self._gaussian_table(upto)
        table = self._tables[upto]
        place = np.ceil(np.maximum(y, 0.0) / TABLE_STEP).astype(np.int64)
        return np.where(place < len(table), table[np.minimum(place, len(table) - 1)], np.inf)

    def _gaussian_table(self, upto: int) -> FloatArray:
        """Tabulate it; a cell of the grid of sigmas has its upper end as sigma, and k of its lower end."""
        rss, free = (sum(getattr(fit, name) for fit in self.fits[:upto]) for name in ("residual", "free"))
        grid = np.arange(0.0, TABLE_END, TABLE_STEP)
        if free <= 0 or not rss > 0:
            return np.full(len(grid), np.inf)
        ends = np.sqrt(rss / free) * np.geomspace(1 / 30, 30, 600)
        low = np.concatenate([[1e-9 * ends[0]], ends[:-1]])
        s, v = np.array(GAUSSIAN_TILTS)[:, None], np.array(GAUSSIAN_WEIGHTS)[:, None]
        k = np.logaddexp.reduce(np.log(v) + free / 2 * np.log1p(s) - s * rss / (2 * low**2), axis=0)
        table = np.max(ends[:, None] * h_inverse(grid - k[:, None]), axis=0)
        return np.where(grid > k[-1], np.inf, table)

    # Answers -----------------------------------------------------------------------------------------------------

    def excursions(self, path: IntArray, alive: BoolArray, upto: int) -> list[Excursions]:
        """List the single excursions over `alive`, with their bounds."""
        mdp, found, count = self.mdp, [], 0
        nodes = [*mdp.source[path].tolist(), mdp.n_nodes]
        for start in range(mdp.horizon):
            arcs = np.arange(mdp.first[nodes[start]], mdp.first[nodes[start] + 1])
            stretch = arcs[alive[arcs] & (arcs != path[start])][:, None]
            for end in range(start + 1, mdp.horizon + 1):
                goal = mdp.target[stretch[:, -1]]
                back = stretch[goal == nodes[end]]
                if len(back):
                    others = np.tile(path, (len(back), 1))
                    others[:, start:end] = back
                    found.append(Excursions(start, end, others, self.bounds(path, others, upto, (start, end))))
                stretch, goal = stretch[goal != nodes[end]], goal[goal != nodes[end]]
                if end == mdp.horizon or not len(stretch):
                    break
                degree = mdp.first[goal + 1] - mdp.first[goal]
                row = np.repeat(np.arange(len(goal)), degree)
                arcs = mdp.first[goal][row] + np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)
                stretch = np.column_stack([stretch[row], arcs])[alive[arcs]]
                count += len(stretch)
                if count > MOST_LISTED:
                    raise CertificateError(f"no proof: there are more than {MOST_LISTED:,} excursions to list")
        return found

    def alive_after(self, feasible: BoolArray) -> BoolArray:
        """Rule out arcs after each round, against the path that looks best then; return those that are left."""
        alive = feasible.copy()
        for upto in range(1, len(self.rounds) + 1):
            before = -1
            while int(alive.sum()) != before:
                before = int(alive.sum())
                effect = sum(len(done.paths) * fit.effect for done, fit in zip(self.rounds[:upto], self.fits))
                path = best_path(self.mdp, np.where(alive, effect, -np.inf))
                worst = np.full(self.mdp.n_arcs, -np.inf)
                worst[path] = 0.0
                for group in self.excursions(path, alive, upto):
                    for h in range(group.start, group.end):
                        np.maximum.at(worst, group.paths[:, h], group.bound)
                alive &= ~((worst < 0) & np.isfinite(worst))
                alive = on_open_paths(self.mdp, alive)
        return alive

    def gap(self, path: IntArray, alive: BoolArray, upto: int, hint: float = 0.0) -> float:
        """Return how far `path` is from the best over `alive` at most, by the first rounds; not less than `hint`."""
        if not upto or not alive[path].all():
            return float("inf")
        horizon, groups = self.mdp.horizon, []
        for group in self.excursions(path, alive, upto):  # the best path has none with a bound below 0
            kept = group.bound >= 0
            groups += [group._replace(paths=group.paths[kept], bound=group.bound[kept])] if kept.any() else []
        ahead = np.zeros(horizon + 1)  # largest sum of bounds of disjoint excursions from each stage on
        for h in range(horizon - 1, -1, -1):
            sums = [float(group.bound.max()) + ahead[group.end] for group in groups if group.start == h]
            ahead[h] = max([ahead[h + 1], *sums])
        most = max(float(ahead[0]), hint)
        if self.bound["prior"] == "excursion" or most <= hint:
            return most
        listed = self._paths_above(path, groups, ahead, hint)
        if listed is None:
            return most
        own = self.bounds(path, listed[0], upto)
        return max(hint, float(np.minimum(own, listed[1]).max(initial=hint)))

    def _paths_above(
        self, path: IntArray, groups: list[Excursions], ahead: FloatArray, above: float
    ) -> tuple[IntArray, FloatArray] | None:
        """List the paths whose excursions' bounds sum to more than `above`, with these sums; None for too many."""
        horizon = self.mdp.horizon
        parts: list[list[tuple[IntArray, FloatArray]]] = [[] for _ in range(horizon + 1)]
        parts[0].append((path[None, :], np.zeros(1)))
        for h in range(horizon):
            if not parts[h]:
                continue
            paths, sums = (np.concatenate(side) for side in zip(*parts[h]))
            kept = sums + ahead[h] > above
            paths, sums = paths[kept], sums[kept]
            parts[h + 1].append((paths, sums))
            for group in groups:
                if group.start == h and len(paths) * len(group.bound) > 0:
                    if len(paths) * len(group.bound) > 4 * MOST_LISTED:
                        return None
                    a, b = np.divmod(np.arange(len(paths) * len(group.bound)), len(group.bound))
                    total = sums[a] + group.bound[b]
                    good = total + ahead[group.end] > above
                    longer = paths[a[good]]
                    longer[:, h : group.end] = group.paths[b[good], h : group.end]
                    parts[group.end].append((longer, total[good]))
            if sum(len(side[1]) for part in parts[h + 1 :] for side in part) > MOST_LISTED:
                return None
        paths, sums = (np.concatenate(side) for side in zip(*parts[horizon]))
        return paths[sums > above], sums[sums > above]


# Where only the range is known ----------------------------------------------------------------------------------------

PENALTIES, FREE = (0.3, 3.0, 30.0, 300.0), 0.1  # of the predictions' regressions, on arcs and on what is common to all
CLIP, PART = 0.2, 0.2  # distance of first predictions from the ends of the range; of tau in the weight of a round
ONE_BY_ONE = 60_000  # scores times arcs up to which the first round is predicted score by score


class Plays(NamedTuple):
    """The plays of one round, by plan and block; their residuals r = y - prediction, scores in [0, 1]."""

    rows: FloatArray  # [M, N]
    number: FloatArray  # [M]
    powers: FloatArray  # [3, M] sums of r^2, r^3 and r^4
    ends: FloatArray  # [2, M] least and largest r
    reach: FloatArray  # [2, M] how far below and above its prediction a score can be


class Range:
    """Bets against predictions: D + y / C, where sum over tilts of weight exp(l y - K(l)) = 1 / (delta prior).

    g = z^T W_j x of a play, a_j = 1 / max(max |g| reach, PART tau_j / R), R the widest range, C = sum a_j,
    D = sum a_j z^T theta_j / C and
    K(l) = sum kappa(l a_j g r), kappa(x) = -log(1 - x) - x, which powers of r bound.
    """

    def __init__(self, of: PlainRounds) -> None:
        self.of = of
        self.plays: list[Plays] = []
        features, scores = np.zeros((0, len(of.unit), of.mdp.n_arcs + len(of.unit))), np.zeros((0, len(of.unit)))
        error = np.zeros(1 + len(PENALTIES))
        for number, done in enumerate(of.rounds):
            y = (done.scores - of.limits[:, 0]) / of.unit
            n, chosen = len(y), np.zeros_like(y)
            constant = np.broadcast_to(np.eye(len(of.unit)), (n, len(of.unit), len(of.unit)))
            x = np.concatenate(
                [of.rows(done.paths) * of.unit[:, None], constant], axis=2
            )  # arcs and constant of blocks
            step = n if number else 1 + n * of.mdp.n_arcs // ONE_BY_ONE  # later rounds: from the rounds before
            own = error.copy()
            for begin in range(0, n, step):
                part = slice(begin, begin + step)
                before = np.concatenate([features, x[:begin]]), np.concatenate([scores, y[:begin]])
                guess = self._predict(*before, x[part])
                chosen[part] = guess[int(np.argmin(own))]
                own += ((np.clip(guess, 0, 1) - y[part]) ** 2).sum(axis=(1, 2))
            clip = CLIP if number == 0 else 0.0
            self.plays.append(self._plays(done.paths, y, np.clip(chosen, clip, 1 - clip), number == 0))
            features, scores, error = np.concatenate([features, x]), np.concatenate([scores, y]), own

    def _predict(self, x: FloatArray, y: FloatArray, new: FloatArray) -> FloatArray:
        """Predict by the mean, and by a regression with each penalty, float [models, n, blocks]."""
        guess = np.full((1 + len(PENALTIES), *new.shape[:2]), 0.5)
        if not len(y):
            return guess
        guess[0] = y.mean(axis=0)
        flat = x.reshape(-1, x.shape[2])
        matrix, product = flat.T @ flat, flat.T @ (y - 0.5).ravel()
        for k, size in enumerate(PENALTIES):
            penalty = np.where(np.arange(x.shape[2]) < self.of.mdp.n_arcs, size, FREE)
            guess[k + 1] += new @ np.linalg.solve(matrix + np.diag(penalty), product)
        return guess

    def _plays(self, paths: IntArray, y: FloatArray, guess: FloatArray, first: bool) -> Plays:
        plans, which = np.unique(paths, axis=0, return_inverse=True)
        at = (which.reshape(-1, 1) * y.shape[1] + np.arange(y.shape[1])).ravel()
        r, size = (y - guess).ravel(), len(plans) * y.shape[1]
        ends, reach = np.stack([np.full(size, np.inf), np.full(size, -np.inf)]), np.zeros((2, size))
        np.minimum.at(ends[0], at, r)
        np.maximum.at(ends[1], at, r)
        np.maximum.at(reach[0], at, guess.ravel())
        np.maximum.at(reach[1], at, 1 - guess.ravel())
        if first:
            reach[:] = 1 - CLIP
        powers: FloatArray = np.stack([np.bincount(at, r ** float(k), size) for k in (0, 2, 3, 4)]).astype(np.float64)
        return Plays(self.of.rows(plans).reshape(size, -1), powers[0], powers[1:], ends, reach)

    def bounds(self, z: FloatArray, goal: FloatArray, upto: int) -> FloatArray:
        """Return G of differences [n, N]; `goal` is log 1 / (delta prior)."""
        of, n = self.of, len(z)
        total, weighed, largest, v = np.zeros(n), np.zeros(n), np.full(n, -np.inf), np.zeros((3, n))
        for fit, plays in zip(of.fits[:upto], self.plays):
            g = z @ fit.inverse @ plays.rows.T
            tau = (g * g) @ plays.number / of.unit.max()
            a = 1 / np.maximum(np.where(g > 0, g * plays.reach[1], -g * plays.reach[0]).max(axis=1), PART * tau)
            total += a
            weighed += a * (z @ fit.effect)
            g *= a[:, None]
            v += [(g**k) @ power for k, power in zip((2, 3, 4), plays.powers)]
            largest = np.maximum(largest, np.maximum(g * plays.ends[0], g * plays.ends[1]).max(axis=1))
        tilts, weights = (np.array(of.bound[name], dtype=np.float64)[:, None] for name in ("tilts", "weights"))
        x = np.maximum(tilts * largest, 1e-4)
        rest = np.where(x < 0.01, 0.25 + x / 4, (-np.log1p(-x) - x - x**2 / 2 - x**3 / 3) / x**4)  # rises from 1/4
        level = np.log(weights) - (tilts**2 * v[0] / 2 + tilts**3 * v[1] / 3 + tilts**4 * v[2] * rest * SAFE)
        y = ((goal - level) / tilts).min(axis=0)
        for _ in range(6):  # convex and rising in y: steps from above stay above the root
            parts = tilts * y + level
            value = np.logaddexp.reduce(parts, axis=0)
            y = y - np.maximum(value - goal, 0.0) / (tilts * np.exp(parts - value)).sum(axis=0)
        return np.asarray(weighed / total + y * SAFE / total)
