"""Rules of your own: one function, compiled into the run; or a class in plain Python, slower and as free as you like.

A function gets a `RuleView`, arrays in arc order, turned so that larger is better, and stays within what Numba
compiles. A sampling rule writes the H arcs to play, an elimination rule marks arcs to drop, a stopping rule returns a
truth value:

    def widest(view, path):
        \"\"\"Play the path of the largest total width.\"\"\"
        best_path(view, view.widths, path)

    EPRL(mdp, epsilon=0.1, delta=0.05, sigma=0.1, sampling=widest)

Specs of `simulate` and of experiments name it, sampling="my_rules:widest"; nothing else imports by such a name, so that
what a study, a certificate or a request says is never imported.

A class has one method, which gets a `View` with the same facts and helpers. `surepath.check_rule` tries either on
awkward graphs and says what is wrong with it.

The guarantee of EPRL and Challenger does not depend on the sampling rule, but whether they ever end does: a rule that
plays only what seems best leaves the others' intervals wide. The guarantee does depend on the other two: a wrong
elimination or stopping rule makes wrong answers.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray, Uint32Array, frozen, one_of
from surepath.errors import SettingError
from surepath.kernels.jit import helper_kernel, rule_kernel
from surepath.kernels.sweeps import layers_of
from surepath.model.mdp import MDP
from surepath.model.paths import best_path as best_of
from surepath.model.paths import values_through, values_to_go

if TYPE_CHECKING:
    from surepath.learners.base import Learner


class View:
    """What a rule may read, in arc order; larger is better, whatever the direction of the problem.

    Attributes:
        mdp: The layered graph.
        epsilon, delta: As given to the learner.
        episodes: How many episodes have been played; the next one is number episodes + 1.
        visits: int [N].
        means: Empirical mean, 0 where unvisited, the known reward where known, float [N].
        widths: Half the confidence interval, infinite where unvisited, float [N].
        upper, lower: means + widths and means - widths, float [N].
        active: bool [N].
        passable: Arcs that active policies can use, bool [N].
        known: Arcs whose reward is known in advance, bool [N].
        excluded: Arcs that were excluded as infeasible; the helpers never use them, bool [N].
        sigma: Sub-Gaussian factor of each arc, float [N].
        rng: A random stream made of the learner's seed, the number of episodes and the plays under way: a rule that
            draws from it gives the same path when asked again.
    """

    def __init__(self, learner: Learner) -> None:
        self.mdp: MDP = learner.mdp
        self.epsilon, self.delta, self.episodes = learner.epsilon, learner.delta, learner.episodes
        self.known: BoolArray = learner.mdp.is_known
        self.visits: IntArray = _locked(learner.visits)
        self.means: FloatArray = _locked(np.nan_to_num(learner.mdp.sign * learner.means))
        self.sigma: FloatArray = _locked(learner.sigma)
        self.widths: FloatArray = _locked(learner.widths_now())
        self.upper: FloatArray = _locked(self.means + self.widths)
        self.lower: FloatArray = _locked(self.means - self.widths)
        self.active: BoolArray = _locked(learner.active)
        self.passable: BoolArray = _locked(learner.passable_now())
        self.excluded: BoolArray = _locked(getattr(learner, "excluded", np.zeros(learner.mdp.n_arcs, dtype=np.bool_)))
        self._stream = [learner.rule_seed, learner.episodes, len(getattr(learner, "_under_way", ()))]
        self._rng: np.random.Generator | None = None

    @property
    def rng(self) -> np.random.Generator:
        """Return the random stream of this view."""
        if self._rng is None:
            self._rng = np.random.default_rng(np.random.SeedSequence(self._stream))
        return self._rng

    def values(self, weights: ArrayLike, only_active: bool = True) -> FloatArray:
        """Compute the largest sum of finite weights from each node to the end, float [n_nodes + 1]; -inf if no path."""
        return values_to_go(self.mdp, self._weights(weights, only_active))

    def best_path(self, weights: ArrayLike, only_active: bool = True) -> IntArray:
        """Find a path with the largest sum of weights, int [H]; the lowest arc wins a tie."""
        return best_of(self.mdp, self._weights(weights, only_active))

    def through(self, weights: ArrayLike, only_active: bool = True) -> FloatArray:
        """Compute the largest sum of weights of a path through each arc, float [N]; -inf where there is none."""
        return values_through(self.mdp, self._weights(weights, only_active))

    def _weights(self, weights: ArrayLike, only_active: bool) -> FloatArray:
        weight = np.array(weights, dtype=np.float64)
        if weight.shape != (self.mdp.n_arcs,):
            raise SettingError(f"weights must have shape ({self.mdp.n_arcs},), one per arc, not {weight.shape}")
        if np.isnan(weight).any() or np.isposinf(weight).any():
            raise SettingError("weights must be finite (or -inf to close an arc); replace +inf by a large number")
        weight[self.excluded] = -np.inf
        if only_active:
            weight[~self.passable] = -np.inf
        return weight


def _locked(array: Any) -> Any:
    return frozen(np.array(array))


class SamplingRule(ABC):
    """Choose which path to play next."""

    @abstractmethod
    def choose(self, view: View) -> ArrayLike:
        """Return the path to play, H arcs; the same view must give the same path: draw from view.rng alone."""


class EliminationRule(ABC):
    """Choose the arcs that can no longer be on a best path."""

    @abstractmethod
    def eliminate(self, view: View) -> ArrayLike:
        """Return the arcs to eliminate for good, bool [N]; called after every episode."""


class StoppingRule(ABC):
    """Decide when the recommended path is good enough."""

    @abstractmethod
    def stop(self, view: View) -> bool:
        """Return whether to stop; called after every episode and its eliminations."""


# Functions ------------------------------------------------------------------------------------------------------------


UNSEEN = 1e100  # width of an arc that was never visited: outweighs everything, and sums of it stay numbers


class RuleView(NamedTuple):
    """What a function may read; larger is better. N arcs, H stages; nodes in the order of stages, node 0 the start."""

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


def rule_view(view: View) -> RuleView:
    """Copy what a `View` holds into the arrays of a function, of the types that compiled runs use."""
    layers, widths = layers_of(view.mdp), np.minimum(view.widths, UNSEEN)
    run, _, under_way = view._stream
    copies = [view.visits, view.means, widths, view.means + widths, view.means - widths, view.sigma]
    copies += [view.active, view.passable & ~view.excluded, view.known, np.zeros(view.mdp.n_nodes + 1)]
    seed = int((run ^ (under_way * 0x9E3779B97F4A7C15)) % 2**63)
    arrays = [layers.first, layers.target, *map(np.array, copies)]
    return RuleView._make([*arrays, view.epsilon, view.delta, view.episodes, seed])


class FunctionRule:
    """A rule given as a function.

    Attributes:
        function: As it was given.
        compiled: The same, compiled; None where Numba cannot compile it.
        reference: "module:function" where the function can be imported by that name, else the function.
    """

    out: ClassVar[str | None]  # type of the array that the function writes into; None: it returns its answer

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.compiled, why = compiled(function, self.out)
        self.reference: Any = reference_of(function) or function
        if self.compiled is None:
            warnings.warn(
                f"{self.label} runs in Python, about a thousand times slower than compiled: Numba says {why}",
                stacklevel=5,
            )

    @property
    def label(self) -> str:
        """Return the function's name."""
        return getattr(self.function, "__name__", "rule")

    def call(self, *args: Any) -> Any:
        """Call the function, compiled where it can be."""
        return (self.compiled or self.function)(*args)

    def __deepcopy__(self, memo: Any) -> FunctionRule:
        return self

    def __reduce__(self) -> Any:
        return type(self), (self.function,)


class FunctionSampling(FunctionRule, SamplingRule):
    """A sampling rule (view, path): writes the H arcs to play into path."""

    out = "int64"

    def choose(self, view: View) -> IntArray:
        """Return the path to play."""
        path: IntArray = np.zeros(view.mdp.horizon, dtype=np.int64)
        self.call(rule_view(view), path)
        return path


class FunctionElimination(FunctionRule, EliminationRule):
    """An elimination rule (view, drop): sets drop, bool [N], where an arc is to go for good."""

    out = "bool"

    def eliminate(self, view: View) -> BoolArray:
        """Return the arcs to eliminate."""
        drop: BoolArray = np.zeros(view.mdp.n_arcs, dtype=np.bool_)
        self.call(rule_view(view), drop)
        return drop


class FunctionStopping(FunctionRule, StoppingRule):
    """A stopping rule (view): returns whether to stop."""

    out = None

    def stop(self, view: View) -> bool:
        """Return whether to stop."""
        return bool(self.call(rule_view(view)))


Rule = SamplingRule | EliminationRule | StoppingRule
_KINDS: dict[str, tuple[type[Any], type[Any]]] = {
    "sampling": (SamplingRule, FunctionSampling),
    "elimination": (EliminationRule, FunctionElimination),
    "stopping": (StoppingRule, FunctionStopping),
}


@lru_cache(maxsize=64)
def compiled(function: Callable[..., Any], out: str | None) -> tuple[Any, str]:
    """Compile a rule for its arguments; return it, or None and what Numba says."""
    from numba import typeof
    from numba.core.errors import NumbaError

    found: Any = rule_kernel(function)
    if found is function:  # NUMBA_DISABLE_JIT=1
        return found, ""
    ints, floats, flags = np.zeros(2, dtype=np.int64), np.zeros(2), np.zeros(2, dtype=np.bool_)
    arrays: list[Any] = [*layers_of(MDP.from_arrays([[[0, 0]]]))[:2], ints, *[floats] * 5, *[flags] * 3, floats]
    view = RuleView._make([*arrays, 0.1, 0.1, 0, 0])
    given = (view,) if out is None else (view, np.zeros(1, dtype=out))
    try:
        found.compile(tuple(typeof(part) for part in given))
    except NumbaError as cause:
        lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
        return None, lines[min(1, len(lines) - 1)]
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
    named = {what: settings[what] for what in _KINDS if isinstance(settings.get(what), str) and ":" in settings[what]}
    return {**settings, **{what: imported(what, text) for what, text in named.items()}}


def own_rule(what: str, value: Any) -> Any:
    """Return a rule of the user's own, an object of a class or a function; None for what is none.

    An object is copied: one copy plays, what was given stays as it came.
    """
    kind, function = _KINDS[what]
    if isinstance(value, type):
        raise SettingError(f"{what} must be an object of your rule, {value.__name__}(), not the class itself")
    if isinstance(value, kind):
        return deepcopy(value)
    return function(value) if callable(value) else None


def rule_name(rule: Any) -> str:
    """Return what people call a rule: the name of its function or of its class."""
    return rule.label if isinstance(rule, FunctionRule) else type(rule).__name__


def storable(what: str, value: Any) -> Any:
    """Return a setting as a spec keeps it: a function by its "module:function"; refuse what no worker can rebuild."""
    if not callable(value) and not isinstance(value, SamplingRule | EliminationRule | StoppingRule):
        return value
    function = value.function if isinstance(value, FunctionRule) else value
    found, name = reference_of(function), getattr(function, "__name__", type(function).__name__)
    if found is None:
        raise SettingError(
            f"{what} {name} cannot be rebuilt in a worker; put the rule into a module as a function and write "
            f'{what} = "module:{name}"'
        )
    return found


def warn_of_cost(learner: Learner) -> None:
    """Warn before simulated runs of a rule that is a class: each episode passes through Python."""
    rules = (learner.sampling_rule, getattr(learner, "elimination_rule", None), getattr(learner, "stopping_rule", None))
    for rule in rules:
        if rule is not None and not isinstance(rule, FunctionRule):
            warnings.warn(
                f"{type(rule).__name__} is a rule written in Python: about a millisecond an episode, where a compiled "
                f"rule takes a microsecond. Write it as one function (surepath.learners.own_rules)",
                stacklevel=3,
            )


def checked_sampling(rule: object, names: Sequence[str]) -> str | SamplingRule:
    """Return the name of a sampling rule, or a rule of the user's own."""
    found: SamplingRule | None = own_rule("sampling", rule)
    return found if found is not None else one_of("sampling", rule, names)


def chosen_path(rule: SamplingRule, learner: Learner) -> IntArray:
    """Ask a rule of the user's own for a path; one that is none, or uses what was excluded, is refused."""
    view = View(learner)
    path = learner.mdp.check_path(rule.choose(view))
    for arc in path[view.excluded[path]].tolist():
        raise SettingError(
            f"{rule_name(rule)} returned {learner.mdp.describe_arc(arc)}, which was excluded; "
            f"view.best_path leaves out what is excluded"
        )
    return path


def checked_mask(answer: ArrayLike, rule: EliminationRule, n_arcs: int) -> BoolArray:
    """Check the answer of an elimination rule; an error names the rule."""
    mask = np.asarray(answer)
    if mask.dtype != np.bool_ or mask.shape != (n_arcs,):
        raise SettingError(f"{rule_name(rule)} must return bool [{n_arcs}], one per arc; got {mask.dtype} {mask.shape}")
    return mask
