"""Plain shapes with random means: a bandit, a tree, a grid of streets, a large layered graph."""

from __future__ import annotations

import numpy as np

from surepath._checks import one_sigma
from surepath._types import IntArray
from surepath.errors import ProblemError
from surepath.model.families.ids import Family, check_seed, check_size, counts, register
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.model.rewards import Gaussian

BANDIT = Family("bandit", {"arms": "k"})
TREE = Family("tree", {"actions": "a", "horizon": "h"})
GRID = Family("grid", {"rows": "r", "columns": "c"})
LAYERED = Family("layered", {"states": "s", "actions": "a", "horizon": "h"})


@register(BANDIT)
def bandit(arms: int = 10, seed: int = 0, sigma: float = 1.0) -> Instance:
    """Build one stage, one state: a multi-armed bandit with means uniform on [0, 1].

    Example:
        >>> bandit(5).mdp.horizon
        1
    """
    counts(arms=arms)
    check_size(arms)
    sigma = one_sigma(sigma, ProblemError)
    rng = np.random.default_rng(np.random.SeedSequence([check_seed(seed)]))
    mdp = MDP.from_arrays(np.zeros((1, 1, arms), dtype=np.int64))
    return Instance(mdp, Gaussian(rng.random(arms), sigma), id=BANDIT.id(arms=arms, seed=seed, sigma=sigma))


@register(TREE)
def tree(actions: int = 2, horizon: int = 3, seed: int = 0, sigma: float = 1.0) -> Instance:
    """Build a full tree: every state has one arc into it, so no two plans meet again; means uniform on [0, 1].

    Example:
        >>> tree(2, 3).mdp.n_paths
        8
    """
    counts(actions=actions, horizon=horizon)
    check_size(horizon if actions == 1 else sum(actions**h for h in range(1, min(horizon, 64) + 1)))
    sigma = one_sigma(sigma, ProblemError)
    rng = np.random.default_rng(np.random.SeedSequence([check_seed(seed)]))
    widths = np.array([actions**h for h in range(horizon)], dtype=np.int64)
    n_nodes = int(widths.sum())
    stage_node = np.concatenate([[0], np.cumsum(widths)])
    # Node i of the tree in level order has the children 1 + i * actions + 0, 1, ...; the last level leads to the sink.
    target = np.minimum(1 + np.arange(n_nodes * actions), n_nodes)
    mdp = MDP(
        first=np.arange(n_nodes + 1) * actions,
        target=target,
        stage_node=stage_node,
        node_state=_places(widths),
        action=np.tile(np.arange(actions, dtype=np.int32), n_nodes),
    )
    name = TREE.id(actions=actions, horizon=horizon, seed=seed, sigma=sigma)
    return Instance(mdp, Gaussian(rng.random(mdp.n_arcs), sigma), id=name)


def _places(widths: IntArray) -> IntArray:
    """List 0 .. w - 1 for every width w, one after another."""
    return np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)


@register(GRID)
def grid(rows: int = 4, columns: int = 4, seed: int = 0, sigma: float = 0.1) -> Instance:
    """Build a grid of streets: go right (0) or down (1), from the top left corner to the bottom right, in least time.

    The state is the row; mean times are uniform on [0, 1], and their sum is minimised.

    Example:
        >>> grid(3, 3).mdp.n_paths, grid(3, 3).mdp.direction
        (6, 'minimize')
    """
    counts(rows=rows, columns=columns)
    if rows + columns < 3:
        raise ProblemError("a grid needs at least two crossings; give it more rows or columns")
    horizon = rows + columns - 2
    check_size(2 * horizon * rows)  # the table that it is built from
    sigma = one_sigma(sigma, ProblemError)
    rng = np.random.default_rng(np.random.SeedSequence([check_seed(seed)]))
    stage, row = np.arange(horizon)[:, None], np.arange(rows)[None, :]
    column = stage - row
    inside = (column >= 0) & (column < columns)
    next_state = np.stack([np.broadcast_to(row, (horizon, rows)), np.broadcast_to(row + 1, (horizon, rows))], axis=-1)
    available = np.stack([inside & (column < columns - 1), inside & (row < rows - 1)], axis=-1)
    mdp = MDP.from_arrays(next_state, available=available, direction="minimize")
    name = GRID.id(rows=rows, columns=columns, seed=seed, sigma=sigma)
    return Instance(mdp, Gaussian(rng.random(mdp.n_arcs), sigma), id=name)


@register(LAYERED)
def layered(states: int = 100, actions: int = 4, horizon: int = 50, seed: int = 0, sigma: float = 1.0) -> Instance:
    """Build a large random graph for scale: next states and means uniform, nothing rejected.

    Example:
        >>> layered(10, 2, 5).mdp.horizon
        5
    """
    counts(states=states, actions=actions, horizon=horizon)
    check_size(states * actions * horizon)
    sigma = one_sigma(sigma, ProblemError)
    rng = np.random.default_rng(np.random.SeedSequence([check_seed(seed)]))
    mdp = MDP.from_arrays(rng.integers(states, size=(horizon, states, actions), dtype=np.int32))
    name = LAYERED.id(states=states, actions=actions, horizon=horizon, seed=seed, sigma=sigma)
    return Instance(mdp, Gaussian(rng.random(mdp.n_arcs), sigma), id=name)
