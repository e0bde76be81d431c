"""Best paths in NumPy, beside the list of all paths."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surepath import EPRL, MDP
from surepath.learners.own_rules import best_path, view_of
from surepath.model import paths
from tests.naive.paths import all_paths
from tests.strategies import mdps


def weights_of(mdp: MDP, seed: int) -> np.ndarray:
    """Small whole numbers, so that sums are exact and many tie, with some arcs closed; one path stays open."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(-3, 4, mdp.n_arcs).astype(float)
    weight[rng.random(mdp.n_arcs) < 0.2] = -np.inf
    weight[list(all_paths(mdp)[0])] = 1.0
    return weight


@given(mdps(), st.integers(0, 10_000))
def test_every_value_is_that_of_the_listed_paths(mdp: MDP, seed: int) -> None:
    weight, listed = weights_of(mdp, seed), all_paths(mdp)
    through = np.full(mdp.n_arcs, -np.inf)
    to_go, so_far = np.full(mdp.n_nodes + 1, -np.inf), np.full(mdp.n_nodes + 1, -np.inf)
    to_go[-1], so_far[0] = 0.0, 0.0
    for path in listed:
        for h, arc in enumerate(path):
            through[arc] = max(through[arc], weight[list(path)].sum())
            to_go[mdp.source[arc]] = max(to_go[mdp.source[arc]], weight[list(path[h:])].sum())
            so_far[mdp.target[arc]] = max(so_far[mdp.target[arc]], weight[list(path[: h + 1])].sum())
    np.testing.assert_array_equal(paths.values_to_go(mdp, weight), to_go)
    np.testing.assert_array_equal(paths.values_so_far(mdp, weight), so_far)
    np.testing.assert_array_equal(paths.values_through(mdp, weight), through)
    np.testing.assert_array_equal(paths.values_through(mdp, weight, to_go, so_far), through)
    best = min(listed, key=lambda path: (-weight[list(path)].sum(), path))
    assert paths.best_path(mdp, weight).tolist() == list(best)
    for end in np.flatnonzero(through > -np.inf).tolist():
        found = paths.best_path_through(mdp, weight, to_go, so_far, end)
        assert end in found
        assert weight[found].sum() == through[end]
    np.testing.assert_array_equal(paths.on_open_paths(mdp, weight > -np.inf), through > -np.inf)


@given(mdps(), st.integers(0, 10_000))
def test_a_rules_view_gives_the_same_paths(mdp: MDP, seed: int) -> None:
    view, weight, path = view_of(EPRL(mdp, 0.5, 0.1, 1.0)), weights_of(mdp, seed), np.zeros(mdp.horizon, dtype=np.int64)
    best_path(view, weight, path)
    np.testing.assert_array_equal(view.scratch, paths.values_to_go(mdp, weight))
    np.testing.assert_array_equal(path, paths.best_path(mdp, weight))
