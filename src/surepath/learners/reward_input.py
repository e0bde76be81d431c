"""Read the rewards of an episode: H numbers, or a mapping by stage, checked before a learner changes.

`read_rewards` makes a float64 array of the k rewards seen, in the user's own direction; k < H says that the
episode failed at stage k, so that nothing from there on was seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import LARGEST
from surepath._numbers import NotNumbersError, read_numbers, shortened
from surepath._text import word
from surepath._types import FloatArray, IntArray
from surepath.errors import RewardError
from surepath.model.mdp import MDP
from surepath.model.plans import step_in_words, step_number

Rewards = ArrayLike | Mapping[Any, Any]


def read_rewards(mdp: MDP, path: IntArray, rewards: Rewards) -> FloatArray:
    """Return the rewards of a play of `path` as float64 [k], k <= H, or raise an error that names the stage.

    Args:
        mdp: The graph.
        path: The arcs that were played, int [H], already checked.
        rewards: One number per stage, fewer when the episode failed on the way, or {stage: reward} with stages by
            name or by number. True and False count as 1 and 0. Values on arcs whose reward is known are ignored, may be
            NaN, and may be left out of a mapping.

    Example:
        >>> mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
        >>> read_rewards(mdp, np.array([0, 2]), {0: 0.5, 1: True}).tolist()
        [0.5, 1.0]
        >>> read_rewards(mdp, np.array([0, 2]), [0.5]).tolist()
        [0.5]
    """
    if isinstance(rewards, Mapping):
        array = _numbers(mdp, _in_order(mdp, path, rewards))
    else:
        array = _numbers(mdp, rewards)
    arcs = path[: len(array)]
    if mdp.known is not None:
        known = mdp.is_known[arcs]
        array[known] = mdp.known[arcs][known]
    if not (np.abs(array) <= LARGEST).all():  # false for NaN too
        _refuse_size(mdp, array)
    if mdp.reward_range is not None:
        low, high = (side[arcs] for side in mdp.reward_range)
        outside = (array < low) | (array > high)
        for h in np.flatnonzero(outside & ~mdp.is_known[arcs]).tolist():
            span, step = f"[{low[h]:g}, {high[h]:g}]", step_in_words(mdp, h)
            where = mdp.describe_arc(int(arcs[h]))
            raise RewardError(
                word(
                    f"the reward {float(array[h])!r} at {step} lies outside the declared range {span} of {where}",
                    f"the score {float(array[h])!r} of {step} lies outside its range {span}",
                )
            )
    return array


def _at(mdp: MDP, stage: int) -> str:
    """Name the reward of a stage: "the reward at stage 1 ('answer')", to users "the score of step 'answer'"."""
    return f"the {word('reward at', 'score of')} {step_in_words(mdp, stage)}"


def _refuse_size(mdp: MDP, array: FloatArray) -> None:
    h, name = int(np.flatnonzero(~(np.abs(array) <= LARGEST))[0]), word("reward", "score")
    if not np.isfinite(array[h]):
        raise RewardError(
            f"{_at(mdp, h)} is {array[h]}; {name}s must be finite. "
            f"A failed step is not a {name}: "
            + word("tell only the rewards before it", "report a failed trial, with the scores before it")
        )
    raise RewardError(f"{_at(mdp, h)} is {array[h]:g}; {name}s must lie within {LARGEST:g} of 0")


def _numbers(mdp: MDP, rewards: Any) -> FloatArray:
    horizon, name, each = mdp.horizon, word("rewards", "scores"), word("one per stage", "one per step")
    wanted = "one number" if horizon == 1 else f"{horizon} numbers"
    if horizon == 1 and np.ndim(rewards) == 0:
        rewards = [rewards]
    try:
        array = read_numbers(rewards, booleans=True)
    except NotNumbersError as cause:
        if cause.place is not None and cause.place < horizon:
            at = _at(mdp, cause.place)
            raise RewardError(f"{at} must be a number, not {cause}; got {shortened(rewards)}") from None
        raise RewardError(f"{name} must be {wanted}, not {cause}; got {shortened(rewards)}") from None
    if array.ndim != 1:
        raise RewardError(f"{name} must be {wanted}, {each}; got shape {array.shape}")
    if len(array) > horizon:
        raise RewardError(f"{name} must be {wanted}, {each}, or fewer; got {len(array)}")
    return array


def _in_order(mdp: MDP, path: IntArray, rewards: Mapping[Any, Any]) -> list[Any]:
    """List the values of a mapping stage by stage, with NaN at known arcs that it leaves out."""
    given: dict[int, Any] = {}
    for key, value in rewards.items():
        stage = step_number(mdp, key, RewardError)
        if stage in given:
            raise RewardError(f"the {word('rewards', 'scores')} name {step_in_words(mdp, stage)} twice")
        if isinstance(value, (list, tuple, Mapping)) or np.ndim(value):
            raise RewardError(f"{_at(mdp, stage)} must be one number, not {shortened(value)}")
        given[stage] = value
    last = max(given, default=-1)
    if given and mdp.is_known[path[last + 1 :]].all():
        last = mdp.horizon - 1  # nothing is left to see
    for stage in range(last + 1):
        if stage not in given and not mdp.is_known[path[stage]]:
            raise RewardError(
                f"the {word('rewards', 'scores')} name {step_in_words(mdp, last)} but not {step_in_words(mdp, stage)}; "
                f"tell every {word('stage', 'step')} up to the one where the {word('episode', 'trial')} failed"
            )
    return [given.get(stage, np.nan) for stage in range(last + 1)]
