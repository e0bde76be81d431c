"""Instances made to show one thing: the worst case, covers, ties."""

from __future__ import annotations

import numpy as np

from surepath._checks import one_sigma, positive
from surepath.errors import ProblemError
from surepath.model.families.ids import Family, check_size, counts, register
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import Gaussian

MINIMAX_HARD = Family("minimax_hard", {"states": "s", "actions": "a", "horizon": "h"})
MINIMAX_TREE = Family("minimax_tree", {"states": "s", "actions": "a", "horizon": "h"})
COVER_GAP = Family("cover_gap", {"m": "m"})
TWIN_OPTIMAL = Family("twin_optimal", {"horizon": "h"})


def _tree_depth(family: str, states: int, actions: int) -> int:
    """Compute log2 of the states of a start and a full binary tree; refuse other numbers and single actions."""
    depth = int(states).bit_length() - 1
    if states < 2 or states != 2**depth:
        raise ProblemError(f"{family} needs 2, 4, 8, ... states (a start and a full binary tree), not {states}")
    if actions < 2:
        raise ProblemError(f"{family} needs at least 2 actions, not {actions}")
    return depth


@register(MINIMAX_HARD)
def minimax_hard(states: int = 4, actions: int = 2, horizon: int = 6, sigma: float = 1.0) -> Instance:
    """Build the appendix's worst case: wait in the start, enter a binary tree, stay in a leaf; all means are zero.

    State 0 is the start: action 0 enters the root, action 1 waits, until stage floor(H / 3) - 1 counted from 1.
    States 1 .. S - 1 are the tree, level by level: 0 goes left, 1 right. In a leaf all actions stay.

    Args:
        states: S = 2^d: the start and a full binary tree of 2^d - 1 nodes.
        actions: A >= 2, the actions of a leaf.
        horizon: H >= 3 log2 S.
        sigma: Standard deviation of the Gaussian rewards.

    Example:
        >>> minimax_hard(states=8, actions=3, horizon=9).mdp.n_paths
        4212
    """
    counts(states=states, actions=actions, horizon=horizon)
    check_size(states * actions * horizon)
    sigma = one_sigma(sigma, ProblemError)
    depth = _tree_depth("minimax_hard", states, actions)
    if horizon < 3 * depth:
        raise ProblemError(
            f"minimax_hard needs a horizon of at least 3 log2(states) = {3 * depth} for {states} states, not {horizon}"
        )
    last_entry = horizon // 3  # stage, counted from 1, at which one must enter
    first_leaf = states // 2
    node = np.arange(states)
    next_state = np.repeat(node[:, None], actions, axis=1)
    available = np.ones((horizon, states, actions), dtype=bool)
    next_state[1:first_leaf, :2] = np.stack([2 * node[1:first_leaf], 2 * node[1:first_leaf] + 1], axis=1)
    available[:, :first_leaf, 2:] = False
    next_state[0, 0] = 1
    available[last_entry - 1 :, 0, 1] = False
    mdp = MDP.from_arrays(np.broadcast_to(next_state, (horizon, states, actions)), available=available)
    name = MINIMAX_HARD.id(states=states, actions=actions, horizon=horizon, sigma=sigma)
    return Instance(mdp, Gaussian(0.0, sigma), id=name)


@register(MINIMAX_TREE)
def minimax_tree(states: int = 4, actions: int = 2, horizon: int = 6, sigma: float = 1.0) -> Instance:
    """Build the worst case whose proof holds: enter a binary tree at stage 1, stay in a leaf; all means are zero.

    State 0 is the start, with one action into the root; states 1 .. S - 1 are the tree, level by level: 0 goes left, 1
    right. In a leaf, reached after log2 S stages, all actions stay. See `theory.worst_case_lower_bound`.

    Args:
        states: S = 2^d: the start and a full binary tree of 2^d - 1 nodes.
        actions: A >= 2, the actions of a leaf.
        horizon: H > log2 S.
        sigma: Standard deviation of the Gaussian rewards.

    Example:
        >>> minimax_tree(states=4, actions=3, horizon=4).mdp.n_paths
        18
    """
    counts(states=states, actions=actions, horizon=horizon)
    check_size(states * actions * horizon)
    sigma = one_sigma(sigma, ProblemError)
    depth = _tree_depth("minimax_tree", states, actions)
    if horizon <= depth:
        raise ProblemError(f"minimax_tree needs a horizon above log2(states) = {depth}, not {horizon}")
    first_leaf, node = states // 2, np.arange(states)
    next_state = np.repeat(node[:, None], actions, axis=1)
    next_state[1:first_leaf, :2] = np.stack([2 * node[1:first_leaf], 2 * node[1:first_leaf] + 1], axis=1)
    next_state[0, 0] = 1
    available = np.ones((horizon, states, actions), dtype=bool)
    available[:, :first_leaf, 2:] = False
    available[:, 0, 1] = False
    mdp = MDP.from_arrays(np.broadcast_to(next_state, (horizon, states, actions)), available=available)
    name = MINIMAX_TREE.id(states=states, actions=actions, horizon=horizon, sigma=sigma)
    return Instance(mdp, Gaussian(0.0, sigma), id=name)


@register(COVER_GAP)
def cover_gap(m: int = 3, sigma: float = 1.0) -> Instance:
    """Build the appendix's example against dropping arcs: covering all arcs but one shortcut.

    The start has m arcs to a first hub and one to a side road that ends in a second hub with m exits. The first
    hub has one exit of its own, and the shortcut to the second hub. With the shortcut m + 1 paths cover all other
    arcs (m - 1 of those in the first hub cross over); without it both hubs need m paths of their own, 2m in all.
    All means are zero. The shortcut is `mdp.arc(1, "first hub", "shortcut")`.

    Example:
        >>> cover_gap(3).mdp.n_arcs
        11
    """
    counts(m=m)
    check_size(50 * (2 * m + 5))  # built from rows, which take some fifty times the memory of arcs
    sigma = one_sigma(sigma, ProblemError)
    rows = [(0, "start", f"way {i + 1}", "first hub") for i in range(m)]
    rows += [(0, "start", "side road", "side road"), (1, "side road", "on", "second hub")]
    rows += [(1, "first hub", "own exit", "exit"), (1, "first hub", "shortcut", "second hub"), (2, "exit", "on", "end")]
    rows += [(2, "second hub", f"exit {i + 1}", "end") for i in range(m)]
    return Instance(MDP.from_edges(rows), Gaussian(0.0, sigma), id=COVER_GAP.id(m=m, sigma=sigma))


@register(TWIN_OPTIMAL)
def twin_optimal(horizon: int = 3, gap: float = 0.5, sigma: float = 1.0) -> Instance:
    """Build two states side by side: staying earns 1 a stage, crossing over `gap` less; two disjoint paths are optimal.

    Example:
        >>> twin_optimal(3).optimal_return
        3.0
    """
    counts(horizon=horizon)
    check_size(4 * horizon)
    gap, sigma = positive("gap", gap, error=ProblemError), one_sigma(sigma, ProblemError)
    next_state = np.zeros((horizon, 2, 2), dtype=np.int64)
    next_state[:, 0], next_state[:, 1] = [0, 1], [1, 0]
    means = np.broadcast_to([1.0, 1.0 - gap], (horizon, 2, 2)).copy()
    means[0] = 1.0  # the first step chooses the side
    name = TWIN_OPTIMAL.id(horizon=horizon, gap=gap, sigma=sigma)
    return Instance(MDP.from_arrays(next_state), Gaussian(means, sigma), id=name)
