"""Challenger's wrong answers over the hard cases of the test suite: every wrong plan lies just outside epsilon."""

from __future__ import annotations

from typing import Any

from tests.learners.challenger.test_guarantee import BY_EXCURSIONS, BY_TIES, CASES, ties_alone, wrong
from tests.study.test_order import beyond_the_lease

from benchmarks.record import record
from surepath import Challenger

DELTAS = (0.1, 0.5, 0.9)


def late(runs: int = 150) -> None:
    """Print wrong answers of studies whose bad trials are slow: within the lease, and longer than it."""
    for slow, lease in ((3.0, 4.0), (3.0, 2.0), (10.0, 2.0)):
        count = sum(beyond_the_lease(seed, slow, lease) for seed in range(runs))
        print(
            f"8 workers by hand, bad trials take {slow / lease:g} leases: {count} of {runs} wrong at delta 0.1",
            flush=True,
        )


def main() -> None:
    """Print wrong answers case by case, and in all, at three deltas."""
    heads = "".join(f" {f'wrong, {delta}':>11}" for delta in DELTAS)
    print(f"{'H':>3} {'arcs':>5} {'epsilon':>8} {'runs':>6}{heads}  settings")
    total, failed = 0, dict.fromkeys(DELTAS, 0)
    cases: list[tuple[Any, float, int, dict[str, Any]]] = [
        *CASES,
        *((instance, 0.0, runs, {}) for instance, runs in BY_EXCURSIONS),
        *((instance, epsilon, runs, {"bound": "ties alone"}) for instance, epsilon, runs in BY_TIES),
    ]
    for instance, epsilon, runs, settings in cases:
        found = {}
        for delta in failed:
            own = {"bound": ties_alone(instance, epsilon, delta)} if "bound" in settings else settings
            learner = Challenger(instance.mdp, epsilon, delta, instance.sigma, **own)
            found[delta] = wrong(learner, instance, runs)
            failed[delta] += found[delta]
        total += runs
        mdp, words = instance.mdp, ", ".join(map(str, settings.values())) or "defaults"
        counts = "".join(f" {count:>11}" for count in found.values())
        print(f"{mdp.horizon:>3} {mdp.n_arcs:>5} {epsilon:>8g} {runs:>6,}{counts}  {words}", flush=True)
    shares = ", ".join(f"{count / total:.2%} wrong at {delta}" for delta, count in failed.items())
    print(f"all {total:,} runs at each delta: {shares}")
    late()
    for delta, count in failed.items():
        record(f"wrong of {total:,} runs at delta {delta:g}", 100 * count / total, "%", f"at most {100 * delta:g} %")


if __name__ == "__main__":
    main()
