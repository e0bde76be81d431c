"""Small specs shared by the tests of experiments."""

from __future__ import annotations

from typing import Any

MAX_DIAMETER = {"name": "EPRL", "label": "max-diameter", "sampling": "max-diameter"}


def small(**changes: Any) -> dict[str, Any]:
    """Two instances, two learners, two epsilons: quick cells with a few hundred episodes a run."""
    return {
        "name": "small",
        "seed": 3,
        "runs": 5,
        "chunk": 2,
        "deltas": [0.1],
        "epsilons": [2.0, 3.0],
        "instances": ["chain-v1/n3k2/seed7", {"family": "paper_random", "seeds": [4], "sigma": 0.5}],
        "learners": [MAX_DIAMETER, {"name": "BPIUCRL"}],
        **changes,
    }
