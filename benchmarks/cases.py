"""Trials with and without a reference on cases of different difficulty: `python -m benchmarks.cases`.

Four steps with four options each, scored as option + case + noise: cases scatter by 0.48, noise by 0.14. Without the
reference a sigma of 0.5 must be declared, with it one of 0.2, that of a difference of two noises.
"""

from __future__ import annotations

import numpy as np

from surepath import MDP, Study

CASES, NOISE, EPSILON, DELTA = 0.48, 0.14, 0.4, 0.1
STEPS = {f"step {i}": ["a", "b", "c", "d"] for i in range(4)}


def trials(seed: int, reference: bool) -> int:
    """Play a study to its end on a random world and return its trials."""
    rng = np.random.default_rng(seed)
    mdp = MDP.from_steps(STEPS, depends="none", sigma=0.2 if reference else 0.5)
    means = rng.random(mdp.n_arcs)
    luck = dict(zip((str(i + 1) for i in range(500)), rng.normal(0, CASES, 500)))

    def play(path: np.ndarray, case: str) -> np.ndarray:
        return np.asarray(means[path] + luck[case] + NOISE * rng.standard_normal(mdp.horizon))

    study = Study.create(mdp, "memory", epsilon=EPSILON, delta=DELTA, cases=500)
    if reference:
        today = mdp.path(dict.fromkeys(STEPS, "a"))
        study.reference(today, {case: play(today, case) for case in luck})
    while not study.done:
        trial = study.ask()
        study.tell(trial, play(trial.path, trial.cases[0]))
    return len(study)


def main() -> None:
    """Print the median number of trials over ten worlds."""
    medians = [float(np.median([trials(seed, reference) for seed in range(10)])) for reference in (False, True)]
    print(f"trials without a reference {medians[0]:,.0f}, with one {medians[1]:,.0f} and 500 plays of the reference")


if __name__ == "__main__":
    main()
