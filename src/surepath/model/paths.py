"""Paths of a graph: the best one, how many there are, even shares of the plays, and whether one is a path at all.

Dynamic programs go one stage at a time; this is the one place in NumPy for the best path and the number of paths, but
for `verify/bound.py`, which shares nothing with what it checks.

Weights are one number per arc; -inf closes an arc. Where two paths tie, the lowest arc wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from surepath._numbers import refuse_masks
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import PathError

if TYPE_CHECKING:
    from surepath.model.mdp import MDP


def values_to_go(mdp: MDP, weight: FloatArray) -> FloatArray:
    """Compute the largest weight of a path from each node to the sink, float [n_nodes + 1]; -inf where none is open."""
    value = np.zeros(mdp.n_nodes + 1)
    for h in range(mdp.horizon - 1, -1, -1):
        low, high = mdp.stage_node[h], mdp.stage_node[h + 1]
        arcs = slice(mdp.first[low], mdp.first[high])
        through = weight[arcs] + value[mdp.target[arcs]]
        value[low:high] = np.maximum.reduceat(through, mdp.first[low:high] - arcs.start)
    return value


def values_so_far(mdp: MDP, weight: FloatArray) -> FloatArray:
    """Compute the largest weight of a path from the start to each node, float [n_nodes + 1]; -inf if none is open."""
    value = np.full(mdp.n_nodes + 1, -np.inf)
    value[0] = 0.0
    for h in range(mdp.horizon):
        arcs = slice(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        np.maximum.at(value, mdp.target[arcs], value[mdp.source[arcs]] + weight[arcs])
    return value


def values_through(
    mdp: MDP, weight: FloatArray, to_go: FloatArray | None = None, so_far: FloatArray | None = None
) -> FloatArray:
    """Compute the largest weight of a path through each arc, float [N]; -inf if none is open.

    Both passes may be given where they are already computed.
    """
    to_go = values_to_go(mdp, weight) if to_go is None else to_go
    so_far = values_so_far(mdp, weight) if so_far is None else so_far
    return so_far[mdp.source] + weight + to_go[mdp.target]


def follow(mdp: MDP, weight: FloatArray, to_go: FloatArray, node: int = 0) -> IntArray:
    """Follow the best arcs from a node to the sink, given `values_to_go`."""
    path = []
    while node < mdp.n_nodes:
        low, high = int(mdp.first[node]), int(mdp.first[node + 1])
        path.append(low + int(np.argmax(weight[low:high] + to_go[mdp.target[low:high]])))
        node = int(mdp.target[path[-1]])
    return np.array(path, dtype=np.int64)


def best_path(mdp: MDP, weight: FloatArray) -> IntArray:
    """Find the path of largest weight, int [H]."""
    return follow(mdp, weight, values_to_go(mdp, weight))


def best_path_through(mdp: MDP, weight: FloatArray, to_go: FloatArray, so_far: FloatArray, arc: int) -> IntArray:
    """Find the path of largest weight through one arc, given both passes, int [H]."""
    back, node = [arc], int(mdp.source[arc])
    for h in range(stage_of(mdp, arc) - 1, -1, -1):
        arcs = np.arange(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        arcs = arcs[mdp.target[arcs] == node]
        back.append(int(arcs[np.argmax(so_far[mdp.source[arcs]] + weight[arcs])]))
        node = int(mdp.source[back[-1]])
    onward = follow(mdp, weight, to_go, int(mdp.target[arc]))
    return np.concatenate([np.array(back[::-1], dtype=np.int64), onward])


def stage_of(mdp: MDP, arc: int) -> int:
    """Find the stage of an arc."""
    return int(np.searchsorted(mdp.stage_arc, arc, side="right")) - 1


def on_open_paths(mdp: MDP, open_arcs: BoolArray) -> BoolArray:
    """Return which arcs lie on a path of open arcs from the start to the sink, bool [N]."""
    return values_through(mdp, np.where(open_arcs, 0.0, -np.inf)) > -np.inf


def log_number_of_paths(mdp: MDP) -> float:
    """Return the natural logarithm of the number of paths, by one backward log-sum-exp sweep over the stages."""
    value = np.zeros(mdp.n_nodes + 1)
    for h in range(mdp.horizon - 1, -1, -1):
        low, high = mdp.stage_node[h], mdp.stage_node[h + 1]
        ahead = value[mdp.target[mdp.first[low] : mdp.first[high]]]
        top = ahead.max()
        sums = np.add.reduceat(np.exp(ahead - top), mdp.first[low:high] - mdp.first[low])
        # A node far below the others of its stage may underflow: fall back on a shift of its own.
        with np.errstate(divide="ignore"):
            value[low:high] = top + np.log(sums)
        for i in np.flatnonzero(~np.isfinite(value[low:high])):
            own = value[mdp.target[mdp.first[low + i] : mdp.first[low + i + 1]]]
            value[low + i] = own.max() + np.log(np.exp(own - own.max()).sum())
    return float(value[0])


def paths_from(mdp: MDP) -> list[int]:
    """Count the paths from each node to the sink exactly, n_nodes + 1 numbers of any size."""
    count = [0] * mdp.n_nodes + [1]
    for node in range(mdp.n_nodes - 1, -1, -1):
        arcs = range(int(mdp.first[node]), int(mdp.first[node + 1]))
        count[node] = sum(count[int(mdp.target[e])] for e in arcs)
    return count


def even_flow(mdp: MDP) -> FloatArray:
    """Return the part of the plays through each arc when every state picks its actions evenly, float [N]."""
    at_node, share, degree = np.zeros(mdp.n_nodes + 1), np.zeros(mdp.n_arcs), np.diff(mdp.first)
    at_node[0] = 1.0
    for h in range(mdp.horizon):
        arcs = slice(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        source = mdp.source[arcs]
        share[arcs] = at_node[source] / degree[source]
        np.add.at(at_node, mdp.target[arcs], share[arcs])
    return share


def checked_path(mdp: MDP, path: ArrayLike) -> IntArray:
    """Return the path as int [H], or raise an error that says where it breaks."""
    try:
        refuse_masks(path)
        array = np.asarray(path)
    except ValueError as cause:
        raise PathError(f"a path is {mdp.horizon} arc numbers, one per stage; got {path!r}") from cause
    if array.shape != (mdp.horizon,) or array.dtype.kind not in "iu":
        raise PathError(f"a path is {mdp.horizon} arc numbers, one per stage; got shape {array.shape} of {array.dtype}")
    arcs = array.astype(np.int64)
    if arcs.min() < 0 or arcs.max() >= mdp.n_arcs:
        raise PathError(f"arc numbers run from 0 to {mdp.n_arcs - 1}; got {arcs.tolist()}")
    node = 0
    for h, arc in enumerate(arcs):
        if mdp.source[arc] != node:
            raise PathError(
                f"not a path: {mdp.describe_arc(int(arc))} is at place {h}, "
                f"but the path is then at stage {h}, state {mdp.state_label(node)!r}"
            )
        node = int(mdp.target[arc])
    return arcs
