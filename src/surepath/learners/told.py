"""What people say of rewards: how noisy they are, and the rewards themselves, as H numbers or by the names of steps.

Everything is checked here, before a learner changes. `told_rewards` makes a float64 array of the k rewards seen, in the
user's own direction; k < H says that the trial failed at stage k, so that nothing from there on was seen.
`Sizes` and `check_decidable` see to it that double precision holds what was told finely enough.
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
from surepath.errors import RewardError, SettingError, SurepathError
from surepath.model.mdp import MDP
from surepath.model.plans import step_in_words, step_number

Rewards = ArrayLike | Mapping[Any, Any]

# Rounding of one mean, relative to its size: the reward itself, its difference from the origin, sum, quotient.
ROUNDING = 2.0**-50


def declared_sigma(mdp: MDP, who: str) -> FloatArray:
    """Find the noise that a problem declares: its sigma, or half of its range (Hoeffding's lemma), float [N].

    An arc to learn that declares neither is refused: nothing can be proven of rewards whose noise has no bound.
    """
    missing = mdp.noise_missing(who)
    if missing is not None:
        raise SettingError(missing)
    return mdp.declared_sigma


def told_rewards(mdp: MDP, path: IntArray, rewards: Rewards) -> FloatArray:
    """Return the rewards of a play of `path` as float64 [k], k <= H, or an error that names the stage.

    Args:
        mdp: The graph.
        path: The arcs that were played, int [H], already checked.
        rewards: One number per stage, fewer when the trial failed on the way, or {step: reward} with steps by name or
            by number. True and False count as 1 and 0. Values on arcs whose reward is known are ignored, may be NaN,
            and may be left out of a mapping.

    Example:
        >>> mdp = MDP.from_arrays([[[0, 0]], [[0, 0]]])
        >>> told_rewards(mdp, np.array([0, 2]), {0: 0.5, 1: True}).tolist()
        [0.5, 1.0]
        >>> told_rewards(mdp, np.array([0, 2]), [0.5]).tolist()
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
            f"A failed step is not a {name}: tell only the {name}s before it"
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
    """Return the values of a mapping, stage by stage, with NaN at known arcs left out."""
    told: dict[int, Any] = {}
    for key, value in rewards.items():
        stage = step_number(mdp, key, RewardError)
        if stage in told:
            raise RewardError(f"the {word('rewards', 'scores')} name {step_in_words(mdp, stage)} twice")
        if isinstance(value, (list, tuple, Mapping)) or np.ndim(value):
            raise RewardError(f"{_at(mdp, stage)} must be one number, not {shortened(value)}")
        told[stage] = value
    last = max(told, default=-1)
    if told and mdp.is_known[path[last + 1 :]].all():
        last = mdp.horizon - 1  # nothing is left to see
    for stage in range(last + 1):
        if stage not in told and not mdp.is_known[path[stage]]:
            raise RewardError(
                f"the {word('rewards', 'scores')} name {step_in_words(mdp, last)} but not {step_in_words(mdp, stage)}; "
                f"tell every step up to the one where the trial failed"
            )
    return [told.get(stage, np.nan) for stage in range(last + 1)]


class Sizes:
    """How large the rewards of each stage are, which says how coarsely double precision holds them.

    Each reward is off by a few units of its size, and a difference of two plans by H times that. What else rounding
    does to sums is allowed for where something is decided.

    Attributes:
        low, high: Least and largest gain of each stage so far, float [H]; infinite where there is none.
    """

    def __init__(self, mdp: MDP) -> None:
        self.low: FloatArray = np.full(mdp.horizon, np.inf)
        self.high: FloatArray = np.full(mdp.horizon, -np.inf)
        if mdp.known is not None:
            arcs = np.flatnonzero(mdp.is_known)
            stage = np.searchsorted(mdp.stage_arc, arcs, side="right") - 1
            np.minimum.at(self.low, stage, mdp.known_gain[arcs])
            np.maximum.at(self.high, stage, mdp.known_gain[arcs])

    def with_gains(self, gains: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and largest gains after these, of the first stages, came in."""
        low, high = self.low.copy(), self.high.copy()
        low[: len(gains)] = np.minimum(low[: len(gains)], gains)
        high[: len(gains)] = np.maximum(high[: len(gains)], gains)
        return low, high


def rounding_of(low: FloatArray, high: FloatArray) -> float:
    """Bound what rounding of the rewards themselves can do to the difference of two plans in these ranges."""
    seen = high >= low
    if not seen.any():
        return 0.0
    return float(2.0**-49 * len(low) * np.maximum(np.abs(low[seen]), np.abs(high[seen])).max())


def check_decidable(
    mdp: MDP, low: FloatArray, high: FloatArray, epsilon: float, error: type[SurepathError] = RewardError
) -> None:
    """Refuse rewards so large that double precision cannot hold what epsilon asks for."""
    rounding = rounding_of(low, high)
    if epsilon > 0 and rounding > epsilon:
        sizes = np.where(high >= low, np.maximum(np.abs(low), np.abs(high)), 0.0)
        h = int(np.argmax(sizes))
        raise error(
            f"rewards of size {sizes[h]:g} at {step_in_words(mdp, h)} make the values of plans uncertain by "
            f"{rounding:.1g} in double precision, too coarse for epsilon {epsilon:g}; subtract the same amount from "
            f"all rewards of a step, or ask for a larger epsilon"
        )
