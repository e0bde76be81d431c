"""Paths and options by name: a plan is {step: option}, a path the same as arc numbers.

Who writes a plan uses the words of users, so messages about plans do too, in the API as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import repeated, suggest
from surepath._numbers import is_real, is_whole
from surepath._text import word
from surepath._types import IntArray
from surepath.errors import PathError, SettingError, SurepathError

if TYPE_CHECKING:
    from surepath.model.mdp import MDP

Plan = dict[str | int, str | int]

SHOWN = 20  # options that a message lists
WHOLE = "whole plan"  # the one step of a problem in which every plan is one option: it is scored at the end


def whole_label(plan: Mapping[str, str]) -> str:
    """Write a plan as the name of one option, so that `plan_of` can read it back."""
    return json.dumps(plan, ensure_ascii=False)


def _parts(mdp: MDP, arc: int) -> Plan | None:
    """Read the plan that an option names, where every plan is one option."""
    if mdp.step_labels != (WHOLE,) or mdp.action_labels is None:
        return None
    try:
        found = json.loads(mdp.action_label(arc))
    except ValueError:
        return None
    return dict(found) if isinstance(found, dict) else None


def plan_of(mdp: MDP, path: ArrayLike) -> Plan:
    """Return the option taken at each step of a path, under the names of steps and options, or their numbers."""
    arcs = mdp.check_path(path).tolist()
    if (parts := _parts(mdp, arcs[0])) is not None:
        return parts
    steps: tuple[str | int, ...] = mdp.step_labels or tuple(range(mdp.horizon))
    return {step: _option(mdp, arc) for step, arc in zip(steps, arcs)}


def plan_in_words(plan: Mapping[Any, Any]) -> str:
    """Write a plan on one line.

    Example:
        >>> plan_in_words({"model": "large", "prompt": "long"})
        'model=large, prompt=long'
    """
    return ", ".join(f"{step}={option}" for step, option in plan.items())


def path_of(mdp: MDP, plan: Mapping[Any, Any]) -> IntArray:
    """Return the arcs that a plan takes, int [H]; every step needs an option that its state has."""
    if not isinstance(plan, Mapping):
        raise PathError(f"a plan is a mapping {{step: option}}, not {plan!r}")
    first = _parts(mdp, 0)
    if first is not None and WHOLE not in plan:
        given = {str(step): number_name(option) for step, option in plan.items()}
        if given.keys() != first.keys():
            raise PathError(f"a plan here has the steps {', '.join(map(repr, first))}, not {plan!r}")
        plan = {WHOLE: whole_label({step: given[step] for step in map(str, first)})}
    taken: dict[int, Any] = {}
    for key, option in plan.items():
        stage = step_number(mdp, key, PathError)
        if stage in taken:
            raise PathError(f"the plan names {_step(mdp, stage)} twice")
        taken[stage] = option
    for stage in range(mdp.horizon):
        if stage not in taken:
            raise PathError(f"the plan lacks {_step(mdp, stage)}; it needs an option for every step")
    path, node = np.zeros(mdp.horizon, dtype=np.int64), 0
    for stage in range(mdp.horizon):
        path[stage] = _arc(mdp, stage, node, taken[stage])
        node = int(mdp.target[path[stage]])
    return path


def step_number(mdp: MDP, key: Any, error: type[SurepathError]) -> int:
    """Return the stage of a step, given by its name or number."""
    labels = mdp.step_labels
    number = _chosen(key, labels, mdp.label_index("step"), "step", error)
    if number is not None and 0 <= number < mdp.horizon:
        return number
    if labels is not None:
        raise error(f"no step is called {key!r}{suggest(str(key), labels[:50])}")
    raise error(f"there is no step {key!r}; steps have the numbers 0..{mdp.horizon - 1} here")


def step_in_words(mdp: MDP, stage: int) -> str:
    """Name a stage in messages: "stage 2", "stage 2 ('answer')" where steps have names; to users "step 'answer'"."""
    if word("stage", "step") == "step":
        return _step(mdp, stage)
    return f"stage {stage}" if mdp.step_labels is None else f"stage {stage} ({mdp.step_labels[stage]!r})"


def _step(mdp: MDP, stage: int) -> str:
    return f"step {stage}" if mdp.step_labels is None else f"step {mdp.step_labels[stage]!r}"


def check_step_labels(labels: Any, horizon: int, error: type[SurepathError]) -> tuple[str, ...] | None:
    """Check the names of the steps: one each, text, none empty, none twice."""
    if labels is None:
        return None
    if isinstance(labels, str) or not isinstance(labels, (list, tuple)):
        raise error(f"the names of steps must be a list of texts, not {labels!r}")
    for label in labels:
        if not isinstance(label, str) or not label:
            raise error(f"the name of a step must be text and not empty, not {label!r}")
    if len(labels) != horizon:
        raise error(f"there are {horizon} steps but {len(labels)} names of steps; give one per step")
    twice = repeated(labels)
    if twice is not None:
        raise error(f"two steps are both called {twice!r}; names of steps differ")
    return tuple(str(label) for label in labels)


def number_name(value: Any) -> str:
    """Return an option as its name: a text is its own, a number the shortest text that reads back as it, as "0.2"."""
    return repr(float(value)) if is_real(value) and not is_whole(value) else str(value)


def _option(mdp: MDP, arc: int) -> str | int:
    return int(mdp.action[arc]) if mdp.action_labels is None else mdp.action_label(arc)


def _arc(mdp: MDP, stage: int, node: int, option: Any) -> int:
    low, high = int(mdp.first[node]), int(mdp.first[node + 1])
    number = _chosen(option, mdp.action_labels, mdp.label_index("action"), "option", PathError)
    hits = np.flatnonzero(mdp.action[low:high] == number) if number is not None else np.zeros(0)
    if hits.size:
        return low + int(hits[0])
    have = [mdp.action_label(arc) for arc in range(low, min(high, low + SHOWN))]
    raise PathError(
        f"{_step(mdp, stage)} has no option {option!r} in state {mdp.state_label(node)!r}{suggest(str(option), have)}"
    )


def _chosen(
    key: Any, labels: tuple[str, ...] | None, index: Mapping[str, int], what: str, error: type[SurepathError]
) -> int | None:
    """Return the number behind a name or a number, or None. Text is a name, where there are names."""
    if isinstance(key, str) or (labels is not None and what == "option" and is_real(key) and not is_whole(key)):
        key = number_name(key)
        if labels is None:
            return int(key) if key.isascii() and key.isdigit() and len(key) < 19 else None
        return index.get(key)
    if not is_whole(key):
        raise error(f"a plan names each {what} by text or by a whole number, not {key!r}")
    number, text = int(key), str(int(key))
    if labels is None or text not in index or (0 <= number < len(labels) and labels[number] == text):
        return number
    if 0 <= number < len(labels):
        raise error(f"{number} may be the {what} number {number} or the one called {text!r}; write the name as text")
    return index[text]  # [256, 512] given as numbers, when only names of that kind exist


def option_arcs(mdp: MDP, option: Any) -> IntArray:
    """Find the arcs that an option names, or raise an error that says what was expected.

    Args:
        mdp: The graph.
        option: An arc number, several of them, or {step: option}: that option of the step in every state.

    Example:
        >>> from surepath import MDP
        >>> option_arcs(MDP.from_arrays([[[0, 1], [0, 1]], [[0, 0], [0, 0]]]), {1: 0}).tolist()
        [2, 4]
    """
    if isinstance(option, Mapping):
        if not option:
            raise SettingError(f"{_expected()}, not an empty mapping")
        return np.concatenate([_named_arcs(mdp, step, name) for step, name in option.items()])
    arcs = np.atleast_1d(np.asarray(option))
    if arcs.ndim != 1 or not arcs.size or arcs.dtype.kind not in "iu":
        raise SettingError(f"{_expected()}, not {option!r}")
    if arcs.min() < 0 or arcs.max() >= mdp.n_arcs:
        raise SettingError(f"arc numbers run from 0 to {mdp.n_arcs - 1}; got {arcs.tolist()}")
    return arcs.astype(np.int64)


def _expected() -> str:
    return word("give an arc number, several of them, or {stage: action}", "name options as {step: option}")


def _named_arcs(mdp: MDP, step: Any, name: Any) -> IntArray:
    stage = step_number(mdp, step, SettingError)
    arcs = range(int(mdp.stage_arc[stage]), int(mdp.stage_arc[stage + 1]))
    found = [arc for arc in arcs if mdp.action_label(arc) == str(name)]
    if not found:
        have = list(dict.fromkeys(mdp.action_label(arc) for arc in arcs[:1000]))
        raise SettingError(f"{_step(mdp, stage)} has no option {name!r}{suggest(str(name), have)}")
    return np.array(found, dtype=np.int64)
