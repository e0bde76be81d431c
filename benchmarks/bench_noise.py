"""Trials to stop where the noise is learned: rewards in [0, 1], and Gaussian noise of one unknown size.

`python -m benchmarks.bench_noise [--quick]`. delta = 0.1; geometric means over instances of mean trials. "x" is how
many times fewer trials than with half the range for sigma; the second table is that of learners with an interval for
each arc or plan. The last table is what an unknown sigma costs; the first line is what a reward costs when bets are
made on it, its widths for all entries included.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from benchmarks.record import record
from surepath import MDP, Bernoulli, Challenger, Instance, families, simulate, theory
from surepath.learners import runs as tasks
from surepath.model.worlds import BETA, ArcLaws, Law

DELTA = 0.1
# What is asked for: how many times fewer trials betting must take, by family and standard deviation (None: Bernoulli).
TARGETS = {
    ("S=A=2 H=3, epsilon 0", None): 1.25,
    ("S=A=2 H=3, epsilon 0", 0.2): 3.5,
    ("S=A=2 H=3, epsilon 0", 0.1): 5.0,
    ("S=A=2 H=3, epsilon 0", 0.05): None,
    ("S=A=2 H=3, 1.5 Delta_min", None): None,
    ("S=A=2 H=3, 1.5 Delta_min", 0.1): None,
    ("S=4 A=3 H=10, epsilon 1", None): None,
    ("S=4 A=3 H=10, epsilon 1", 0.1): 3.5,
}


class Beta(Law):
    """Beta laws on [0, 1] with one standard deviation, smaller where a mean does not allow it."""

    def __init__(self, means: np.ndarray, deviation: float) -> None:
        self.means, self.deviation = means, deviation

    def bind(self, mdp: MDP) -> ArcLaws:
        """Assign the laws to the arcs."""
        means = np.array(self.means, dtype=np.float64)
        deviation = np.minimum(self.deviation, 0.7 * np.sqrt(means * (1 - means)))
        law = ArcLaws(means, np.full(mdp.n_arcs, 0.5), BETA)
        strength = means * (1 - means) / deviation**2 - 1
        law.a, law.b = means * strength, (1 - means) * strength
        law.low[:], law.high[:] = 0.0, 1.0
        return law


def world(family: str, seed: int, deviation: float | None) -> tuple[Instance, float]:
    """Build an instance of a family with scores in [0, 1], and its epsilon."""
    if family.startswith("S=4"):
        base, epsilon = families.paper_random(4, 3, 10, min_gap=0.0, seed=seed), 1.0
    else:
        base = families.paper_random(2, 2, 3, seed=seed)
        epsilon = 0.0 if family.endswith("0") else 1.5 * theory.gaps(base).minimum
    mdp = base.mdp
    fields = {name: getattr(mdp, name) for name in ("first", "target", "stage_node", "node_state", "action")}
    ranged = MDP(**fields, reward_range=(np.zeros(mdp.n_arcs), np.ones(mdp.n_arcs)))
    return Instance(ranged, Bernoulli(base.means) if deviation is None else Beta(base.means, deviation)), epsilon


def geometric(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def trials(worlds: list[tuple[Instance, float]], runs: int, **settings: Any) -> tuple[float, int]:
    """Return the geometric mean of the mean trials, and how many runs were wrong."""
    means, failed = [], 0
    for instance, epsilon in worlds:
        spec = {"name": "Challenger", "delta": DELTA, **settings}
        result = simulate(spec, instance, runs, 0, [epsilon])
        means.append(result.mean_tau())
        failed += int((~result.correct).sum())
    return geometric(means), failed


def range_table(instances: int, runs: int) -> None:
    """Print the trials for rewards in [0, 1]: half the range for sigma, Bernstein, betting."""
    print(f"{'family':<27}{'law':>10}{'sigma 1/2':>11}{'Bernstein':>11}{'betting':>9}{'x':>6}{'target':>8}{'wrong':>7}")
    for (family, deviation), target in TARGETS.items():
        count = instances if not family.startswith("S=4") else max(2, instances // 2)
        worlds = [world(family, seed, deviation) for seed in range(count)]
        found = [trials(worlds, runs, sigma=0.5, noise=noise) for noise in ("sigma", "bernstein", "betting")]
        half, calm, bold = (mean for mean, _ in found)
        law = "Bernoulli" if deviation is None else f"beta {deviation:g}"
        cells = f"{half:>11,.0f}{calm:>11,.0f}{bold:>9,.0f}{half / bold:>6.2f}{target or '-':>8}"
        print(f"{family:<27}{law:>10}{cells}{sum(failed for _, failed in found):>7}", flush=True)
        record(f"sigma 1/2 over betting, {family}, {law}", half / bold, "x", str(target or ""))


def size_table(instances: int, runs: int) -> None:
    """Print the trials for Gaussian noise, sigma known and unknown."""
    print(f"\n{'Gaussian noise':<37}{'known':>8}{'unknown':>9}{'cost':>8}{'target':>8}")
    small = [families.paper_random(2, 2, 3, seed=seed) for seed in range(instances)]
    short = [families.paper_random(2, 2, 3, seed=seed, sigma=0.4) for seed in range(instances)]
    wide = [families.paper_random(4, 3, 10, min_gap=0.0, seed=seed) for seed in range(max(2, instances // 2))]
    rows = {
        "S=A=2 H=3, sigma 1, epsilon 0": ([(one, 0.0) for one in small], "35 %"),
        "S=A=2 H=3, sigma 0.4, epsilon 0.2": ([(one, 0.2) for one in short], "70 %"),
        "S=4 A=3 H=10, sigma 1, epsilon 1": ([(one, 1.0) for one in wide], "35 %"),
    }
    for name, (worlds, target) in rows.items():
        known, unknown = trials(worlds, runs)[0], trials(worlds, runs, sigma="unknown")[0]
        print(f"{name:<37}{known:>8,.0f}{unknown:>9,.0f}{unknown / known - 1:>8.0%}{target:>8}", flush=True)
        record(f"unknown over known sigma, {name}", unknown / known, "x", f"at most {target} more")


def reward_cost() -> None:
    """Print the microseconds that one reward takes when bets are made on it."""
    instance, _ = world("S=A=2 H=3, epsilon 0", 0, 0.1)
    learner, path = (
        Challenger(instance.mdp, 0.0, DELTA, noise="betting", dependence="independent"),
        instance.best_path(),
    )
    learner._work.path[:], learner._work.gain[:] = path, 0.5
    learner._act(tasks.TELL, 3)
    times = []
    for _ in range(300):
        begun = time.perf_counter()
        learner._act(tasks.TELL, 3)
        times.append((time.perf_counter() - begun) / 3)
    print(f"\nbetting: {1e6 * np.median(times):.0f} us a reward, {1e6 * min(times):.0f} at the least (target 200)")


def main(arguments: list[str] | None = None) -> None:
    """Print the tables; --quick plays 4 instances x 3 runs in place of 10 x 6."""
    quick = "--quick" in (arguments or [])
    instances, runs = (4, 3) if quick else (10, 6)
    print(f"{instances} instances a family, {runs} runs each")
    reward_cost()
    range_table(instances, runs)
    size_table(instances, runs)


if __name__ == "__main__":
    main(sys.argv[1:])
