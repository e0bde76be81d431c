"""A rule of your own, in plain Python: slower than the compiled ones, and as free as you like.

Write a class with one method and give an object of it to `EPRL` in place of a rule's name, a sampling rule also to
`Challenger`. The method gets a `View`: read-only arrays in arc order, turned so that larger is better, three helpers
that do the dynamic programs, and a random stream of the learner's seed for rules that draw.
`surepath.check_rule` tries a rule on awkward graphs and says what is wrong with it.

    class Greedy(SamplingRule):
        \"\"\"Visit what was never visited, then alternate the path of largest mean with the widest one.\"\"\"

        def choose(self, view):
            unvisited = (view.visits == 0) & ~view.known
            if unvisited.any() or view.episodes % 2:
                return view.best_path(np.where(unvisited, 1000.0, np.minimum(view.widths, 1000.0)))
            return view.best_path(view.means)

    EPRL(mdp, epsilon=0.1, delta=0.05, sigma=0.1, sampling=Greedy())

The guarantee of EPRL and Challenger does not depend on the sampling rule, but whether they ever end does: a rule that
plays only what seems best leaves the others' intervals wide. The guarantee does depend on the other two: a wrong
elimination or stopping rule makes wrong answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray, frozen, one_of
from surepath.errors import SettingError
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, values_through, values_to_go

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
        return best_path(self.mdp, self._weights(weights, only_active))

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


def checked_sampling(rule: object, names: Sequence[str]) -> str | SamplingRule:
    """Return the name of a sampling rule, or a copy of a rule of the user's own."""
    if isinstance(rule, type):
        raise SettingError(f"sampling must be an object of your rule, {rule.__name__}(), not the class itself")
    return deepcopy(rule) if isinstance(rule, SamplingRule) else one_of("sampling", rule, names)


def chosen_path(rule: SamplingRule, learner: Learner) -> IntArray:
    """Ask a rule of the user's own for a path; one that is none, or uses what was excluded, is refused."""
    view = View(learner)
    path = learner.mdp.check_path(rule.choose(view))
    for arc in path[view.excluded[path]].tolist():
        raise SettingError(
            f"{type(rule).__name__}.choose returned {learner.mdp.describe_arc(arc)}, which was excluded; "
            f"view.best_path leaves out what is excluded"
        )
    return path


def checked_mask(answer: ArrayLike, rule: EliminationRule, n_arcs: int) -> BoolArray:
    """Check the answer of an elimination rule; an error names the rule."""
    mask = np.asarray(answer)
    if mask.dtype != np.bool_ or mask.shape != (n_arcs,):
        raise SettingError(
            f"{type(rule).__name__}.eliminate must return bool [{n_arcs}], one per arc; got {mask.dtype} {mask.shape}"
        )
    return mask
