"""Dynamic programs over the stages of a graph, for many rows of weights at once, in plain NumPy.

Arcs are numbered by stage and state, so the arcs of a stage are a slice, and those of a state within it another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.model.mdp import MDP


class Ends(NamedTuple):
    """Where single excursions off a path begin and end: at its nodes every sum starts anew."""

    path: IntArray  # [H]
    leaving: FloatArray  # [H, rows] what counts for all that came before the node of stage h
    meeting: FloatArray  # [H + 1, rows] and for all that comes after it


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

    def ahead(self, weight: FloatArray, ends: Ends | None = None) -> FloatArray:
        """Return the largest weight from each node to the end, or to where the path is met; [nodes + 1, rows]."""
        mdp = self.mdp
        value = np.zeros((mdp.n_nodes + 1, weight.shape[1]))
        for h in range(mdp.horizon - 1, -1, -1):
            stage, nodes = self.stages[h], self.nodes[h]
            sums = weight[stage] + value[mdp.target[stage]]
            value[nodes] = np.maximum.reduceat(sums, mdp.first[nodes] - stage.start, axis=0)
            if ends is not None:
                value[mdp.source[ends.path[h]]] = ends.meeting[h]
        return value

    def behind(self, weight: FloatArray, ends: Ends | None = None) -> FloatArray:
        """Return the largest weight from the start, or where the path was left, to each node; [nodes + 1, rows]."""
        value = np.full((self.mdp.n_nodes + 1, weight.shape[1]), -np.inf)
        value[0] = 0.0
        for h, (arcs, begins, targets) in enumerate(self.by_target):
            if ends is not None:
                value[self.mdp.source[ends.path[h]]] = ends.leaving[h]
            sums = value[self.mdp.source[arcs]] + weight[arcs]
            value[targets] = np.maximum.reduceat(sums, begins, axis=0)
        return value

    def through(self, weight: FloatArray, ends: Ends | None = None) -> FloatArray:
        """Return the largest weight of a path, or of one excursion, through each arc, [N, rows]; -inf for none."""
        mdp = self.mdp
        return np.asarray(self.behind(weight, ends)[mdp.source] + weight + self.ahead(weight, ends)[mdp.target])

    def even_flow(self) -> FloatArray:
        """Return each arc's part of the visits when every state picks its actions evenly."""
        mdp = self.mdp
        at_node, share = np.zeros(mdp.n_nodes + 1), np.zeros(mdp.n_arcs)
        at_node[0] = 1.0
        degree = np.diff(mdp.first)
        for stage in self.stages:
            share[stage] = at_node[mdp.source[stage]] / degree[mdp.source[stage]]
            np.add.at(at_node, mdp.target[stage], share[stage])
        return share


def log_number_of_paths(mdp: MDP) -> float:
    """Return the logarithm of the number of paths, counted backward with logarithms."""
    count = np.zeros(mdp.n_nodes + 1)
    for node in range(mdp.n_nodes - 1, -1, -1):
        count[node] = np.logaddexp.reduce(count[mdp.target[mdp.first[node] : mdp.first[node + 1]]])
    return float(count[0])
