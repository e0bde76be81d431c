"""Experiments: overhead over bare simulation, threads, shared epsilons, memory over runs, and figure-2.

The paper's sweep (10 instances, 28 epsilons, 10 runs, 3 learners) took its authors 48 hours on 32 processors. Here its
costliest part, BPI-UCRL at 0.05 Delta_min, is played once per instance, and the rest of the sweep in full.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.record import record
from surepath.learners.own_rules import best_path

SWEEP: dict[str, Any] = {
    "seed": 1,
    "deltas": [0.1],
    "epsilons_per_gap": [1.5, 2.5, 5.0, 10.0],
    "instances": [{"family": "paper_random", "seeds": "0..3", "sigma": 0.5}],
}
MAX_DIAMETER = {"name": "EPRL", "label": "max-diameter", "sampling": "max-diameter", "preset": "experiment"}
BPI = {"name": "BPIUCRL", "label": "BPI-UCRL", "preset": "experiment"}


def timed(spec: Any, workers: int) -> float:
    """Measure the seconds of a whole experiment, rows on disk included."""
    from surepath.experiments.runner import run

    with tempfile.TemporaryDirectory() as folder:
        return run(spec, folder, workers=workers).seconds


def spec_of(**changes: Any) -> Any:
    """Build an experiment over the small sweep."""
    from surepath.experiments.spec import Spec

    return Spec.from_dict({**SWEEP, "runs": 100, "learners": [MAX_DIAMETER, BPI], **changes})


def bare(spec: Any) -> float:
    """Measure the seconds of the same runs by `simulate` alone, on one thread."""
    from surepath import simulate
    from surepath.experiments.spec import instance_of

    begun = time.perf_counter()
    for cell in spec.cells():
        learner = {**cell.learner, "delta": cell.delta}
        simulate(learner, instance_of(cell.source), spec.runs, cell.seed, cell.epsilons, 1)
    return time.perf_counter() - begun


def peak(runs: int) -> dict[str, float]:
    """Measure the peak memory of a process that plays this many runs of each cell."""
    spec = spec_of(runs=runs, epsilons_per_gap=[5.0], chunk=100)
    seconds = timed(spec, 2)
    return {"seconds": seconds, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def ratios_seconds(workers: int) -> tuple[float, float]:
    """Measure the seconds of the paper's sweep: of one run per cell with BPI-UCRL, and of ten without it."""
    from surepath.experiments.figures.common import learners
    from surepath.experiments.figures.ratios import EPSILON_GRID, RATIO_BUDGETS

    whole = {**SWEEP, "epsilons_per_gap": list(EPSILON_GRID), "budget": RATIO_BUDGETS["experiment"]}
    whole["instances"] = [{"family": "paper_random", "seeds": "0..9", "sigma": 0.5}]
    others = [learner for learner in learners("experiment") if learner["name"] != "BPIUCRL"]
    long = timed(spec_of(**whole, runs=1, learners=[BPI]), workers)
    return long, timed(spec_of(**whole, runs=10, learners=others), workers)


def widest(view: Any, path: Any) -> None:
    """Sample as max-diameter does, as a rule of one's own."""
    best_path(view, view.widths, path)


def nanoseconds(sampling: Any, steps: int, options: int) -> float:
    """Measure the time of an episode of EPRL on a chain, without a stop, least of five."""
    from surepath import EPRL, families, simulate

    world = families.chain(steps, options, sigma=1.0)
    learner, episodes, best = EPRL(world.mdp, 0.001, 0.1, 1.0, sampling=sampling), 100_000, float("inf")
    for budget in (1000, *[episodes] * 5):
        begun = time.thread_time()
        simulate(learner, world, 1, 1, workers=1, budget=budget)
        best = min(best, time.thread_time() - begun) if budget == episodes else best
    return best / episodes * 1e9


def line(name: str, value: float, unit: str, form: str, more: str = "") -> None:
    """Print and record one figure."""
    print(f"{name:<60} {value:>8{form}}{more}")
    record(name, value, unit)


def main() -> None:
    """Print the table."""
    cores = os.cpu_count() or 1
    timed(spec_of(runs=1), 1)  # compile
    spec = spec_of()
    turns = ((bare(spec), timed(spec, 1), timed(spec, cores)) for _ in range(7))  # in turns: the load changes
    alone, one, many = map(min, zip(*turns))
    apart = sum(timed(spec_of(learners=[BPI], epsilons_per_gap=[e]), 1) for e in SWEEP["epsilons_per_gap"])
    shared = timed(spec_of(learners=[BPI]), 1)
    line("an experiment of 800 runs over bare simulate, one thread", one / alone, "x", ".2f")
    line(f"one thread over {cores}", one / many, "x", ".2f")
    line("a run per epsilon over one run for four", apart / shared, "x", ".2f")
    rows = {}
    for runs in (200, 2_000):
        command = [sys.executable, "-c", f"from benchmarks.bench_experiments import *; print(json.dumps(peak({runs})))"]
        rows[runs] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    growth = rows[2_000]["mib"] / rows[200]["mib"]
    line("peak memory, 16,000 runs over 1,600", growth, "x", ".2f", f"   ({rows[2_000]['mib']:.0f} MiB)")
    line("runs a second, 16,000 short runs with their rows", 16_000 / rows[2_000]["seconds"], "", ",.0f")
    for steps, options in ((8, 4), (10, 10)):
        own, coverage, diameter = (
            nanoseconds(rule, steps, options) for rule in (widest, "max-coverage", "max-diameter")
        )
        line(f"own rule, {steps} x {options}, an episode in ns", own, "ns", ".0f")
        line(f"over max-coverage, {steps} x {options}", own / coverage, "x", ".2f")
        line(f"over max-diameter and its own loop, {steps} x {options}", own / diameter, "x", ".2f")
    long, rest = ratios_seconds(cores)
    sweep = 10 * long + rest
    line(f"figure-2, 10 runs, {cores} cores, in seconds", sweep, "s", ".0f")
    line("the authors: 48 h on 32 processors, per processor", 48 * 3600 * 32 / (sweep * cores), "x", ",.0f")


if __name__ == "__main__":
    main()
