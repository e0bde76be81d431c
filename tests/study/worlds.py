"""A small world for tests of studies: two steps, the best plan is large and long."""

from __future__ import annotations

import random
from typing import Any

from surepath import MDP, Study

STEPS = {"model": ["small", "large"], "prompt": ["short", "long"]}
SCORE = {"small": 0.2, "large": 0.9, "short": 0.1, "long": 0.8}
BEST = {"model": "large", "prompt": "long"}
NEVER = 1e-6  # an epsilon that no test proves


def new_study(storage: Any = "memory", *, epsilon: float = 0.3, **options: Any) -> Study:
    """A study of the small world; a small epsilon makes one that does not end soon."""
    mdp = options.pop("mdp", None) or MDP.from_steps(STEPS, sigma=0.1)
    return Study.create(mdp, storage=storage, epsilon=epsilon, delta=0.1, **options)


def bounded() -> MDP:
    """The small world with scores that lie between 0 and 1."""
    return MDP.from_steps(STEPS, reward_range=(0.0, 1.0))


def scores(plan: dict[Any, Any]) -> list[float]:
    """Scores of a plan with a little noise."""
    return [SCORE[str(option)] + random.uniform(-0.05, 0.05) for option in plan.values()]


def states(study: Study) -> dict[str, int]:
    """How many trials are in each state, where there are any."""
    return {state: count for state, count in study.status().states.items() if count}


def rows(study: Study) -> list[Any]:
    """The log."""
    return study._read(lambda log: log.trials(1, 10_000))
