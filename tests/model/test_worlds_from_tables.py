"""Worlds from arrays, tables of transitions and tabular environments: the same graph and means whichever way."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surepath import MDP, Instance
from surepath.errors import NotDeterministicError, ProblemError


@st.composite
def tables(draw: Any) -> tuple[Any, Any, Any]:
    """next_state, means and sigma, each [H, S, A]."""
    shape = tuple(draw(st.integers(1, 3)) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return rng.integers(shape[1], size=shape), rng.normal(size=shape), rng.uniform(0.1, 2.0, size=shape)


@given(tables())
def test_arrays_and_rows_give_one_world(found: tuple[Any, Any, Any]) -> None:
    next_state, means, sigma = found
    world = Instance.from_arrays(next_state, means, sigma)
    mdp = MDP.from_arrays(next_state)
    arcs = mdp.arcs
    assert world.means.tolist() == means[arcs.stage, arcs.state, arcs.action].tolist()
    assert world.mdp.sigma is not None
    assert world.mdp.sigma.tolist() == sigma[arcs.stage, arcs.state, arcs.action].tolist() == world.sigma.tolist()
    last = len(next_state) - 1
    rows = [
        {"stage": h, "state": int(s), "action": int(a), "next_state": None if h == last else int(next_state[h, s, a]),
         "mean": means[h, s, a], "sigma": sigma[h, s, a]}
        for h, s, a in zip(arcs.stage, arcs.state, arcs.action)
    ]  # fmt: skip
    same = Instance.from_edges(rows, source=0)
    assert same.optimal_return == world.optimal_return
    assert sorted(same.means) == sorted(world.means)
    assert same.value_of(same.best_path()) == world.value_of(world.best_path())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_of_transitions_is_a_world(library: str) -> None:
    frames: Any = pytest.importorskip(library)
    columns = {
        "state": ["start", "start", "a", "b"],
        "action": ["left", "right", "on", "on"],
        "next_state": ["a", "b", "end", "end"],
        "mean": [0.1, 0.2, 0.9, 0.3],
        "sigma": [0.5, None, None, None],
    }
    world = Instance.from_edges(frames.DataFrame(columns), sigma=0.25)
    assert world.optimal_return == 1.0
    assert world.sigma.tolist() == [0.5, 0.25, 0.25, 0.25]
    with pytest.raises(ProblemError, match=re.escape("a world to simulate needs a mean in every row")):
        Instance.from_edges(frames.DataFrame({key: columns[key] for key in ("state", "action", "next_state")}))


def test_a_tabular_environment_is_a_world() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    world = Instance.from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False), 6, sigma=0.1)
    assert (world.mdp.horizon, world.optimal_return) == (6, 1.0)  # the goal is six moves away
    found = MDP.from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False), 6)
    assert (world.mdp.n_arcs, world.mdp.n_nodes) == (found.n_arcs, found.n_nodes)
    cliff = Instance.from_gymnasium(gymnasium.make("CliffWalking-v1"), 13, sigma=0.1)
    assert cliff.optimal_return == -13.0
    with pytest.raises(NotDeterministicError, match="state 0, option 0 leads to several states by chance"):
        Instance.from_gymnasium(gymnasium.make("FrozenLake-v1"), 3)
    with pytest.raises(ProblemError, match=r"has no table of transitions P; MDP\.from_gymnasium"):
        Instance.from_gymnasium(gymnasium.make("CartPole-v1"), 3)


def test_a_sigma_of_another_shape_is_refused() -> None:
    with pytest.raises(ProblemError, match=re.escape("sigma as [H, S, A] must have shape (1, 1, 2); got (1, 2, 2)")):
        MDP.from_arrays([[[0, 0]]], sigma=np.ones((1, 2, 2)))
    assert MDP.from_arrays([[[0, 0]]], sigma=0.3).declared_sigma.tolist() == [0.3, 0.3]
