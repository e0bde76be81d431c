"""Random small problems and reward tables for the learners' tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath.model.mdp import MDP
from tests.naive.learner import Choices


def options(stages: int, actions: int, low: float = 0.0, high: float = 1.0, direction: str = "maximize") -> MDP:
    """One state, several actions at each stage, rewards in a range."""
    return MDP.from_arrays(np.zeros((stages, 1, actions), dtype=int), reward_range=(low, high), direction=direction)


def random_mdp(rng: np.random.Generator) -> MDP:
    """A small layered graph with masked actions, parallel arcs and, in one case of three, known rewards."""
    states, actions, horizon = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    next_state = rng.integers(states, size=(horizon, states, actions))
    available = rng.random((horizon, states, actions)) < rng.choice([0.6, 1.0])
    available[..., 0] |= ~available.any(axis=-1)
    direction = "maximize" if rng.random() < 0.7 else "minimize"
    mdp = MDP.from_arrays(next_state, int(rng.integers(states)), available, direction=direction)
    if rng.random() < 0.34:
        known = np.where(rng.random(mdp.n_arcs) < 0.3, rng.integers(0, 3, mdp.n_arcs) / 2, np.nan)
        mdp = with_known(mdp, known)
    return mdp


def with_known(mdp: MDP, known: np.ndarray) -> MDP:
    """The same graph with some rewards known in advance."""
    return MDP(
        first=mdp.first,
        target=mdp.target,
        stage_node=mdp.stage_node,
        node_state=mdp.node_state,
        action=mdp.action,
        known=known,
        direction=mdp.direction,
    )


def with_ranges(mdp: MDP, rng: np.random.Generator) -> MDP:
    """The same graph with a range for each arc; in one case of two, some arcs declare a sigma and no range."""
    n = mdp.n_arcs
    low = rng.choice([-1.0, 0.0, 0.25], n)
    high = low + rng.choice([0.5, 1.0, 2.0], n)
    declared = (rng.random(n) < 0.4) & bool(rng.random() < 0.5)
    if declared.all():
        declared[0] = False
    sigma = np.where(declared, 0.05, np.nan)
    low, high = np.where(declared, -np.inf, low), np.where(declared, np.inf, high)
    fields = {name: getattr(mdp, name) for name in ("first", "target", "stage_node", "node_state", "action", "known")}
    return MDP(**fields, direction=mdp.direction, sigma=sigma if declared.any() else None, reward_range=(low, high))


def ranged_table(rng: np.random.Generator, mdp: MDP, episodes: int) -> np.ndarray:
    """Rewards [episodes, N] inside the ranges: calm or wild, tied or not, or turning over half-way."""
    assert mdp.reward_range is not None
    low, high = (np.where(np.isfinite(side), side, end) for side, end in zip(mdp.reward_range, (0.0, 1.0)))
    means = rng.uniform(0.05, 0.95, mdp.n_arcs) if rng.random() < 0.7 else rng.choice([0.1, 0.9], mdp.n_arcs)
    if rng.random() < 0.2:
        return np.asarray(low + (high - low) * (rng.random((episodes, mdp.n_arcs)) < means))
    strength = rng.choice([5.0, 500.0])
    table = rng.beta(strength * means, strength * (1 - means), (episodes, mdp.n_arcs))
    if rng.random() < 0.3:
        table[episodes // 3 :] = 1 - table[episodes // 3 :]
    return np.asarray(low + (high - low) * table)


def reward_table(rng: np.random.Generator, mdp: MDP, episodes: int) -> np.ndarray:
    """Rewards [episodes, N]: near their means, tied, or turning over half-way so that widths do not hold."""
    means = rng.random(mdp.n_arcs) if rng.random() < 0.6 else rng.integers(0, 3, mdp.n_arcs) / 2
    table = means + rng.choice([0.0, 0.05, 0.5]) * rng.standard_normal((episodes, mdp.n_arcs))
    if rng.random() < 0.3:
        table[episodes // 3 :] -= 3.0 * (means - 0.5)
    return table


def experiment_choices(sampling: str, mdp_every: int) -> Choices:
    """The authors' settings, from the table of differences, for EPRL or BPI-UCRL ("optimistic")."""
    bpi = sampling == "optimistic"
    return Choices(
        sampling=sampling,
        by_return=not bpi,
        by_value=True,
        schedule="end-of-period" if sampling == "coverage" else "every-sa",
        every=mdp_every,
        sequential=True,
        keep_last=True,
        wait=True,
        stopping="optimal-gap" if bpi else "diameter",
        strict=not bpi,
        at_eliminations=True,
        single=not bpi,
        recommendation="cautious",
        widths_first=bpi,
        authors_widths=True,
    )


def theory_choices(settings: dict[str, Any], mdp_every: int) -> Choices:
    """Algorithm 1, for the settings of EPRL."""
    elimination, sampling = settings["elimination"], settings["sampling"]
    schedule = settings["schedule"]
    if schedule == "paper":
        schedule = "every-sa" if sampling == "max-diameter" else "end-of-period"
    return Choices(
        sampling=sampling,
        by_return=elimination in ("return", "both"),
        by_value=elimination in ("value", "both"),
        schedule=schedule,
        every=mdp_every,
    )
