"""Compile the kernels that most tests use, once, into the cache folder that all workers share, on all cores.

Without this every worker of the suite compiles the same kernels at the same time. `tests/run.py` runs it first; whoever
runs a part of the suite need not, since kernels are also compiled when a test needs them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from surepath import MDP, Bernoulli, Instance, families, simulate, theory
from surepath.learners.base import LEARNERS, build

INSTANCE = families.paper_random(seed=1)
RULES = {"epsilon": 2.0, "delta": 0.1}


def whole_runs(name: str) -> None:
    """Compile the fused loop of a learner."""
    simulate({"name": name, **RULES}, INSTANCE, runs=1, seed=0, workers=1)


def single_steps(name: str) -> None:
    """Compile the kernels behind ask and tell."""
    learner = build({"name": name, "sigma": 1.0, **RULES}, INSTANCE.mdp)
    for _ in range(3):
        path = learner.ask()
        if path.ndim == 2:  # the plans of a round, each with one score
            for plan in path:
                learner.tell(plan, 0.0)
        else:
            learner.tell(path, [0.0] * INSTANCE.mdp.horizon)
    learner.recommend()
    learner.certified_gap()


def what_is_known() -> None:
    """Compile the kernels of theory."""
    theory.gaps(INSTANCE)
    theory.lower_bound(INSTANCE, 0.1, 0.1)
    theory.policy_cover(INSTANCE.mdp, range(INSTANCE.mdp.n_arcs))
    theory.characteristic_time(INSTANCE)


def covered_runs() -> None:
    """Compile the loop that asks for a cover now and then."""
    simulate({"name": "EPRL", "sampling": "static-max-coverage", **RULES}, INSTANCE, runs=1, seed=0, workers=1)


def challenger(dependence: str, noise: str) -> None:
    """Compile Challenger for one of its four forms: any dependence or none, noise declared or learned."""
    mdp = MDP.from_arrays([[[0, 0]]], reward_range=(0.0, 1.0))
    learner = build({"name": "Challenger", **RULES, "dependence": dependence, "noise": noise}, mdp)
    learner.tell(learner.ask(), [0.5])
    learner.certified_gap()
    simulate(learner, Instance(mdp, Bernoulli([0.2, 0.8])), 1, 0, workers=1)


def jobs() -> dict[str, Callable[[], None]]:
    """Return what is compiled, by name."""
    found: dict[str, Callable[[], None]] = {"theory": what_is_known, "EPRL with covers": covered_runs}
    for form in (("independent", "betting"), ("any", "sigma"), ("any", "betting")):
        found[f"Challenger, {' '.join(form)}"] = lambda form=form: challenger(*form)  # type: ignore[misc]
    for name in LEARNERS:
        found[f"{name} step by step"] = lambda name=name: single_steps(name)  # type: ignore[misc]
        found[f"{name} in whole runs"] = lambda name=name: whole_runs(name)  # type: ignore[misc]
    return found


def compile_job(name: str) -> str:
    """Run one job; say how long it took."""
    begun = time.monotonic()
    jobs()[name]()
    return f"   {name}: {time.monotonic() - begun:.1f} s"


def main() -> None:
    # Challenger's kernels are the largest, so they come first.
    names = sorted(jobs(), key=lambda name: "Challenger" not in name)
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as processes:
        for said in processes.map(compile_job, names):
            if "-v" in sys.argv:
                print(said, flush=True)


if __name__ == "__main__":
    main()
