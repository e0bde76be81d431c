"""An instance with the accuracy asked of it, checked once, and what the formulas of all bounds share."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import check_delta, check_epsilon, check_sigma
from surepath._types import FloatArray
from surepath.errors import ProblemError, SettingError
from surepath.model.instance import Instance
from surepath.model.mdp import MDP
from surepath.theory.gaps import Gaps, gaps


@dataclass(frozen=True, eq=False)
class Case:
    """An instance with the accuracy asked of it.

    Attributes:
        instance: The problem with its true means.
        gaps: Its gaps.
        epsilon, delta: Accuracy and allowed probability of a wrong answer.
        sigma: Sub-Gaussian factor of each arc, float [N]; 0 on arcs whose reward is known.
    """

    instance: Instance
    gaps: Gaps
    epsilon: float
    delta: float
    sigma: FloatArray

    @property
    def mdp(self) -> MDP:
        """Return the layered graph."""
        return self.instance.mdp

    @property
    def largest_sigma(self) -> float:
        """Return the sigma of formulas that have a single one: the largest of the arcs'."""
        return float(self.sigma.max())

    def upper_gap(self) -> FloatArray:
        """Compute max(deterministic return gap, Delta_min, epsilon), what the upper bounds divide by, float [N]."""
        return np.maximum(self.gaps.deterministic_return, max(self.gaps.minimum, self.epsilon))


def checked_case(
    instance: Instance, epsilon: float, delta: float, sigma: ArrayLike | None = None, *, known: Gaps | None = None
) -> Case:
    """Check an instance and the accuracy asked of it.

    A given sigma replaces the instance's own factors, except on arcs with known reward.
    """
    if not isinstance(instance, Instance):
        raise SettingError(f"a bound needs an Instance, with its true means, not {type(instance).__name__}")
    factors = check_sigma(instance.sigma if sigma is None else sigma, instance.mdp.n_arcs)
    factors[instance.mdp.is_known] = 0.0
    found = gaps(instance) if known is None else known
    return Case(instance, found, check_epsilon(epsilon), check_delta(delta), factors)


def log_confidence(delta: float, factor: float) -> float:
    """Compute log(1 / (factor delta)), or 0 where that is negative: a lower bound is never below 0."""
    return max(0.0, -log(factor * delta))


def is_tree(mdp: MDP) -> bool:
    """Return whether every (stage, state) but the first has exactly one arc into it."""
    return bool((np.bincount(mdp.target, minlength=mdp.n_nodes + 1)[1 : mdp.n_nodes] == 1).all())


def require_tree(mdp: MDP) -> None:
    """Raise unless the MDP is a tree, naming a state with several arcs into it."""
    entering = np.bincount(mdp.target, minlength=mdp.n_nodes + 1)[: mdp.n_nodes]
    many = np.flatnonzero(entering > 1)
    if many.size:
        node = int(many[0])
        stage = int(np.searchsorted(mdp.stage_node, node, side="right")) - 1
        raise ProblemError(
            f"this bound holds for trees, where one arc leads to each state; {int(entering[node])} arcs lead to "
            f"stage {stage}, state {mdp.state_label(node)!r}; use the bound for general graphs"
        )


def divide(numerator: ArrayLike, gap: ArrayLike) -> FloatArray:
    """Compute numerator / gap^2, where 0 / 0^2 is 0 (nothing to learn), other x / 0^2 infinite and x / infinity 0."""
    above, below = np.broadcast_arrays(np.asarray(numerator, dtype=np.float64), np.asarray(gap, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((above == 0) | np.isinf(below), 0.0, above / below**2)
