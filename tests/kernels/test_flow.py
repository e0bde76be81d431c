"""The flow kernels as other kernels see them: callable from compiled code, one signature each, covers that add up."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepath import MDP, Gaussian, Instance, theory
from surepath.kernels import flow
from surepath.kernels.jit import kernel
from surepath.kernels.sweeps import graph_of
from tests.kernels.compiled import compiled_only
from tests.strategies import mdps


@kernel
def cover_of(graph: Any, demand: Any, horizon: int) -> Any:  # a kernel of somebody else's
    spent = np.empty(len(demand), np.int64)
    in_cut = np.empty(len(graph.first) - 1, np.bool_)
    value = flow.minimum_flow(graph, demand, spent, in_cut)
    paths = np.empty((value, horizon), np.int64)
    flow.extract_cover(graph, spent, paths)
    return paths


@pytest.mark.pure
@settings(max_examples=80, deadline=None)
@given(mdps(max_states=4, max_actions=3, max_horizon=5), st.integers(0, 2**32 - 1))
def test_a_cover_from_compiled_code_adds_up_to_a_minimum_flow(mdp: MDP, seed: int) -> None:
    demand = np.random.default_rng(seed).integers(0, 3, mdp.n_arcs)
    paths = cover_of(graph_of(mdp), demand, mdp.horizon)
    for path in paths:
        mdp.check_path(path)
    assert (np.bincount(paths.ravel(), minlength=mdp.n_arcs) >= demand).all()
    assert len(paths) == theory.minimum_flow(mdp, demand, integer=True).value


@compiled_only
def test_one_signature_a_kernel() -> None:
    mdp = MDP.from_arrays([[[0, 1], [0, 1]], [[0, 1], [0, 1]], [[0, 0], [0, 0]]])
    instance = Instance(mdp, Gaussian(np.linspace(0, 1, mdp.n_arcs)))
    theory.minimum_flow(mdp, 1, integer=True)
    theory.minimum_flow(mdp, 0.5, 4)
    theory.minimum_flow(mdp, 1, np.full(mdp.n_arcs, 5.0), integer=True)
    theory.policy_cover(mdp, [0, 1])
    theory.characteristic_time(instance)
    seen = set()
    for module in (flow, sys.modules["surepath.theory.characteristic_time"]):
        for name, function in vars(module).items():
            if hasattr(function, "signatures") and function.py_func.__module__ == module.__name__:
                assert len(function.signatures) <= 1, f"{module.__name__}.{name}: {function.signatures}"
                seen |= {module.__name__} if function.signatures else set()
    assert len(seen) == 2
