"""`python -m benchmarks.demo_costs`: compute what other methods cost on the demo, and write the file shipped."""

from __future__ import annotations

import json
from typing import Any

from surepath import simulate, theory
from surepath.cli.demo import COSTS_FILE, DEMO_DELTA, DEMO_EPSILON
from surepath.model.families import support_tickets

# Learner, runs and seed of each simulated method.
EPRL = {"name": "EPRL", "delta": DEMO_DELTA, "sampling": "max-diameter", "elimination": "both"}
WHOLE_PLANS = {"name": "WholePlan", "delta": DEMO_DELTA}
METHODS: dict[str, tuple[dict[str, Any], int, int]] = {"eprl": (EPRL, 4, 0), "whole_plans": (WHOLE_PLANS, 1, 0)}


def computed() -> dict[str, dict[str, Any]]:
    """Compute every figure: methods by simulation until each has the same guarantee, limits from the table."""
    return {**{name: simulated(*method) for name, method in METHODS.items()}, **limits()}


def simulated(learner: dict[str, Any], runs: int, seed: int) -> dict[str, Any]:
    """Simulate a learner on the demo's problem; return its mean trials and the settings that made them."""
    result = simulate(learner, support_tickets(), runs, seed, [DEMO_EPSILON], workers=1)
    return {"trials": result.mean_tau(), "learner": learner, "epsilon": DEMO_EPSILON, "runs": runs, "seed": seed}


def limits() -> dict[str, dict[str, Any]]:
    """Compute the trials that every method needs, on average.

    For the best plan itself: T* kl(delta, 1 - delta). For a plan within epsilon: an arc that was not tried may be as
    good or as bad as one likes, so each is left untried with probability at most 2 delta, and a trial tries one arc
    of a stage. (Theorem 1 of the paper asks for less than one trial here.)
    """
    instance = support_tickets()
    widest = max(high - low for low, high in zip(instance.mdp.stage_arc[:-1], instance.mdp.stage_arc[1:]))
    best = theory.characteristic_time(instance).bound(DEMO_DELTA)
    return {
        "limit": {"trials": (1 - 2 * DEMO_DELTA) * int(widest), "epsilon": DEMO_EPSILON, "delta": DEMO_DELTA},
        "limit_of_the_best": {"trials": best, "epsilon": 0.0, "delta": DEMO_DELTA},
    }


if __name__ == "__main__":
    COSTS_FILE.write_text(json.dumps(computed(), indent=2) + "\n", "utf-8")
