"""Small studies, played on worlds with known means."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath import MDP, Study
from surepath.study.storage import Storage

STEPS = {"fetch": ["a", "b"], "parse": ["x", "y", "z"], "rank": ["low", "high"]}
SIGMA = 0.1


def pipeline(**options: Any) -> MDP:
    """Three steps, each seen by the next one alone."""
    return MDP.from_steps(STEPS, **{"sigma": SIGMA, **options})


def means_of(mdp: MDP, seed: int = 0) -> np.ndarray:
    """Scores that differ clearly at some places and little at others."""
    return np.random.default_rng(seed).random(mdp.n_arcs)


def new_study(storage: Any = None, **options: Any) -> Study:
    """A study of the pipeline in memory, whose scores are independent unless something else is said."""
    problem = options.pop("problem", None) or pipeline()
    settings = {"epsilon": 0.3, "delta": 0.1, **options}
    if "dependence" not in (options["learner"] if isinstance(options.get("learner"), dict) else {}):
        settings.setdefault("dependence", "independent")
    return Study.create(problem, storage=Storage("memory") if storage is None else storage, **settings)


def play(study: Study, trials: int = 10_000, seed: int = 0, mishaps: bool = False, means_seed: int = 0) -> int:
    """Run trials until the study is done; with mishaps some fail, break off or are cancelled."""
    means, rng, count = means_of(study.mdp, means_seed), np.random.default_rng(seed), 0
    while count < trials and not study.done:
        trial = study.ask()
        rewards = study.mdp.sign * means[trial.path] + SIGMA * rng.standard_normal(study.mdp.horizon)
        kind = rng.integers(12) if mishaps else 99
        count += 1
        if kind == 0:
            study.fail(trial)
        elif kind == 1:
            study.fail(trial, rewards[:1])
        elif kind == 2:
            study.cancel(trial)
        else:
            study.tell(trial, rewards)
    return count
