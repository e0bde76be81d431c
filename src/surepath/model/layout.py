"""Where the nodes and arcs of a layered graph go in a drawing, in units of one column and one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from surepath._types import FloatArray

if TYPE_CHECKING:
    from surepath.model.mdp import MDP


def node_places(mdp: MDP) -> tuple[FloatArray, FloatArray]:
    """Return x and y of each node and of the end, [n_nodes + 1]: stages rightwards, states of a stage down around 0.

    Example:
        >>> from surepath import MDP
        >>> x, y = node_places(MDP.from_arrays([[[0, 1], [0, 0]], [[0, 0], [0, 0]]]))
        >>> x.tolist(), y.tolist()
        ([0.0, 1.0, 1.0, 2.0], [0.0, -0.5, 0.5, 0.0])
    """
    sizes = np.diff(mdp.stage_node)
    x = np.append(np.repeat(np.arange(mdp.horizon), sizes), mdp.horizon).astype(float)
    y = np.zeros(mdp.n_nodes + 1)
    y[:-1] = np.arange(mdp.n_nodes) - np.repeat(mdp.stage_node[:-1], sizes) - np.repeat((sizes - 1) / 2, sizes)
    return x, y


def fan(mdp: MDP) -> tuple[FloatArray, FloatArray]:
    """Return how far each arc is bent, so that parallel arcs do not overlap, and how many join the same two nodes.

    Example:
        >>> from surepath import MDP
        >>> bend, size = fan(MDP.from_arrays([[[0, 0]]]))
        >>> bend.tolist(), size.tolist()
        ([-0.5, 0.5], [2.0, 2.0])
    """
    bend, size = np.zeros(mdp.n_arcs), np.zeros(mdp.n_arcs)
    pair = mdp.source * (mdp.n_nodes + 1) + mdp.target
    order = np.argsort(pair, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
        size[group] = len(group)
        bend[group] = np.arange(len(group)) - (len(group) - 1) / 2
    return bend, size
