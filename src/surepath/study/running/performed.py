"""What came of performing a plan: its scores, one for every step whose score is not known anyway, or its failure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surepath.errors import RewardError
from surepath.learners.base import read_rewards
from surepath.model.mdp import MDP
from surepath.study.sheets.rows import steps
from surepath.study.trial import Trial


class Performed(NamedTuple):
    """What came of performing a plan: the rewards, and why it failed if it did."""

    rewards: Any
    note: str | None = None  # None when the trial came to its end
    error: BaseException | None = None
    wrong: str = ""  # why its rewards cannot be read, though it came to its end
    ended: str = "the function came to its end; where a trial fails, raise an error"


@dataclass(frozen=True)
class Outcome:
    """A trial that was recorded, as callbacks see it.

    Attributes:
        trial: Number, plan, path.
        state: "complete", "partial" or "failed".
        rewards: Those that were seen, in order of the steps.
        note: Why it failed, or "".
    """

    trial: Trial
    state: str
    rewards: tuple[float, ...]
    note: str = ""


def rewards_of(mdp: MDP, trial: Trial, performed: Performed) -> tuple[float, ...]:
    """Return the rewards seen; an error for what is no reward, and for too few from a trial that did not fail."""
    if performed.wrong:
        raise RewardError(performed.wrong)
    if performed.note is not None:
        return tuple(read_rewards(mdp, trial.path, performed.rewards).tolist())
    path = trial.path.tolist()
    found = tuple(read_rewards(mdp, trial.path, with_known(mdp, path, performed.rewards)).tolist())
    if lacking := missing(mdp, path, len(found)):
        raise RewardError(f"{lacking}, but {performed.ended}")
    return found


def with_known(mdp: MDP, path: Sequence[int], rewards: Any) -> Any:
    """Insert NaN for steps whose score is known where a list leaves them out; return anything else unchanged.

    A list may end where only known scores are left, or hold the scores of the other steps alone, in their order.

    Example:
        >>> mdp = MDP.from_steps({"a": ["x"], "b": ["y"], "c": ["z"]}, sigma=1.0, scores=["b"])
        >>> with_known(mdp, [0, 1, 2], [0.5]), with_known(mdp, [0, 1, 2], [7.0, 0.5])
        ([nan, 0.5, nan], [7.0, 0.5, nan])
    """
    if isinstance(rewards, np.ndarray) and rewards.ndim == 1:
        rewards = rewards.tolist()
    if not isinstance(rewards, (list, tuple)) or not 0 < len(rewards) < mdp.horizon:
        return rewards
    known = mdp.is_known[np.asarray(path, dtype=np.int64)]
    if known[len(rewards) :].all():
        return [*rewards, *[math.nan] * (mdp.horizon - len(rewards))]
    if len(rewards) == int((~known).sum()):
        own = iter(rewards)
        return [math.nan if free else next(own) for free in known.tolist()]
    return rewards


def missing(mdp: MDP, path: Sequence[int], seen: int) -> str:
    """Return the names of the steps that have no score after the first `seen`; "" where none lacks one."""
    lacking = [name for name, arc in zip(steps(mdp)[seen:], list(path)[seen:]) if not mdp.is_known[arc]]
    return "" if not lacking else f"no score for step{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}"
