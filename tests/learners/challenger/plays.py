"""A chain of three steps, Challenger played on an instance by ask and tell, and the width of one arc."""

from __future__ import annotations

import numpy as np

from surepath import Challenger, Instance, families
from surepath.kernels.jit import bare_kernel
from surepath.learners.challenger.stages import width_at
from surepath.learners.challenger.state import Pairs, Scratch
from tests.naive.draws import draw_reward


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


@bare_kernel
def width(pairs: Pairs, work: Scratch, side: int, j: int, k: float, e: int) -> float:
    """W(k) of arc e for entry j, on a rival's side (0) or the incumbent's (1)."""
    return float(width_at(pairs, work, np.int64(side), j, k, np.log(k), e))
