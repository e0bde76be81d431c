"""Options as people name them: an arc, several arcs, or {step: option}."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surepath._checks import suggest
from surepath._types import IntArray
from surepath.errors import SettingError
from surepath.model.mdp import MDP
from surepath.model.plans import step_in_words, step_number


def option_arcs(mdp: MDP, option: Any) -> IntArray:
    """Find the arcs of an option, or raise an error that says what was expected.

    Args:
        mdp: The graph.
        option: An arc number, several of them, or {step: option}: that option of the step in every state.

    Example:
        >>> option_arcs(MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [0, 0]]]), {1: 0}).tolist()
        [2, 4]
    """
    if isinstance(option, Mapping):
        if not option:
            raise SettingError("an option is an arc number, several of them, or {step: option}, not an empty mapping")
        return np.concatenate([_named_arcs(mdp, step, name) for step, name in option.items()])
    arcs = np.atleast_1d(np.asarray(option))
    if arcs.ndim != 1 or not arcs.size or arcs.dtype.kind not in "iu":
        raise SettingError(f"an option is an arc number, several of them, or {{step: option}}, not {option!r}")
    if arcs.min() < 0 or arcs.max() >= mdp.n_arcs:
        raise SettingError(f"arc numbers run from 0 to {mdp.n_arcs - 1}; got {arcs.tolist()}")
    return arcs.astype(np.int64)


def _named_arcs(mdp: MDP, step: Any, name: Any) -> IntArray:
    stage = step_number(mdp, step, SettingError)
    arcs = range(int(mdp.stage_arc[stage]), int(mdp.stage_arc[stage + 1]))
    found = [arc for arc in arcs if mdp.action_label(arc) == str(name)]
    if not found:
        have = list(dict.fromkeys(mdp.action_label(arc) for arc in arcs[:1000]))
        raise SettingError(f"{step_in_words(mdp, stage)} has no option {name!r}{suggest(str(name), have)}")
    return np.array(found, dtype=np.int64)
