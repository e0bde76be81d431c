"""How good forecasts are: `python -m tests.study.forecast_calibration [studies]`.

Plays studies to their end on random worlds, asks for a forecast when a quarter and a half of the trials were made, and
compares it with what came.
"""

from __future__ import annotations

import sys

import numpy as np

from surepath import MDP, Study
from surepath.study.forecast import forecast
from surepath.study.storage import Storage

STEPS = {"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1, 2]}
SIGMA, MORE = 0.3, 50


def play(study: Study, means: np.ndarray, rewards: np.random.Generator, until: int | None) -> None:
    """Run trials until done or until so many were made."""
    while not study.done and (until is None or len(study) < until):
        trial = study.ask()
        study.tell(trial, means[trial.path] + SIGMA * rewards.standard_normal(len(trial.path)))


def main(studies: int) -> None:
    """Print the shares and ratios."""
    mdp = MDP.from_steps(STEPS, sigma=SIGMA)
    found: dict[tuple[float, str], list[tuple[float, float, float, float]]] = {}
    for number in range(studies):
        means = np.random.default_rng([1, number]).random(mdp.n_arcs)

        def again(until: int | None, number: int = number, means: np.ndarray = means) -> Study:
            study = Study.create(mdp, storage=Storage("memory"), epsilon=0.3, delta=0.1)
            play(study, means, np.random.default_rng([2, number]), until)
            return study

        total = len(again(None))
        for share in (0.25, 0.5):
            now = max(1, int(share * total))
            study = again(now)
            guess = forecast(study, more=MORE, seed=number, seconds=600.0)  # no world is cut short
            shares = (0.1, 0.5, 0.9)
            row = (float(total - now), *(guess.trials_left(q) for q in shares))
            found.setdefault((share, "trials left"), []).append(row)  # type: ignore[arg-type]
            gap = again(now + MORE).certified_gap
            found.setdefault((share, "gap"), []).append((gap, *(guess.gap_after(q) for q in shares)))  # type: ignore[arg-type]
    for (share, what), rows in found.items():
        came, low, middle, high = np.array(rows).T
        inside = float(((low <= came) & (came <= high)).mean())
        below, ratio = float((came < low).mean()), float(np.exp(np.median(np.log(came / middle))))
        print(
            f"after {share:.0%} of the trials, {what}: within the 10-90 % range {inside:.0%} (below it {below:.0%}), "
            f"median of what came over the forecast's median {ratio:.2f}, {len(rows)} studies"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
