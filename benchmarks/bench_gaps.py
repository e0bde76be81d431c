"""Gaps and T*: seconds and nanoseconds an arc; gaps must grow in proportion to N."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.record import record
from surepath import MDP, Gaussian, Instance
from surepath.theory import characteristic_time, gaps


def layered(states: int, actions: int, horizon: int, seed: int) -> Instance:
    """Build an instance with random next states and means uniform on [0, 1]."""
    rng = np.random.default_rng(seed)
    mdp = MDP.from_arrays(rng.integers(states, size=(horizon, states, actions)))
    return Instance(mdp, Gaussian(rng.random(mdp.n_arcs)))


def main() -> None:
    """Print both tables."""
    gaps(layered(2, 2, 2, 0)), characteristic_time(layered(3, 2, 3, 0))
    print(f"{'gaps of N arcs':>16}{'seconds':>10}{'ns an arc':>11}")
    for states, horizon in ((26, 100), (260, 100), (2750, 100)):
        instance = layered(states, 4, horizon, 0)
        times = []
        for _ in range(5):
            begun = time.perf_counter()
            gaps(instance)
            times.append(time.perf_counter() - begun)
        n = instance.mdp.n_arcs
        print(f"{n:>16,}{min(times):>10.4f}{1e9 * min(times) / n:>11.1f}")
        record(f"gaps of {n:,} arcs", 1e9 * min(times) / n, "ns an arc")
    print(f"\n{'T* of N arcs':>16}{'seconds':>10}{'T*':>12}{'certified to':>14}")
    for states, horizon, seed in ((3, 10, 0), (5, 20, 0), (10, 25, 0), (10, 50, 0), (10, 50, 1), (10, 50, 2)):
        instance = layered(states, 4, horizon, seed)
        begun = time.perf_counter()
        found = characteristic_time(instance)
        seconds = time.perf_counter() - begun
        print(f"{instance.mdp.n_arcs:>16,}{seconds:>10.2f}{found.value:>12.4g}{100 * found.gap:>12.2f} %")
        record(f"T* of {instance.mdp.n_arcs:,} arcs, seed {seed}", seconds, "s")


if __name__ == "__main__":
    main()
