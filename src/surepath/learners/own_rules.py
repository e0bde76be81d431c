"""Rules of your own: one function, compiled into the run.

A function gets a `RuleView`, arrays in arc order, turned so that larger is better. A sampling rule writes the H arcs to
play, an elimination rule marks arcs to drop, a stopping rule returns a truth value:

    def widest(view, path):
        best_path(view, view.widths, path)  # the path of the largest total width

    EPRL(mdp, epsilon=0.1, delta=0.05, sigma=0.1, sampling=widest)

What Numba cannot compile runs in Python, with a warning of its cost. Specs of `simulate` and of experiments name a
function, sampling="my_rules:widest"; nothing else imports by such a name, so that what a study, a certificate or a
request says is never imported. `surepath.check_rule` tries a rule on awkward graphs and says what is wrong with it.

The guarantee of EPRL and Challenger does not depend on the sampling rule, but whether they ever end does: a rule that
plays only what seems best leaves the others' intervals wide. The guarantee does depend on the other two: a wrong
elimination or stopping rule makes wrong answers.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from inspect import isroutine, signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray, Uint32Array
from surepath.errors import SettingError
from surepath.kernels.jit import helper_kernel, rule_kernel
from surepath.kernels.sweeps import layers_of
from surepath.model.mdp import MDP

if TYPE_CHECKING:
    from surepath.learners.base import Learner

UNSEEN = 1e100  # width of an arc that was never visited: outweighs everything, and sums of it stay numbers


class RuleView(NamedTuple):
    """Arrays for a function to read; larger is better. N arcs, H stages; nodes by stage, node 0 the start."""

    first: Uint32Array  # [nodes + 1] the arcs of node i are first[i] .. first[i + 1] - 1
    target: Uint32Array  # [N] the node that an arc leads to; after the last stage it is number `nodes`
    visits: IntArray  # [N] how often each arc was played
    means: FloatArray  # [N] mean reward so far; 0 where unvisited, the reward itself where known
    widths: FloatArray  # [N] half the confidence interval; UNSEEN where unvisited, 0 where known
    upper: FloatArray  # [N] means + widths
    lower: FloatArray  # [N] means - widths
    sigma: FloatArray  # [N] sub-Gaussian factor
    active: BoolArray  # [N] not eliminated
    passable: BoolArray  # [N] on a path of active arcs
    known: BoolArray  # [N] reward known in advance
    scratch: FloatArray  # [nodes + 1] written by `values` and `best_path`
    epsilon: float
    delta: float
    episodes: int  # played so far
    seed: int  # of this run; see `chance`


@helper_kernel
def values(view: RuleView, weights: FloatArray) -> float:
    """Return the largest sum of weights over passable arcs from the start; `view.scratch` has it from each node.

    -inf where no path goes on. Weights are finite, or -inf to close an arc.
    """
    first, target, passable = view.first, view.target, view.passable
    value, i, one = view.scratch, np.uint64(len(view.first) - 1), np.uint64(1)
    value[i] = 0.0
    stop = np.uint64(first[i])
    while i > np.uint64(0):
        i -= one
        start, best = np.uint64(first[i]), -np.inf
        for e in range(start, stop):
            x = weights[e] + value[target[e]]
            if x > best and passable[e]:
                best = x
        value[i] = best
        stop = start
    return float(value[np.uint64(0)])


@helper_kernel
def best_path(view: RuleView, weights: FloatArray, path: IntArray) -> None:
    """Write a path of passable arcs with the largest sum of weights, int [H]; the lowest arc wins a tie."""
    values(view, weights)
    first, target, passable = view.first, view.target, view.passable
    value, node = view.scratch, np.uint64(0)
    for h in range(len(path)):
        start, stop = np.uint64(first[node]), np.uint64(first[node + np.uint64(1)])
        best, path[h] = -np.inf, start
        for e in range(start, stop):
            x = weights[e] + value[target[e]]
            if x > best and passable[e]:
                best = x
                path[h] = e  # at once: the store keeps the branch, and the processor runs ahead on the likely path
        node = np.uint64(target[np.uint64(path[h])])


@helper_kernel
def chance(view: RuleView, number: int) -> float:
    """Return a number in [0, 1) drawn for (run, episode, number): the same when asked again."""
    z = np.uint64(view.seed) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(view.episodes) * np.uint64(0xD1342543DE82EF95)
    z += np.uint64(number + 1) * np.uint64(0xA0761D6478BD642F)
    for _ in range(2):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return float(z >> np.uint64(11)) * 2.0**-53


def view_of(learner: Learner) -> RuleView:
    """Copy what a learner knows into the arrays that a function reads, of the types that compiled runs use."""
    layers, widths = layers_of(learner.mdp), np.minimum(learner.widths_now(), UNSEEN)
    means = np.nan_to_num(learner.mdp.sign * learner.means)
    passable = learner.passable_now() & ~getattr(learner, "excluded", np.zeros(learner.mdp.n_arcs, dtype=np.bool_))
    under_way = len(getattr(learner, "_under_way", ()))
    seed = int((learner.rule_seed ^ (under_way * 0x9E3779B97F4A7C15)) % 2**63)
    copies = [learner.visits, means, widths, means + widths, means - widths, learner.sigma]
    copies += [learner.active, passable, learner.mdp.is_known, np.zeros(learner.mdp.n_nodes + 1)]
    arrays = [layers.first, layers.target, *map(np.array, copies)]
    return RuleView._make([*arrays, learner.epsilon, learner.delta, learner.episodes, seed])


# What a function writes into, by the role of its rule: arcs to play, marks to drop, or nothing (it returns its answer).
OUT: dict[str, str | None] = {"sampling": "int64", "elimination": "bool", "stopping": None}


class OwnRule:
    """A rule given as a function.

    Attributes:
        role: "sampling", "elimination" or "stopping".
        function: As it was given.
        compiled: The same, compiled; None where Numba cannot compile it.
    """

    def __init__(self, role: str, function: Callable[..., Any]) -> None:
        self.role, self.function = role, function
        self.label: str = getattr(function, "__name__", "rule")
        try:
            signature(function).bind(*(("view",) if OUT[role] is None else ("view", "out")))
        except TypeError:
            takes = {"sampling": "view, path", "elimination": "view, drop", "stopping": "view"}[role]
            raise SettingError(f"{self.label}: a {role} rule must take ({takes}), not {signature(function)}") from None
        self.compiled, why = compiled(function, OUT[role])
        self.reference: Any = reference_of(function) or function  # "module:function" where that can be imported
        if self.compiled is None:
            warnings.warn(
                f"{self.label} runs in Python, about a thousand times slower than compiled: Numba says {why}",
                stacklevel=4,
            )

    def answer(self, learner: Learner) -> Any:
        """Return the path to play, int [H], the marks of the arcs to drop, bool [N], or whether to stop."""
        view, call, out = view_of(learner), self.compiled or self.function, OUT[self.role]
        if out is None:
            return bool(call(view))
        answer = np.zeros(learner.mdp.horizon if self.role == "sampling" else learner.mdp.n_arcs, dtype=out)
        call(view, answer)
        return answer

    def path(self, learner: Learner) -> IntArray:
        """Return the path to play; one that is none, or uses what was excluded, is refused."""
        path = learner.mdp.check_path(self.answer(learner))
        excluded = getattr(learner, "excluded", None)
        for arc in [] if excluded is None else path[excluded[path]].tolist():
            arc_words = learner.mdp.describe_arc(arc)
            raise SettingError(f"{self.label} returned {arc_words}, which was excluded; best_path leaves it out")
        return path

    def __deepcopy__(self, memo: Any) -> OwnRule:
        return self

    def __reduce__(self) -> Any:
        return type(self), (self.role, self.function)


def own_rule(role: str, value: Any) -> OwnRule | None:
    """Return a rule of the user's own; None for what is no function."""
    if isinstance(value, OwnRule):
        return value
    function = getattr(value, "py_func", value)  # of one that Numba compiled already
    if isroutine(function):
        return OwnRule(role, function)
    if callable(value):
        raise SettingError(f"{role} must be a name or a function (view, ...), not {type(value).__name__}")
    return None


@lru_cache(maxsize=64)
def compiled(function: Callable[..., Any], out: str | None) -> tuple[Any, str]:
    """Compile a rule for its arguments; return it, or None and what Numba says."""
    from numba import typeof

    found: Any = rule_kernel(function)
    if found is function:  # NUMBA_DISABLE_JIT=1
        return found, ""
    ints, floats, flags = np.zeros(2, dtype=np.int64), np.zeros(2), np.zeros(2, dtype=np.bool_)
    arrays: list[Any] = [*layers_of(MDP.from_arrays([[[0, 0]]]))[:2], ints, *[floats] * 5, *[flags] * 3, floats]
    view = RuleView._make([*arrays, 0.1, 0.1, 0, 0])
    given = (view,) if out is None else (view, np.zeros(1, dtype=out))
    try:
        found.compile(tuple(typeof(part) for part in given))
    except Exception as cause:  # an unknown bytecode is no NumbaError
        lines = [line.strip() for line in re.sub(r"\x1b\[\d*m", "", str(cause)).splitlines() if line.strip()]
        place = next((f", {line}" for line in lines if line.startswith("File ")), "")
        return None, lines[min(1, len(lines) - 1)].rstrip(":") + place.rstrip(":")
    return found, ""


def reference_of(function: Any) -> str | None:
    """Return the "module:function" by which a function can be imported, or None."""
    module, name = getattr(function, "__module__", "__main__"), getattr(function, "__qualname__", "")
    if module in (None, "__main__") or "<" in name:
        return None
    try:
        return f"{module}:{name}" if getattr(importlib.import_module(module), name, None) is function else None
    except ImportError:
        return None


def imported(what: str, text: str) -> Any:
    """Import "module:function": an installed module, or else one of the working directory; an error names both."""
    module, _, name = text.partition(":")
    folder = os.getcwd()
    sys.path.append(folder)  # last: it hides nothing that is installed
    try:
        found = getattr(importlib.import_module(module), name, None)
    except (ImportError, ValueError) as cause:
        raise SettingError(
            f"{what} {text!r}: {cause}; the module must be installed, on PYTHONPATH or in the working directory"
        ) from None
    finally:
        sys.path.remove(folder)
    if not callable(found):
        raise SettingError(f"{what} {text!r}: the module {module} has no function {name!r}")
    return found


def with_rules(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a spec with the functions that it names as "module:function"."""
    found = dict(settings)
    for what in OUT:
        if isinstance(text := settings.get(what), str) and ":" in text:
            found[what] = rule = own_rule(what, imported(what, text))
            assert rule is not None
            rule.reference, rule.label = text, text.rpartition(":")[2]  # a lambda does not know its name
    return found


def storable(what: str, value: Any) -> Any:
    """Return a setting as a spec keeps it: a function by its "module:function"; refuse what no worker can rebuild."""
    function = value.function if isinstance(value, OwnRule) else value
    if not callable(function):
        return value
    found, name = reference_of(function), getattr(function, "__name__", type(function).__name__)
    if found is None:
        raise SettingError(
            f"{what} {name} cannot be rebuilt in a worker; put the rule into a module as a function and write "
            f'{what} = "module:{name}"'
        )
    return found
