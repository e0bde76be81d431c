"""The dynamic programs against enumeration of every path, with arcs closed at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP
from surepath.kernels.sweeps import backward, forward, graph_of, walk
from tests.naive.paths import all_paths
from tests.strategies import arc_values, mdps

pytestmark = pytest.mark.pure

cases = given(mdps(), st.integers(0, 1000), st.sampled_from(["uniform", "ties"]), st.sampled_from([0.3, 0.7, 1.0]))


def world(mdp: MDP, seed: int, kind: str, share: float) -> tuple[np.ndarray, np.ndarray, list[tuple[int, ...]]]:
    """Weights, passable arcs, and the paths that only use those."""
    weight = arc_values(mdp, seed, kind)
    passable = np.random.default_rng(seed).random(mdp.n_arcs) < share
    return weight, passable, [path for path in all_paths(mdp) if passable[list(path)].all()]


@cases
def test_backward_is_the_best_way_from_a_node_to_the_end(mdp: MDP, seed: int, kind: str, share: float) -> None:
    weight, passable, paths = world(mdp, seed, kind, share)
    value = np.empty(mdp.n_nodes + 1)
    backward(graph_of(mdp), weight, passable, value)
    assert value[mdp.n_nodes] == 0.0
    assert value[0] == pytest.approx(max((weight[list(path)].sum() for path in paths), default=-np.inf))
    for path in paths:
        for h, arc in enumerate(path):
            assert value[mdp.source[arc]] >= weight[list(path[h:])].sum() - 1e-12


@cases
def test_forward_is_the_best_way_from_the_start_to_a_node(mdp: MDP, seed: int, kind: str, share: float) -> None:
    weight, passable, paths = world(mdp, seed, kind, share)
    value = np.empty(mdp.n_nodes + 1)
    forward(graph_of(mdp), weight, passable, value)
    expected = np.full(mdp.n_nodes + 1, -np.inf)
    expected[0] = 0.0
    open_arcs = [arc for arc in range(mdp.n_arcs) if passable[arc]]
    for arc in open_arcs:  # arcs come in stage order, so every way into a source is already counted
        expected[mdp.target[arc]] = max(expected[mdp.target[arc]], expected[mdp.source[arc]] + weight[arc])
    assert value == pytest.approx(expected)
    assert value[mdp.n_nodes] == pytest.approx(max((weight[list(path)].sum() for path in paths), default=-np.inf))


@cases
def test_walk_follows_the_best_path_and_the_lowest_arc_in_a_tie(mdp: MDP, seed: int, kind: str, share: float) -> None:
    weight, passable, paths = world(mdp, seed, kind, share)
    if not paths:
        return
    graph, value, path = graph_of(mdp), np.empty(mdp.n_nodes + 1), np.empty(mdp.horizon, dtype=np.int64)
    backward(graph, weight, passable, value)
    walk(graph, weight, passable, value, path)
    best = max(weight[list(p)].sum() for p in paths)
    assert tuple(path) in paths
    assert weight[path].sum() == pytest.approx(best)
    if kind == "ties":  # sums of halves are exact: the first path in lexicographic order among the best
        assert tuple(path) == min(p for p in paths if weight[list(p)].sum() == best)
