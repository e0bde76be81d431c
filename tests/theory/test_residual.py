"""The residual graph: its arcs, decreasing paths, and the theorem that a flow without one is minimum."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP
from surepath.errors import SettingError
from surepath.theory import decreasing_path, minimum_flow, residual_graph
from tests.naive.flows import has_decreasing_path, least_episodes
from tests.naive.paths import all_paths
from tests.strategies import mdps

seeds = st.integers(0, 2**32 - 1)


def some_flow(mdp: MDP, demand: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A wasteful flow that meets the demands: one path for each arc, and a few more."""
    paths = all_paths(mdp)
    flow = np.zeros(mdp.n_arcs)
    for e in np.flatnonzero(demand):
        through = [p for p in paths if e in p]
        flow[list(through[rng.integers(len(through))])] += demand[e]
    for p in paths[: rng.integers(3)]:
        flow[list(p)] += rng.integers(3)
    return flow


@pytest.mark.pure
@settings(max_examples=200, deadline=None)
@given(mdps(), seeds, st.booleans())
def test_pushing_along_decreasing_paths_ends_at_the_minimum(mdp: MDP, seed: int, limited: bool) -> None:
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 4, mdp.n_arcs).astype(float)
    flow = some_flow(mdp, demand, rng)
    capacity = flow + rng.integers(0, 3, mdp.n_arcs) if limited else None
    least = least_episodes(mdp, demand, capacity)
    assert least is not None
    for _ in range(1000):
        path = decreasing_path(mdp, flow, demand, capacity)
        value = flow[: mdp.first[1]].sum()
        assert (path is not None) == has_decreasing_path(mdp, flow, demand, capacity)
        assert (path is None) == (value <= least + 1e-6)
        if path is None:
            break
        assert (path[0].tail, path[-1].head) == (0, mdp.n_nodes)
        assert all(one.head == other.tail for one, other in pairwise(path))
        amount = min(e.capacity for e in path)
        flow = flow.copy()
        for e in path:
            flow[e.arc] += -amount if e.along else amount
        assert flow[: mdp.first[1]].sum() == pytest.approx(value - amount)
    assert flow[: mdp.first[1]].sum() == pytest.approx(minimum_flow(mdp, demand, capacity).value)


@pytest.mark.pure
@settings(max_examples=100, deadline=None)
@given(mdps(), seeds)
def test_the_residual_graph_lists_what_can_fall_and_what_can_rise(mdp: MDP, seed: int) -> None:
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 3, mdp.n_arcs).astype(float)
    flow = some_flow(mdp, demand, rng)
    capacity = flow + rng.integers(0, 2, mdp.n_arcs)
    found = {(e.arc, e.along): e for e in residual_graph(mdp, flow, demand, capacity)}
    for arc in range(mdp.n_arcs):
        ends = (int(mdp.source[arc]), int(mdp.target[arc]))
        for along, amount in ((True, flow[arc] - demand[arc]), (False, capacity[arc] - flow[arc])):
            if amount > 0:
                e = found.pop((arc, along))
                assert (e.tail, e.head, e.capacity) == ((*ends, amount) if along else (*ends[::-1], amount))
    assert not found


def test_what_is_no_flow_is_refused() -> None:
    mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
    with pytest.raises(SettingError, match=r"the flow of arc 1 .* is 0, below its demand 1"):
        residual_graph(mdp, [1, 0, 1, 0], [0, 1, 0, 0])
    with pytest.raises(SettingError, match=r"the flow of arc 0 .* is 2, above its capacity 1"):
        decreasing_path(mdp, [2, 0, 1, 1], 0, 1)
    with pytest.raises(SettingError, match="this is no flow"):
        residual_graph(mdp, [1, 0, 1, 1], 0)
