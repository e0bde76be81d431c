"""Challenger's wrong answers over the hard cases of the test suite: every wrong plan lies just outside epsilon.

`python -m benchmarks.bench_guarantee [--shared [steps]]`; --shared prints only the lines of disjoint steps whose scores
move together, under any dependence: wrong answers, and runs in which anything stated was ever false.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.learners.challenger.test_guarantee import BY_EXCURSIONS, BY_TIES, CASES, ties_alone, wrong
from tests.learners.challenger.test_shared_luck import NOISES, rates
from tests.study.test_order import through_a_study

from benchmarks.record import record
from surepath import Challenger

DELTAS = (0.1, 0.5, 0.9)


def shared(steps: int, runs: int = 2000) -> None:
    """Print wrong answers and false statements on four lines of so many steps, by noise and delta."""
    heads = "".join(f" {f'wrong, false, {delta}':>18}" for delta in DELTAS)
    print(f"\n{f'four lines of {steps} steps, any':<32}{'runs':>6}{heads}{'independent, 0.1':>18}")
    for noise in NOISES:
        found = [rates(steps, noise, delta, runs) for delta in DELTAS]
        other = rates(steps, noise, 0.1, runs // 10, "independent")[0]
        cells = "".join(f" {f'{wrong}, {false}':>18}" for wrong, false in found)
        print(f"{noise:<32}{runs:>6,}{cells}{f'{other} of {runs // 10}':>18}", flush=True)
        for delta, (_, false) in zip(DELTAS, found):
            name = f"false statements under any dependence, {steps} steps, {noise}, delta {delta:g}"
            record(name, 100 * false / runs, "%", f"at most {100 * delta:g} %")


def late(runs: int = 150) -> None:
    """Print wrong answers of studies whose bad trials are slow: within the lease, and longer than it."""
    for slow, lease in ((3.0, 4.0), (3.0, 2.0), (10.0, 2.0)):
        count = sum(through_a_study(seed, 0.1, lease, workers=8, slow=slow) for seed in range(runs))
        print(
            f"8 workers by hand, bad trials take {slow / lease:g} leases: {count} of {runs} wrong at delta 0.1",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> None:
    """Print wrong answers case by case, and in all, at three deltas."""
    given = arguments or []
    for steps in [int(given[1])] if len(given) > 1 else (8, 20, 100):
        shared(steps)
    if "--shared" in given:
        return
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
            learner = Challenger(instance.mdp, epsilon, delta, instance.sigma, dependence="independent", **own)
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
    main(sys.argv[1:])
