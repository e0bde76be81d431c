"""Trials to stop with the noise learned: rewards in [0, 1] with sigma = 1/2, Bernstein, betting and sigma known."""

from __future__ import annotations

import numpy as np

from surepath import MDP, Bernoulli, Instance, families
from surepath.model.rewards import BETA, ArcLaws, Law


class Beta(Law):
    """Beta laws on [0, 1] with given means and one standard deviation, smaller where a mean leaves no room for it."""

    def __init__(self, means: np.ndarray, deviation: float) -> None:
        self.means, self.deviation = means, deviation

    def bind(self, mdp: MDP) -> ArcLaws:
        means = np.asarray(self.means, dtype=np.float64)
        deviation = np.minimum(self.deviation, 0.7 * np.sqrt(means * (1 - means)))
        law = ArcLaws(means, np.full(mdp.n_arcs, 0.5), BETA)
        strength = means * (1 - means) / deviation**2 - 1
        law.a, law.b = means * strength, (1 - means) * strength
        law.low[:], law.high[:] = 0.0, 1.0
        return law


def in_range(instance: Instance) -> MDP:
    """The graph of an instance with scores between 0 and 1."""
    mdp = instance.mdp
    fields = {name: getattr(mdp, name) for name in ("first", "target", "stage_node", "node_state", "action")}
    return MDP(**fields, reward_range=(np.zeros(mdp.n_arcs), np.ones(mdp.n_arcs)))


def world(states, actions, horizon, gap, seed, deviation):
    base = families.paper_random(states, actions, horizon, min_gap=gap, seed=seed)
    mdp = in_range(base)
    return Instance(mdp, Bernoulli(base.means) if deviation is None else Beta(base.means, deviation))
