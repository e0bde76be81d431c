"""EPRL and BPI-UCRL by enumeration: every path is listed, every maximum is a maximum over the list."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surepath.model.mdp import MDP
from tests.naive.paths import all_paths

INF = math.inf


@dataclass
class Choices:
    """The settings, spelled out."""

    sampling: str = "max-coverage"
    by_return: bool = True
    by_value: bool = False
    schedule: str = "every-episode"
    every: int = 1
    sequential: bool = False
    keep_last: bool = False
    wait: bool = False
    stopping: str = "diameter"
    strict: bool = False
    at_eliminations: bool = False
    single: bool = True
    recommendation: str = "optimistic"
    widths_first: bool = False
    authors_widths: bool = False


class NaiveLearner:
    """A learner that lists all paths; nothing is incremental, nothing is clever."""

    def __init__(self, mdp: MDP, choices: Choices, epsilon: float, delta: float, sigma: np.ndarray) -> None:
        self.mdp, self.choices, self.epsilon, self.delta, self.sigma = mdp, choices, epsilon, delta, sigma
        self.paths = np.array(all_paths(mdp))  # [P, H]
        self.stage = mdp.arcs.stage
        self.n = np.zeros(mdp.n_arcs, dtype=int)
        self.sums = np.zeros(mdp.n_arcs)
        self.active = np.ones(mdp.n_arcs, dtype=bool)
        self.started = self.active.copy()
        self.t, self.k = 0, 1
        self.stopped, self.reason, self.doubtful = False, "", False

    # Bounds ----------------------------------------------------------------------------------------------------

    def width(self, e: int) -> float:
        n = int(self.n[e])
        if self.mdp.is_known[e]:
            return 0.0
        if self.choices.authors_widths:
            return 1.0 if n == 0 else min(self.sigma[e] * math.sqrt(2 * math.log((n + 1) / self.delta) / n), 1.0)
        if n == 0:
            return INF
        return math.sqrt(2 * self.sigma[e] ** 2 * math.log(4 * n**2 * self.mdp.n_arcs / self.delta) / n)

    def bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Width, upper and lower bound of every arc."""
        b = np.array([self.width(e) for e in range(self.mdp.n_arcs)])
        mean = np.where(self.n > 0, self.sums / np.maximum(self.n, 1), 0.0)
        if self.mdp.known is not None:
            mean = np.where(self.mdp.is_known, self.mdp.sign * np.nan_to_num(self.mdp.known), mean)
        return b, mean + b, mean - b

    def active_paths(self) -> np.ndarray:
        """Paths of policies that play active actions, or anything where none is active."""
        has = np.zeros(self.mdp.n_nodes, dtype=bool)
        has[self.mdp.source[self.active]] = True
        usable = self.active | ~has[self.mdp.source]
        return self.paths[usable[self.paths].all(axis=1)]

    # Objectives: pairs (infinities, finite part), larger is better -------------------------------------------------

    def pair(self, path: np.ndarray, weight: np.ndarray, sign: int = 1) -> tuple[float, float]:
        infinite = [e for e in path if math.isinf(weight[e])]
        if sign < 0:  # lower values are compared over all policies, active or not
            many = -sum(self.mdp.horizon + 1 if self.active[e] else 1 for e in infinite)
        else:
            many = sum(self.mdp.horizon + 1 if self.active[e] else 1 for e in infinite)
        return many, float(sum(weight[e] if not math.isinf(weight[e]) else 0.0 for e in path))

    def undersampled(self, judged: np.ndarray) -> np.ndarray:
        return judged & ~self.mdp.is_known & (self.n < self.k)

    def objective(self, path: np.ndarray) -> tuple[float, float]:
        """What the sampling rule maximises in the coming episode."""
        b, upper, _ = self.bounds()
        rule = self.choices.sampling
        if rule == "optimistic":
            unseen = bool(((self.n == 0) & ~self.mdp.is_known).any())
            return self.pair(path, b if self.choices.widths_first and unseen else upper)
        if rule == "coverage":
            return 0, float(self.undersampled(self.active)[path].sum())
        if rule in ("max-coverage", "static-max-coverage") and self.t % 2 == 0:
            return 0, float(self.undersampled(self.started)[path].sum())
        if rule not in ("max-diameter", "max-coverage", "static-max-coverage"):
            raise ValueError(f"no twin of {rule}")
        return self.pair(path, b)

    def candidates(self) -> np.ndarray:
        """The paths the sampling rule chooses from."""
        rule = self.choices.sampling
        free = rule == "coverage" or (rule == "max-coverage" and self.t % 2 == 0)
        return self.paths if free else self.active_paths()

    # One episode -----------------------------------------------------------------------------------------------

    def due(self) -> bool:
        schedule = self.choices.schedule
        if schedule == "every-episode":
            return True
        if schedule == "every-sa":
            return self.t % self.choices.every == 0
        learned = self.active & ~self.mdp.is_known
        return bool((self.n[learned] >= self.k).all())

    def tell(self, path: np.ndarray, gains: np.ndarray) -> None:
        before = self.bounds()
        self.t += 1
        for e, gain in zip(path, gains):
            self.n[e] += 1
            self.sums[e] += gain
        due = self.due()
        if due:
            self.eliminate(before)
        learned = self.active & ~self.mdp.is_known
        if learned.any() and 1 + self.n[learned].min() != self.k:
            self.k = 1 + int(self.n[learned].min())
            self.started = self.active.copy()
        if due or not self.choices.at_eliminations:
            self.test()

    def eliminate(self, before: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        choices = self.choices
        unseen = self.active & ~self.mdp.is_known & (self.n == 0)
        if choices.wait and unseen.any():
            return
        judged = self.active_paths()
        if choices.by_value:
            self.remove(self.ruled_out_by_value(before))
            if choices.sequential:
                judged = self.active_paths()
        if choices.by_return:
            self.remove(self.ruled_out_by_return(judged))

    def remove(self, arcs: list[int]) -> None:
        for e in arcs:
            others = self.active & (self.mdp.source == self.mdp.source[e])
            if self.active[e] and not (self.choices.keep_last and others.sum() == 1):
                self.active[e] = False

    def ruled_out_by_return(self, judged: np.ndarray) -> list[int]:
        _, upper, lower = self.bounds()
        floor = max(lower[self.paths].sum(axis=1))
        out = []
        for e in range(self.mdp.n_arcs):
            values = [upper[p].sum() for p in judged if e in p]
            through = max(values) if values else -INF
            self.doubt(through, floor)
            if through < floor or not values:
                out.append(e)
        return out

    def ruled_out_by_value(self, before: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[int]:
        _, upper, lower = before
        out = []
        for e in range(self.mdp.n_arcs):
            rest = self.stage[self.paths[0]] >= self.stage[e]
            here = [p for p in self.paths if e in p]
            same = [p for p in self.paths if self.mdp.source[p[self.stage[e]]] == self.mdp.source[e]]
            through = max(upper[p[rest]].sum() for p in here)
            floor = max(lower[p[rest]].sum() for p in same)
            self.doubt(through, floor)
            if through < floor:
                out.append(e)
        return out

    def doubt(self, a: float, b: float) -> None:
        """Values so close that rounding decides: the two implementations may differ from here on."""
        if math.isfinite(a) and math.isfinite(b) and abs(a - b) < 1e-9 * (1 + abs(a)):
            self.doubtful = True

    # Stopping and answers --------------------------------------------------------------------------------------

    def gap(self) -> float:
        b, upper, lower = self.bounds()
        if self.choices.stopping == "diameter":
            return float(2 * max(b[self.active_paths()].sum(axis=1)))
        best = max(upper[self.active_paths()].sum(axis=1))
        floor = max(lower[self.paths].sum(axis=1))
        return INF if math.isinf(best) or math.isinf(floor) else float(best - floor)

    def test(self) -> None:
        gap = self.gap()
        self.doubt(gap, self.epsilon)
        close = gap < self.epsilon if self.choices.strict else gap <= self.epsilon
        if close:
            self.stopped, self.reason = True, "gap"
        elif self.single():
            self.stopped, self.reason = True, "single"

    def single(self) -> bool:
        """At most one active action in every state, where that counts."""
        per_state = np.bincount(self.mdp.source[self.active], minlength=self.mdp.n_nodes)
        return self.choices.single and bool(per_state.max() <= 1)

    def optimistic(self) -> bool:
        """Whether the answer is that of line 10."""
        return self.choices.recommendation == "optimistic"

    def answer_value(self, path: np.ndarray) -> tuple[float, float]:
        """What the recommendation rule maximises."""
        _, upper, lower = self.bounds()
        return self.pair(path, upper) if self.optimistic() else self.pair(path, lower, sign=-1)

    def answers(self) -> np.ndarray:
        return self.active_paths() if self.optimistic() else self.paths

    def certified_gap(self, path: np.ndarray) -> float:
        _, upper, lower = self.bounds()
        if self.single() and self.optimistic():
            return 0.0
        best = max(upper[self.active_paths()].sum(axis=1))
        floor = lower[path].sum()
        return INF if math.isinf(best) or math.isinf(floor) else max(0.0, float(best - floor))
