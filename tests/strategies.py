"""Hypothesis strategies: small layered graphs with ties, parallel arcs, single paths and masked actions."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from surepath.model.mdp import MDP


@st.composite
def mdps(draw: st.DrawFn, max_states: int = 3, max_actions: int = 3, max_horizon: int = 4) -> MDP:
    """A random MDP; masked actions and unreachable states included."""
    states = draw(st.integers(1, max_states))
    actions = draw(st.integers(1, max_actions))
    horizon = draw(st.integers(1, max_horizon))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    next_state = rng.integers(states, size=(horizon, states, actions))
    available = rng.random((horizon, states, actions)) < draw(st.sampled_from([0.5, 0.8, 1.0]))
    available[..., 0] |= ~available.any(axis=-1)
    return MDP.from_arrays(next_state, initial_state=int(rng.integers(states)), available=available)


def arc_values(mdp: MDP, seed: int, kind: str = "uniform") -> np.ndarray:
    """Values for the arcs; "ties" draws from a handful of numbers so that equal returns are common."""
    rng = np.random.default_rng(seed)
    if kind == "ties":
        return rng.integers(0, 3, size=mdp.n_arcs).astype(float) / 2
    return rng.random(mdp.n_arcs)
