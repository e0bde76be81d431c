"""An MDP from dense tables: next_state [H, S, A] and a mask of available actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import SMALLEST_SIGMA, per_arc
from surepath._numbers import NotNumbersError, is_whole, refuse_masks
from surepath._text import word
from surepath._types import AnyArray, BoolArray, FloatArray
from surepath.errors import ProblemError
from surepath.model.mdp import MDP


def from_arrays(
    next_state: ArrayLike,
    initial_state: int,
    available: ArrayLike | None,
    *,
    direction: str = "maximize",
    reward_range: tuple[ArrayLike, ArrayLike] | None = None,
) -> MDP:
    """Keep what can be reached from the initial state, stage by stage; O(H S A), no Python loop over states."""
    table = _table(next_state)
    horizon, n_states, n_actions = table.shape
    mask = _mask(available, table.shape)
    if not is_whole(initial_state):
        raise ProblemError(f"initial_state must be a whole number, not {initial_state!r}")
    if not 0 <= initial_state < n_states:
        raise ProblemError(f"initial_state must be a state 0..{n_states - 1}, not {initial_state}")

    states = np.array([initial_state], dtype=np.int64)
    node_states, degrees, actions, targets, stage_node = [], [], [], [], [0]
    for h in range(horizon):
        here = None if mask is None else mask[h, states]  # bool [reachable, A]
        if here is None:
            degree = np.full(len(states), n_actions, dtype=np.int64)
            action = np.tile(np.arange(n_actions, dtype=np.int32), len(states))
            ahead = table[h, states].ravel()
        else:
            degree = here.sum(axis=1).astype(np.int64)
            action = np.nonzero(here)[1].astype(np.int32)
            ahead = table[h, states][here]
        if not degree.all():
            state = int(states[np.flatnonzero(degree == 0)[0]])
            raise ProblemError(f"stage {h}, state {state} can be reached but has no available action")
        node_states.append(states)
        degrees.append(degree)
        actions.append(action)
        stage_node.append(stage_node[-1] + len(states))
        if h == horizon - 1:
            targets.append(np.full(len(action), stage_node[-1], dtype=np.int64))
            break
        bad = np.flatnonzero((ahead < 0) | (ahead >= n_states))
        if bad.size:
            at = int(bad[0])
            state = int(np.repeat(states, degree)[at])
            raise ProblemError(
                f"stage {h}, state {state}, action {int(action[at])} leads to state {int(ahead[at])}; "
                f"states are 0..{n_states - 1}"
            )
        reached = np.zeros(n_states, dtype=bool)
        reached[ahead] = True
        place = np.cumsum(reached, dtype=np.int64) + (stage_node[-1] - 1)
        targets.append(place[ahead])
        states = np.flatnonzero(reached)

    degree = np.concatenate(degrees)
    first = np.zeros(len(degree) + 1, dtype=np.int64)
    np.cumsum(degree, out=first[1:])
    limits = reward_limits(reward_range, int(first[-1]))
    return MDP(
        first=first,
        target=np.concatenate(targets),
        stage_node=np.array(stage_node, dtype=np.int64),
        node_state=np.concatenate(node_states),
        action=np.concatenate(actions),
        reward_range=limits,
        direction=direction,
        sizes=(n_states, n_actions),
    )


def _table(next_state: ArrayLike) -> AnyArray:
    _refuse_hidden("next_state", next_state)
    try:
        table = np.asarray(next_state)
    except ValueError as cause:
        raise ProblemError("next_state must be a full table of shape [H, S, A]; its rows differ in length") from cause
    if table.ndim != 3:
        raise ProblemError(f"next_state must have shape [H, S, A]; got shape {table.shape}")
    if table.dtype.kind not in "iu":
        raise ProblemError(f"next_state must hold whole numbers; got {table.dtype}")
    if 0 in table.shape:
        raise ProblemError(f"next_state needs at least one stage, state and action; got shape {table.shape}")
    return table


def reward_limits(given: tuple[ArrayLike, ArrayLike] | None, n_arcs: int) -> tuple[FloatArray, FloatArray] | None:
    """Check the lowest and highest reward of each arc, and return them as two float [N]."""
    if given is None:
        return None
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ProblemError(f"reward_range must be a pair (lowest, highest), not {given!r}")
    low, high = (
        per_arc(word("reward_range", name), side, n_arcs, error=ProblemError)
        for name, side in zip(("low", "high"), given)
    )
    bad = np.flatnonzero(low > high)
    if bad.size:
        arc, least, most = int(bad[0]), low[bad[0]], high[bad[0]]
        of_api = f"reward_range must not fall; arc {arc} has {least:g} to {most:g}"
        raise ProblemError(word(of_api, f"low must not exceed high, but {least:g} > {most:g}"))
    bad = np.flatnonzero((low < high) & (high - low < 2 * SMALLEST_SIGMA))
    if bad.size:
        arc, least, most, width = int(bad[0]), low[bad[0]], high[bad[0]], 2 * SMALLEST_SIGMA
        of_api = f"reward_range must be one value or at least {width:g} wide; arc {arc} has {least:g} to {most:g}"
        raise ProblemError(word(of_api, f"low and high must be equal or differ by {width:g} or more"))
    return low, high


def _refuse_hidden(what: str, table: object) -> None:
    try:
        refuse_masks(table)
    except NotNumbersError as cause:
        raise ProblemError(f"{what} holds {cause}; a table must be full") from None


def _mask(available: ArrayLike | None, shape: tuple[int, ...]) -> BoolArray | None:
    if available is None:
        return None
    _refuse_hidden("available", available)
    mask = np.asarray(available)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise ProblemError(f"available must be bool {list(shape)}; got {mask.dtype} {list(mask.shape)}")
    return mask
