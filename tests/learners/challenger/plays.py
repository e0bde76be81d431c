"""A chain of three steps, and Challenger played on an instance by ask and tell."""

from __future__ import annotations

import numpy as np

from surepath import Challenger, Instance, families
from surepath.simulation.simulate import draw_reward


def play(learner: Challenger, instance: Instance, rng: np.random.Generator, episodes: int) -> None:
    """Ask and tell so many episodes, or until the stop."""
    for _ in range(episodes):
        if learner.stopped:
            return
        path = learner.ask()
        learner.tell(path, [draw_reward(instance, int(arc), rng) for arc in path])


def chain(sigma: float = 0.2) -> Instance:
    """Three steps of three options."""
    return families.chain(steps=3, options=3, sigma=sigma, seed=2)
