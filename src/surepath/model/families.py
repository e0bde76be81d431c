"""Named, versioned, seeded instances.

Each builder returns an Instance whose `id`, such as "paper_random-v1/s2a2h3/seed7", rebuilds it exactly.
"""

from __future__ import annotations

import numpy as np

from surepath._checks import real, whole
from surepath.errors import ProblemError
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import Gaussian


def paper_random(
    states: int = 2,
    actions: int = 2,
    horizon: int = 3,
    min_gap: float = 0.1,
    seed: int = 0,
    sigma: float = 1.0,
    max_tries: int = 10_000,
) -> Instance:
    """The paper's random instances: uniform next states, means uniform on [0, 1], kept if the least positive
    value gap over ALL states and stages, unreachable ones included, exceeds `min_gap`.
    """
    whole("states", states, low=1), whole("actions", actions, low=1), whole("horizon", horizon, low=1)
    rng = np.random.default_rng(np.random.SeedSequence([whole("seed", seed, low=0)]))
    for _ in range(max_tries):
        next_state = rng.integers(states, size=(horizon, states, actions))
        means = rng.random((horizon, states, actions))
        value = np.zeros(states)
        least = np.inf
        for h in range(horizon - 1, -1, -1):
            q = means[h] + (value[next_state[h]] if h < horizon - 1 else 0.0)
            value = q.max(axis=1)
            gaps = value[:, None] - q
            least = min(least, gaps[gaps > 0].min(initial=np.inf))
        if least > min_gap:
            name = f"paper_random-v1/s{states}a{actions}h{horizon}/seed{seed}"
            return Instance(MDP.from_arrays(next_state), Gaussian(means, real("sigma", sigma)), id=name)
    raise ProblemError(
        f"no instance with a minimum value gap above {min_gap:g} in {max_tries} tries; "
        f"lower min_gap or take fewer states, actions or stages"
    )


def chain(steps: int = 8, options: int = 4, seed: int = 0, sigma: float = 0.1) -> Instance:
    """A pipeline: at each step one of `options`, its mean reward depending on the option before; means uniform."""
    whole("steps", steps, low=1), whole("options", options, low=1)
    rng = np.random.default_rng(np.random.SeedSequence([whole("seed", seed, low=0)]))
    next_state = np.broadcast_to(np.arange(options), (steps, options, options)).copy()
    means = rng.random((steps, options, options))
    name = f"chain-v1/n{steps}k{options}/seed{seed}"
    return Instance(MDP.from_arrays(next_state), Gaussian(means, real("sigma", sigma)), id=name)
