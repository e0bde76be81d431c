"""Scores of a trial that came to its end: one for every step whose score is not known anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surepath.model.mdp import MDP
from surepath.study.rows import steps


def with_known(mdp: MDP, path: Sequence[int], rewards: Any) -> Any:
    """Make room for steps whose score is known where they were left out of a list; anything else stays as it is.

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
    """Name the steps that have no score after the first `seen`; "" where none lacks one."""
    lacking = [name for name, arc in zip(steps(mdp)[seen:], list(path)[seen:]) if not mdp.is_known[arc]]
    return "" if not lacking else f"no score for step{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}"
