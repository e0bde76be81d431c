"""Dynamic programs over the stages of a graph, for many rows of weights at once, in plain NumPy.

Arcs are numbered by stage and state, so the arcs of a stage are a slice, and those of a state within it another.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray
from surepath.model.mdp import MDP


class Passes:
    """The longest paths of a graph, weights [N, rows]."""

    def __init__(self, mdp: MDP) -> None:
        self.mdp = mdp
        self.stages = [slice(int(low), int(high)) for low, high in zip(mdp.stage_arc, mdp.stage_arc[1:])]
        self.nodes = [slice(int(low), int(high)) for low, high in zip(mdp.stage_node, mdp.stage_node[1:])]
        self.by_target = []  # for each stage: arcs sorted by target, where each target begins, the targets
        for stage in self.stages:
            order = np.argsort(mdp.target[stage], kind="stable")
            targets, begins = np.unique(mdp.target[stage][order], return_index=True)
            self.by_target.append((order + stage.start, begins, targets))

    def ahead(self, weight: FloatArray) -> FloatArray:
        """Return the largest weight from each node to the end, [nodes + 1, rows]."""
        mdp = self.mdp
        value = np.zeros((mdp.n_nodes + 1, weight.shape[1]))
        for stage, nodes in zip(reversed(self.stages), reversed(self.nodes)):
            sums = weight[stage] + value[mdp.target[stage]]
            value[nodes] = np.maximum.reduceat(sums, mdp.first[nodes] - stage.start, axis=0)
        return value

    def behind(self, weight: FloatArray) -> FloatArray:
        """Return the largest weight from the start to each node, [nodes + 1, rows]."""
        value = np.full((self.mdp.n_nodes + 1, weight.shape[1]), -np.inf)
        value[0] = 0.0
        for arcs, begins, targets in self.by_target:
            sums = value[self.mdp.source[arcs]] + weight[arcs]
            value[targets] = np.maximum.reduceat(sums, begins, axis=0)
        return value

    def through(self, weight: FloatArray) -> FloatArray:
        """Return the largest weight of a path through each arc, [N, rows]; -inf where there is none."""
        mdp = self.mdp
        return np.asarray(self.behind(weight)[mdp.source] + weight + self.ahead(weight)[mdp.target])

    def even_shares(self) -> FloatArray:
        """Return each arc's part of the visits when every state picks its actions evenly, scaled to mean 1."""
        mdp = self.mdp
        at_node, share = np.zeros(mdp.n_nodes + 1), np.zeros(mdp.n_arcs)
        at_node[0] = 1.0
        degree = np.diff(mdp.first)
        for arcs, begins, targets in self.by_target:
            share[arcs] = at_node[mdp.source[arcs]] / degree[mdp.source[arcs]]
            at_node[targets] = np.add.reduceat(share[arcs], begins)
        return np.asarray(share / share.mean())


def log_number_of_paths(mdp: MDP) -> float:
    """Return the logarithm of the number of paths, counted backward with logarithms."""
    count = np.zeros(mdp.n_nodes + 1)
    for node in range(mdp.n_nodes - 1, -1, -1):
        count[node] = np.logaddexp.reduce(count[mdp.target[mdp.first[node] : mdp.first[node + 1]]])
    return float(count[0])
