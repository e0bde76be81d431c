"""Paths and plans of a problem: how they are checked, named, priced and drawn in text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import (
    LARGEST,
    BoolArray,
    FloatArray,
    IntArray,
    is_real,
    is_whole,
    per_arc,
    real,
    repeated,
    suggest,
)
from surepath.errors import ProblemError, SettingError, SurepathError

if TYPE_CHECKING:
    from surepath.model.mdp import MDP


# Paths ----------------------------------------------------------------------------------------------------------------
# Paths of a graph: the best one, how many there are, even shares of the plays, and whether one is a path at all.
#
# Dynamic programs go one stage at a time; this is the one place in NumPy for the best path and the number of paths,
# but for `verify/bound.py`, which shares nothing with what it checks.
#
# Weights are one number per arc; -inf closes an arc. Where two paths tie, the lowest arc wins.


def values_to_go(mdp: MDP, weight: FloatArray) -> FloatArray:
    """Compute the largest weight of a path from each node to the sink, float [n_nodes + 1]; -inf where none is open."""
    value = np.zeros(mdp.n_nodes + 1)
    for h in range(mdp.horizon - 1, -1, -1):
        low, high = mdp.stage_node[h], mdp.stage_node[h + 1]
        arcs = slice(mdp.first[low], mdp.first[high])
        through = weight[arcs] + value[mdp.target[arcs]]
        value[low:high] = np.maximum.reduceat(through, mdp.first[low:high] - arcs.start)
    return value


def values_so_far(mdp: MDP, weight: FloatArray) -> FloatArray:
    """Compute the largest weight of a path from the start to each node, float [n_nodes + 1]; -inf if none is open."""
    value = np.full(mdp.n_nodes + 1, -np.inf)
    value[0] = 0.0
    for h in range(mdp.horizon):
        arcs = slice(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        np.maximum.at(value, mdp.target[arcs], value[mdp.source[arcs]] + weight[arcs])
    return value


def values_through(
    mdp: MDP, weight: FloatArray, to_go: FloatArray | None = None, so_far: FloatArray | None = None
) -> FloatArray:
    """Compute the largest weight of a path through each arc, float [N]; -inf if none is open.

    Both passes may be given where they are already computed.
    """
    to_go = values_to_go(mdp, weight) if to_go is None else to_go
    so_far = values_so_far(mdp, weight) if so_far is None else so_far
    return so_far[mdp.source] + weight + to_go[mdp.target]


def follow(mdp: MDP, weight: FloatArray, to_go: FloatArray, node: int = 0) -> IntArray:
    """Follow the best arcs from a node to the sink, given `values_to_go`."""
    path = []
    while node < mdp.n_nodes:
        low, high = int(mdp.first[node]), int(mdp.first[node + 1])
        path.append(low + int(np.argmax(weight[low:high] + to_go[mdp.target[low:high]])))
        node = int(mdp.target[path[-1]])
    return np.array(path, dtype=np.int64)


def best_path(mdp: MDP, weight: FloatArray) -> IntArray:
    """Find the path of largest weight, int [H]."""
    return follow(mdp, weight, values_to_go(mdp, weight))


def best_path_through(mdp: MDP, weight: FloatArray, to_go: FloatArray, so_far: FloatArray, arc: int) -> IntArray:
    """Find the path of largest weight through one arc, given both passes, int [H]."""
    back, node = [arc], int(mdp.source[arc])
    for h in range(stage_of(mdp, arc) - 1, -1, -1):
        arcs = np.arange(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        arcs = arcs[mdp.target[arcs] == node]
        back.append(int(arcs[np.argmax(so_far[mdp.source[arcs]] + weight[arcs])]))
        node = int(mdp.source[back[-1]])
    onward = follow(mdp, weight, to_go, int(mdp.target[arc]))
    return np.concatenate([np.array(back[::-1], dtype=np.int64), onward])


def stage_of(mdp: MDP, arc: int) -> int:
    """Find the stage of an arc."""
    return int(np.searchsorted(mdp.stage_arc, arc, side="right")) - 1


def on_open_paths(mdp: MDP, open_arcs: BoolArray) -> BoolArray:
    """Return which arcs lie on a path of open arcs from the start to the sink, bool [N]."""
    return values_through(mdp, np.where(open_arcs, 0.0, -np.inf)) > -np.inf


def every_path(mdp: MDP) -> IntArray:
    """List all paths, int [P, H], in lexicographic order of arcs."""
    paths, node = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for _ in range(mdp.horizon):
        low = mdp.first[node]
        degree = mdp.first[node + 1] - low
        row = np.repeat(np.arange(len(node)), degree)
        arc = low[row] + np.arange(len(row)) - np.repeat(np.cumsum(degree) - degree, degree)
        paths, node = np.column_stack([paths[row], arc]), mdp.target[arc]
    return np.ascontiguousarray(paths)


def log_number_of_paths(mdp: MDP) -> float:
    """Return the natural logarithm of the number of paths, by one backward log-sum-exp sweep over the stages."""
    value = np.zeros(mdp.n_nodes + 1)
    for h in range(mdp.horizon - 1, -1, -1):
        low, high = mdp.stage_node[h], mdp.stage_node[h + 1]
        ahead = value[mdp.target[mdp.first[low] : mdp.first[high]]]
        top = ahead.max()
        sums = np.add.reduceat(np.exp(ahead - top), mdp.first[low:high] - mdp.first[low])
        # A node far below the others of its stage may underflow: fall back on a shift of its own.
        with np.errstate(divide="ignore"):
            value[low:high] = top + np.log(sums)
        for i in np.flatnonzero(~np.isfinite(value[low:high])):
            own = value[mdp.target[mdp.first[low + i] : mdp.first[low + i + 1]]]
            value[low + i] = own.max() + np.log(np.exp(own - own.max()).sum())
    return float(value[0])


def paths_from(mdp: MDP) -> list[int]:
    """Count the paths from each node to the sink exactly, n_nodes + 1 numbers of any size."""
    count = [0] * mdp.n_nodes + [1]
    for node in range(mdp.n_nodes - 1, -1, -1):
        arcs = range(int(mdp.first[node]), int(mdp.first[node + 1]))
        count[node] = sum(count[int(mdp.target[e])] for e in arcs)
    return count


def even_flow(mdp: MDP) -> FloatArray:
    """Return the part of the plays through each arc when every state picks its actions evenly, float [N]."""
    at_node, share, degree = np.zeros(mdp.n_nodes + 1), np.zeros(mdp.n_arcs), np.diff(mdp.first)
    at_node[0] = 1.0
    for h in range(mdp.horizon):
        arcs = slice(mdp.stage_arc[h], mdp.stage_arc[h + 1])
        source = mdp.source[arcs]
        share[arcs] = at_node[source] / degree[source]
        np.add.at(at_node, mdp.target[arcs], share[arcs])
    return share


# Costs ----------------------------------------------------------------------------------------------------------------
# Known costs of options: what a trial of a plan spends, and what a plan's worth loses by it where the user says so.
#
# An arc may have a cost, money or time, known in advance. The price of a path is the sum of its arcs' costs. With a
# weight w > 0 the worth of a step is its score minus w times its cost; where scores are to be minimised, it is the
# score plus w times its cost, and less is better. Inside, where larger is better, both are one rule:
#
#     gain = sign * score - w * cost.
#
# A known shift of a reward changes neither its noise nor the width of its range, so every bound holds unchanged. What
# is told and kept is the score alone; the shift is made where a learner takes it in.


def check_costs(costs: Any, n_arcs: int) -> FloatArray | None:
    """Return the cost of each arc, float [N]; None where nothing costs anything."""
    if costs is None:
        return None
    array = per_arc("cost", costs, n_arcs, error=ProblemError)
    if array.min() < 0:
        raise ProblemError(f"a cost is a number of at least 0, not {array.min():g}")
    return array if array.any() else None


def check_weight(weight: Any, cost: FloatArray | None) -> float:
    """Return the weight of costs in a plan's worth: at least 0, and 0 where nothing costs anything."""
    number = real("cost_weight", weight, error=ProblemError)
    if number < 0:
        raise ProblemError(f"cost_weight says what one unit of cost takes from the score: at least 0, not {number:g}")
    if number > 0 and cost is None:
        raise ProblemError(f"cost_weight is {number:g}, but no option has a cost")
    if cost is not None and number * float(cost.max()) > LARGEST:
        raise ProblemError(f"cost_weight times a cost must lie within {LARGEST:g} of 0")
    return number


def step_costs(costs: Any, named: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, float]]:
    """Read {step: {option: cost}} or {step: cost}; what is not named costs nothing."""
    if not isinstance(costs, Mapping):
        raise ProblemError(f"costs must be a mapping {{step: {{option: cost}}}}, not {costs!r}")
    found: dict[str, dict[str, float]] = {}
    for step, own in costs.items():
        if step not in named:
            raise ProblemError(f"costs names no step {step!r}{suggest(str(step), list(named))}")
        options = set(named[step])
        table = own if isinstance(own, Mapping) else dict.fromkeys(named[step], own)
        found[step] = {}
        for option, cost in table.items():
            if str(option) not in options:
                raise ProblemError(f"step {step!r} has no option {str(option)!r}{suggest(str(option), named[step])}")
            number = real(f"the cost of {step}={option}", cost, error=ProblemError)
            if number < 0:
                raise ProblemError(f"the cost of {step}={option} must be a number of at least 0, not {number:g}")
            found[step][str(option)] = number
    return found


def in_words(mdp: MDP) -> str:
    """Say how a plan's worth is made; nothing where it is the score."""
    if mdp.charge is None:
        return ""
    weight = "" if mdp.cost_weight == 1 else f"{mdp.cost_weight:g} x "
    return f"worth = score {'-' if mdp.sign > 0 else '+'} {weight}cost"


# Plans ----------------------------------------------------------------------------------------------------------------
# Plans, steps and options by name.

Plan = dict[str | int, str | int]

SHOWN = 20  # options that a message lists


def plan_in_words(plan: Mapping[Any, Any]) -> str:
    """Write a plan on one line; steps without names count from 1.

    Example:
        >>> plan_in_words({"model": "large", "prompt": "long"})
        'model=large, prompt=long'
    """
    return ", ".join(f"{f'step {k + 1}' if isinstance(k, int) else k}={option}" for k, option in plan.items())


def step_number(mdp: MDP, key: Any, error: type[SurepathError]) -> int:
    """Return the stage of a step, given by its name or number."""
    labels = mdp.step_labels
    number = chosen_number(key, labels, "step", error)
    if number is not None and 0 <= number < mdp.horizon:
        return number
    if labels is not None:
        raise error(f"no step is called {key!r}{suggest(str(key), labels[:50])}")
    raise error(f"no step has the key {key!r}; steps without names have the keys 0..{mdp.horizon - 1}")


def step_in_words(mdp: MDP, stage: int) -> str:
    """Name a step in messages: "step 'answer'", or "step 2", counted from 1, where steps have no names."""
    return f"step {stage + 1}" if mdp.step_labels is None else f"step {mdp.step_labels[stage]!r}"


def step_and_key(mdp: MDP, stage: int) -> str:
    """Name a step where people give it by a key: "step 'answer'", or "step 2 (its key is 1)"."""
    return step_in_words(mdp, stage) + (f" (its key is {stage})" if mdp.step_labels is None else "")


def step_names(mdp: MDP) -> tuple[str, ...]:
    """Name all steps as people read them: their names, or "step 1", "step 2", ..."""
    return mdp.step_labels or tuple(f"step {stage + 1}" for stage in range(mdp.horizon))


def check_step_labels(labels: Any, horizon: int) -> tuple[str, ...] | None:
    """Check the names of the steps: one each, text, none empty, none twice."""
    if labels is None:
        return None
    if isinstance(labels, str) or not isinstance(labels, (list, tuple)):
        raise ProblemError(f"the names of steps must be a list of texts, not {labels!r}")
    for label in labels:
        if not isinstance(label, str) or not label:
            raise ProblemError(f"the name of a step must be text and not empty, not {label!r}")
    if len(labels) != horizon:
        raise ProblemError(f"there are {horizon} steps but {len(labels)} names of steps; give one per step")
    twice = repeated(labels)
    if twice is not None:
        raise ProblemError(f"two steps are both called {twice!r}; names of steps differ")
    return tuple(str(label) for label in labels)


def number_name(value: Any) -> str:
    """Return an option as its name: a text is its own, a number the shortest text that reads back as it, as "0.2"."""
    return repr(float(value)) if is_real(value) and not is_whole(value) else str(value)


def named_number(name: str, labels: tuple[str, ...] | None) -> int | None:
    """Return the number behind a name, or None; without names a text may be the number itself."""
    if labels is None:
        return int(name) if name.isascii() and name.isdigit() and len(name) < 19 else None
    return labels.index(name) if name in labels else None


def chosen_number(key: Any, labels: tuple[str, ...] | None, what: str, error: type[SurepathError]) -> int | None:
    """Return the number behind a name or a number, or None. Text is a name, where there are names."""
    if isinstance(key, str) or (labels is not None and what == "option" and is_real(key) and not is_whole(key)):
        return named_number(number_name(key), labels)
    if not is_whole(key):
        raise error(f"a plan names each {what} by text or by a whole number, not {key!r}")
    number, text = int(key), str(int(key))
    called = None if labels is None else named_number(text, labels)
    if called is None or called == number:
        return number
    if 0 <= number < len(labels or ()):
        raise error(f"{number} may be the {what} number {number} or the one called {text!r}; write the name as text")
    return called  # [256, 512] given as numbers, when only names of that kind exist


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
            raise SettingError("name options as {step: option}, not as an empty mapping")
        return np.concatenate([_named_arcs(mdp, step, name) for step, name in option.items()])
    arcs = np.atleast_1d(np.asarray(option))
    if arcs.ndim != 1 or not arcs.size or arcs.dtype.kind not in "iu":
        raise SettingError(f"name options as {{step: option}}, or by arc numbers, not as {option!r}")
    if arcs.min() < 0 or arcs.max() >= mdp.n_arcs:
        raise SettingError(f"arc numbers run from 0 to {mdp.n_arcs - 1}; got {arcs.tolist()}")
    return arcs.astype(np.int64)


def _named_arcs(mdp: MDP, step: Any, name: Any) -> IntArray:
    if mdp.plans is not None and step in mdp.plans[0]:
        arcs, options, where = range(mdp.n_arcs), [plan[step] for plan in mdp.plans], f"step {step!r}"
    else:
        stage = step_number(mdp, step, SettingError)
        arcs, where = range(int(mdp.stage_arc[stage]), int(mdp.stage_arc[stage + 1])), step_in_words(mdp, stage)
        options = [mdp.action_label(arc) for arc in arcs]
    found = [arc for arc, option in zip(arcs, options) if option == str(name)]
    if not found:
        raise SettingError(f"{where} has no option {name!r}{suggest(str(name), dict.fromkeys(options[:1000]))}")
    return np.array(found, dtype=np.int64)
