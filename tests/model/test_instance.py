"""Instances: best return, best path and regret against enumeration; identity by content."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP, Gaussian, Instance
from tests.naive.paths import all_paths
from tests.strategies import arc_values, mdps

pytestmark = pytest.mark.pure


@given(mdps(), st.integers(0, 1000), st.sampled_from(["uniform", "ties"]), st.sampled_from(["maximize", "minimize"]))
def test_best_path_and_regret_match_enumeration(world: MDP, seed: int, kind: str, direction: str) -> None:
    arcs = world.arcs
    shape = (world.horizon, int(arcs.state.max()) + 1, int(arcs.action.max()) + 1)
    table, available = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    available[arcs.stage, arcs.state, arcs.action] = True
    inner = world.target < world.n_nodes
    table[arcs.stage[inner], arcs.state[inner], arcs.action[inner]] = world.node_state[world.target[inner]]
    mdp = MDP.from_arrays(table, int(world.node_state[0]), available, direction=direction)
    instance = Instance(mdp, Gaussian(arc_values(mdp, seed, kind)))
    returns = {path: instance.means[list(path)].sum() for path in all_paths(mdp)}
    best = (max if direction == "maximize" else min)(returns.values())
    assert instance.optimal_return == pytest.approx(best)
    assert instance.value_of(instance.best_path()) == pytest.approx(best)
    for path, value in returns.items():
        assert instance.value_of(path) == pytest.approx(value)
        assert instance.regret_of(path) == pytest.approx(abs(best - value))


def test_equal_content_is_equal() -> None:
    mdp = MDP.from_arrays([[[0, 0]]])
    one, two = Instance(mdp, Gaussian([0.1, 0.2])), Instance(mdp, Gaussian(np.array([0.1, 0.2])))
    assert one == two
    assert hash(one) == hash(two)
    assert one != Instance(mdp, Gaussian([0.1, 0.3]))
    with pytest.raises(ValueError, match="read-only"):
        one.means[0] = 1.0
