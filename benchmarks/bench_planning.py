"""Challenger's planning: one check plus choice, quick and amortised with the full checks, as the graph grows.

"quick" is the step between two full checks: the three rows around the last best one, and the next path. "full" is the
full check with elimination. "step" is the mean episode of a compiled run that grows by one per cent: one full check,
play and bookkeeping included, so that full checks count as often as they really happen. Times are seconds of CPU, the
least of several.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.record import record
from surepath import MDP, Challenger, Gaussian, Instance, families
from surepath.kernels.sweeps import reality_of
from surepath.learners import runs as tasks
from surepath.learners.challenger.run import CHECK_GROWTH, act, play
from surepath.learners.challenger.state import EPISODES, NEXT_FULL

# states, actions, stages, target of a quick step in microseconds (None where none is set)
SIZES: tuple[tuple[int, int, int, float | None], ...] = (
    (10, 4, 50, 300.0),
    (50, 4, 50, None),
    (100, 4, 50, None),
    (250, 4, 50, None),
    (500, 4, 50, 10_000.0),
)
EPSILON, DELTA, SIGMA = 2.5, 0.1, 0.5
LOW, HIGH = -4.0, 5.0  # a range for the rewards, where their noise is learned
ROUNDS = 60.0  # mean visits of an arc when times are taken


class Bench:
    """A learner in the middle of a run, driven by its own kernels."""

    def __init__(self, instance: Instance, rounds: float, noise: str, dependence: str) -> None:
        self.learner = Challenger(instance.mdp, EPSILON, DELTA, SIGMA, noise=noise, dependence=dependence)
        self.seen, self.work = self.learner._new_evidence(), self.learner._new_scratch()
        self.memo = self.seen.memo
        self.reality, self.rng = reality_of(instance), np.random.default_rng(0)
        self._warm_up(instance, rounds)

    def _warm_up(self, instance: Instance, rounds: float) -> None:
        """Add uneven visits with a given mean and their rewards at once: to play them singly would take too long."""
        visits = self.rng.geometric(1 / rounds, size=instance.mdp.n_arcs)
        self.seen.visits[:] = visits
        self.seen.sums[:] = visits * instance.gains + SIGMA * np.sqrt(visits) * self.rng.normal(size=len(visits))
        self.seen.squares[:] = visits * SIGMA**2 / (HIGH - LOW) ** 2
        self.memo[EPISODES] = visits.sum() // instance.mdp.horizon  # so many plays visit so many arcs
        self.call(tasks.REFRESH)

    def call(self, task: int) -> float:
        """Perform one task and return its seconds of CPU."""
        begun = time.thread_time()
        act(self.learner.graph, self.learner.pairs, self.seen, self.work, task, 0, EPSILON)
        return time.thread_time() - begun

    def full(self) -> float:
        """Measure a full check and a choice."""
        self.memo[NEXT_FULL] = 0.0
        return self.call(tasks.PLAN)

    def quick(self) -> float:
        """Measure a quick check and a choice."""
        self.memo[NEXT_FULL] = np.inf
        return self.call(tasks.PLAN)

    def step(self) -> float:
        """Measure an episode while their number grows by one per cent, the full check at its start included."""
        begun = self.memo[EPISODES]
        self.memo[NEXT_FULL] = begun
        count = max(1, int(CHECK_GROWTH * begun))
        arrays = self.learner.graph, self.learner.pairs, self.seen, self.work
        started = time.thread_time()
        play(*arrays, self.reality, self.rng, int(begun) + count - 1, np.inf, EPSILON)
        seconds = time.thread_time() - started
        if self.memo[EPISODES] < begun + count - 1:
            raise RuntimeError("the check passed; take fewer rounds")
        return seconds / count


def in_range(instance: Instance) -> Instance:
    """Return the same world with a declared range."""
    mdp = instance.mdp
    fields = {name: getattr(mdp, name) for name in ("first", "target", "stage_node", "node_state", "action")}
    limits = np.full(mdp.n_arcs, LOW), np.full(mdp.n_arcs, HIGH)
    return Instance(MDP(**fields, reward_range=limits), Gaussian(instance.means, SIGMA))


def main() -> None:
    """Print microseconds by size and the growth per arc, with sigma declared and with Bernstein widths."""
    for noise, dependence in (("sigma", "independent"), ("sigma", "any"), ("bernstein", "independent")):
        print(f"noise: {noise}, dependence: {dependence}")
        print(f"{'N':>8}{'H':>5}{'quick us':>11}{'full us':>11}{'step us':>11}{'quick ns/arc':>14}{'target us':>11}")
        for states, actions, horizon, target in SIZES:
            instance = in_range(families.layered(states, actions, horizon, seed=0, sigma=SIGMA))
            bench = Bench(instance, ROUNDS, noise, dependence)
            bench.full()
            n = bench.learner.mdp.n_arcs
            repeat, rounds = (60, 12) if n < 20_000 else (10, 3)
            full = min(bench.full() for _ in range(rounds))
            quick = min(bench.quick() for _ in range(repeat))
            step = min(bench.step() for _ in range(rounds))
            goal = f"{target:,.0f}" if target else "-"
            cells = f"{1e6 * quick:>11,.0f}{1e6 * full:>11,.0f}{1e6 * step:>11,.0f}"
            print(f"{n:>8,}{horizon:>5}{cells}{1e9 * quick / n:>14.1f}{goal:>11}", flush=True)
            name = noise if dependence == "independent" else f"{noise}, any dependence"
            record(f"a quick check, {n:,} arcs, noise {name}", 1e6 * quick, "us", f"{goal} us" if target else "")
            record(f"a step, {n:,} arcs, noise {name}", 1e6 * step, "us")


if __name__ == "__main__":
    main()
