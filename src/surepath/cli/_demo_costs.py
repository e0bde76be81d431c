"""What other ways of testing cost on the embedded example: figures kept in `demo_costs.json`, and how they are made.

They depend on their own seeds alone, so they are computed once and shipped; the demo compiles nothing but its learner.
`python -m surepath.cli._demo_costs` writes the file anew, and a test recomputes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

COSTS_FILE = Path(__file__).with_name("demo_costs.json")
DEMO_EPSILON, DEMO_DELTA = 0.3, 0.1

# Learner, runs and seed of each simulated method.
EPRL = {"name": "EPRL", "delta": DEMO_DELTA, "sampling": "max-diameter", "elimination": "both"}
WHOLE_PLANS = {"name": "WholePlan", "delta": DEMO_DELTA}
METHODS: dict[str, tuple[dict[str, Any], int, int]] = {"eprl": (EPRL, 4, 0), "whole_plans": (WHOLE_PLANS, 1, 0)}


def kept() -> dict[str, dict[str, Any]]:
    """Read each figure that is kept: its trials and the settings that made them."""
    found: dict[str, dict[str, Any]] = json.loads(COSTS_FILE.read_text("utf-8"))
    return found


def computed() -> dict[str, dict[str, Any]]:
    """Compute every figure: methods by simulation until each has the same guarantee, limits from the table."""
    return {**{name: _simulated(*method) for name, method in METHODS.items()}, **_limits()}


def _simulated(learner: dict[str, Any], runs: int, seed: int) -> dict[str, Any]:
    """Simulate a learner on the demo's problem; return its mean trials and the settings that made them."""
    from surepath.model.families import support_tickets
    from surepath.simulation.simulate import simulate

    result = simulate(learner, support_tickets(), runs, seed, [DEMO_EPSILON], workers=1)
    return {"trials": result.mean_tau(), "learner": learner, "epsilon": DEMO_EPSILON, "runs": runs, "seed": seed}


def _limits() -> dict[str, dict[str, Any]]:
    """Compute the trials that every method needs, on average.

    For the best plan itself: T* kl(delta, 1 - delta). For a plan within epsilon: an arc that was not tried may be as
    good or as bad as one likes, so each is left untried with probability at most 2 delta, and a trial tries one arc
    of a stage. (Theorem 1 of the paper asks for less than one trial here.)
    """
    from surepath.model.families import support_tickets
    from surepath.theory import characteristic_time

    instance = support_tickets()
    widest = max(high - low for low, high in zip(instance.mdp.stage_arc[:-1], instance.mdp.stage_arc[1:]))
    best = characteristic_time(instance).bound(DEMO_DELTA)
    return {
        "limit": {"trials": (1 - 2 * DEMO_DELTA) * int(widest), "epsilon": DEMO_EPSILON, "delta": DEMO_DELTA},
        "limit_of_the_best": {"trials": best, "epsilon": 0.0, "delta": DEMO_DELTA},
    }


def write() -> None:
    """Compute what other methods cost on the demo, and write it to the file that is shipped."""
    COSTS_FILE.write_text(json.dumps(computed(), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    write()
