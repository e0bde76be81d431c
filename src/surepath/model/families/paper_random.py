"""The random instances of the paper's experiments."""

from __future__ import annotations

import numpy as np

from surepath._checks import one_sigma, real, whole
from surepath._types import FloatArray, IntArray
from surepath.errors import ProblemError
from surepath.model.families.ids import Family, check_seed, check_size, counts, register
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import Gaussian

FAMILY = Family("paper_random", {"states": "s", "actions": "a", "horizon": "h"})


@register(FAMILY)
def paper_random(
    states: int = 2,
    actions: int = 2,
    horizon: int = 3,
    min_gap: float = 0.1,
    seed: int = 0,
    sigma: float = 1.0,
    max_tries: int = 10_000,
) -> Instance:
    """Build the paper's random instances: uniform next states, means uniform on [0, 1], Gaussian noise.

    Drawn again until the least positive value gap over ALL states and stages, unreachable ones included, exceeds
    `min_gap`, at most `max_tries` times.

    Example:
        >>> paper_random(2, 2, 3, seed=7).id
        'paper_random-v1/s2a2h3/seed7'
    """
    counts(states=states, actions=actions, horizon=horizon)
    check_size(states * actions * horizon)
    whole("max_tries", max_tries, low=1, high=1_000_000, error=ProblemError)
    min_gap, sigma = real("min_gap", min_gap, error=ProblemError), one_sigma(sigma, ProblemError)
    next_state, means, _ = _tables(states, actions, horizon, min_gap, seed, max_tries)
    name = FAMILY.id(
        states=states,
        actions=actions,
        horizon=horizon,
        min_gap=min_gap,
        seed=seed,
        sigma=sigma,
        max_tries=max_tries,
    )
    return Instance(MDP.from_arrays(next_state), Gaussian(means, sigma), id=name)


def paper_min_gap(id: str) -> float:
    """Compute Delta_min of a `paper_random` instance as its authors did: over ALL states, unreachable ones included.

    Example:
        >>> round(paper_min_gap("paper_random-v1/s2a2h3/seed7"), 3) > 0.1
        True
    """
    head, _, rest = id.partition("/")
    if head != f"{FAMILY.name}-v{FAMILY.version}":
        raise ProblemError(f"only instances of {FAMILY.name}-v{FAMILY.version} have a paper_min_gap, not {id!r}")
    found = {**FAMILY.defaults(), **FAMILY.parse(rest, id)}
    del found["sigma"]
    return _tables(**found)[2]


def _tables(
    states: int, actions: int, horizon: int, min_gap: float, seed: int, max_tries: int
) -> tuple[IntArray, FloatArray, float]:
    """Draw next states and means, both [H, S, A]; return them and the least positive value gap."""
    rng = np.random.default_rng(np.random.SeedSequence([check_seed(seed)]))
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
            return next_state, means, float(least)
    raise ProblemError(
        f"no instance with a minimum value gap above {min_gap:g} in {max_tries} tries; "
        f"lower min_gap or take fewer states, actions or stages"
    )
