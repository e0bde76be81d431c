"""Studies and rows shared by the tests of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath import MDP, Study

STEPS = {"chunk": ["256", "512"], "retriever": ["bm25", "dense", "hybrid"], "answer": ["small", "large"]}
GOOD = {"512": 0.9, "hybrid": 0.8, "dense": 0.5, "large": 0.7}


def told_study(trials: int = 30, learner: str = "challenger", direction: str = "maximize", **options: Any) -> Study:
    """Return a study after some trials with noisy scores."""
    mdp = MDP.from_steps(STEPS, depends="none", sigma=0.1, direction=direction)
    study = Study.create(mdp, "memory", learner=learner, **{"epsilon": 0.05, "delta": 0.1, **options})
    rng = np.random.default_rng(0)
    for _ in range(trials):
        if study.done:
            break
        trial = study.ask()
        scores = np.array([GOOD.get(str(option), 0.1) for option in trial.plan.values()])
        study.tell(trial, mdp.sign * scores + 0.1 * rng.standard_normal(3))
    return study


def runs(**columns: list[Any]) -> Any:
    """Return rows of runs; columns that are not given have one value."""
    import polars as pl

    size = len(columns["tau"])
    given: dict[str, Any] = {
        "instance": ["chain-v1/n3k2/seed7"] * size,
        "learner": ["mine"] * size,
        "delta": [0.1] * size,
        "epsilon": [1.0] * size,
        "epsilon_per_gap": pl.Series([None] * size, dtype=pl.Float64),
        "run": list(range(size)),
        "censored": [False] * size,
        "correct": [True] * size,
    }
    return pl.DataFrame({**given, **columns})
