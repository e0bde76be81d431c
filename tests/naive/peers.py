"""CLUCB, CombGame's stop and the top-two sampler by enumeration: every path is listed, nothing is incremental."""

from __future__ import annotations

import math

import numpy as np

from surepath.model.mdp import MDP
from tests.naive.paths import all_paths

BITS = (1 << 64) - 1


def mix(key: int) -> int:
    z = key * 0x9E3779B97F4A7C15 & BITS
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & BITS
    z = (z ^ z >> 27) * 0x94D049BB133111EB & BITS
    return z ^ z >> 31


class NaivePeer:
    """Scores of all paths, of which the learner must play the largest; told what was played."""

    def __init__(
        self, mdp: MDP, method: str, epsilon: float, delta: float, sigma: np.ndarray, prior: float, seed: int
    ) -> None:
        self.mdp, self.method, self.epsilon, self.delta = mdp, method, epsilon, delta
        self.sigma, self.prior, self.seed = sigma, prior, seed
        self.paths = all_paths(mdp)
        self.seen: list[list[float]] = [[] for _ in range(mdp.n_arcs)]
        self.n = np.zeros(mdp.n_arcs)
        self.t, self.best = 0, self.paths[0]

    def mean(self, e: int) -> float:
        if self.mdp.is_known[e]:
            return float(self.mdp.known_gain[e])
        return float(np.mean(self.seen[e])) if self.seen[e] else 0.0

    def value(self, path: tuple[int, ...]) -> float:
        return sum(self.mean(e) for e in path)

    def unseen(self) -> list[int]:
        return [e for e in range(self.mdp.n_arcs) if not self.mdp.is_known[e] and not self.seen[e]]

    def noise(self, e: int, n: float) -> float:
        return 0.0 if self.mdp.is_known[e] else self.sigma[e] ** 2 / n

    def seen_noise(self, e: int) -> float:
        return 0.0 if self.mdp.is_known[e] else self.noise(e, self.n[e]) * (self.n[e] + self.prior) / self.n[e]

    def radius(self, e: int) -> float:
        arcs = int((~self.mdp.is_known).sum())
        return (
            0.0
            if self.mdp.is_known[e]
            else math.sqrt(2 * self.noise(e, self.n[e]) * math.log(4 * arcs * self.t**3 / self.delta))
        )

    def reach(self, path: tuple[int, ...]) -> float:
        apart = set(path) ^ set(self.best)
        if self.method == "clucb":
            return sum(self.radius(e) for e in apart)
        free = [e for e in range(self.mdp.n_arcs) if not self.mdp.is_known[e]]
        beta = math.log(1 / self.delta) + sum(math.log(1 + self.n[e] / self.prior) / 2 for e in free)
        return math.sqrt(2 * beta * sum(map(self.seen_noise, apart)))

    def gap(self) -> float:
        if self.unseen():
            return math.inf
        return max(self.value(path) - self.value(self.best) + self.reach(path) for path in self.paths)

    def chance(self, number: int) -> float:
        key = mix(self.seed) ^ mix(self.t + 1)
        return ((mix((key >> 1) + number * 7919) >> 12) + 0.5) * 2.0**-52

    def costs(self, base: tuple[int, ...], noise: list[float]) -> list[float]:
        """What it takes to mistake each path for the base; infinite where nothing is to be learned."""
        found = []
        for path in self.paths:
            total = sum(noise[e] for e in set(path) ^ set(base))
            lead = self.value(base) - self.value(path) + self.epsilon
            found.append(max(lead, 0.0) ** 2 / total if total > 0 else math.inf)
        return found

    def scores(self) -> list[float]:
        """The next path is one of the largest score."""
        unseen = self.unseen()
        if unseen:
            return [sum(e in unseen for e in path) for path in self.paths]
        if self.method != "top-two":
            bound = [self.value(path) - self.value(self.best) + self.reach(path) for path in self.paths]
            rival = self.paths[int(np.argmax(bound))]
            apart = set(rival) ^ set(self.best)
            noise = self.radius if self.method == "clucb" else self.seen_noise
            widest = max(apart, key=noise) if apart else self.best[0]
            return [float(path == (rival if widest in rival and apart else self.best)) for path in self.paths]
        n, drawn = self.mdp.n_arcs, []
        for e in range(n):
            turn, size = self.chance(n + 1 + 2 * e), self.chance(n + 2 + 2 * e)
            z = math.sqrt(-2 * math.log(size)) * math.cos(2 * math.pi * turn)
            drawn.append(self.mean(e) + math.sqrt(self.noise(e, max(self.n[e], 1))) * z)
        leader = max(self.paths, key=lambda path: sum(drawn[e] for e in path))
        if self.chance(n) < 0.5:
            costs = self.costs(leader, list(map(self.seen_noise, range(n))))
            if min(costs) < math.inf:
                return [-cost for cost in costs]
        return [float(path == leader) for path in self.paths]

    def tell(self, path: tuple[int, ...], gains: np.ndarray) -> None:
        self.t += 1
        for e, gain in zip(path, gains):
            self.n[e] += 1
            self.seen[e].append(float(gain))
        self.best = max(self.paths, key=self.value)
