"""Gaps of an instance: by value and by return, and the case that every bound starts from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import ArrayLike

from surepath._checks import BoolArray, FloatArray, IntArray, check_delta, check_epsilon, check_sigma
from surepath.errors import ProblemError, SettingError
from surepath.model.mdp import MDP
from surepath.model.worlds import Instance

# Gaps -----------------------------------------------------------------------------------------------------------------
# How much worse each arc is: value gap, return gap, deterministic return gap, and what follows from them.
#
# Names of the paper (section "The Complexity of PAC RL in Deterministic MDPs"):
#
# - value gap Delta: V*(state) - Q*(state, action), what the action costs from its state on;
# - deterministic return gap: best return of all less best return through the arc, eq. (drg);
# - return gap of Dann et al.: the deterministic return gap divided by H.
#
# One backward and one forward pass give all of them. Gaps are in gains, so they are 0 or more whichever way the
# returns are wanted. A gap of at most `tolerance` = 1e-12 x (largest return that the sizes of the means allow) counts
# as 0.

RELATIVE_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Gaps:
    """Gaps of every arc and the optimal values behind them.

    Attributes:
        mdp: The layered graph.
        value: Value gap of each arc, float [N].
        deterministic_return: Deterministic return gap of each arc, float [N].
        optimal_return: Return of the best path, in the user's direction.
        optimal_path: One optimal path, int [H]; the lowest arcs where several are optimal.
        tolerance: Gaps up to this are 0; two returns this close are equal.
    """

    mdp: MDP
    value: FloatArray
    deterministic_return: FloatArray
    optimal_return: float
    optimal_path: IntArray
    tolerance: float

    @property
    def return_gap(self) -> FloatArray:
        """Return the return gap of Dann et al.: the deterministic return gap divided by H, float [N]."""
        return self.deterministic_return / self.mdp.horizon

    @cached_property
    def unique(self) -> bool:
        """Return whether there is exactly one optimal path."""
        return int((self.deterministic_return == 0).sum()) == self.mdp.horizon

    @cached_property
    def minimum(self) -> float:
        """Return Delta_min of the upper bounds: least positive deterministic return gap; 0 with several optimal paths.

        Infinite when there is only one path at all.
        """
        if not self.unique:
            return 0.0
        return float(self.deterministic_return[self.deterministic_return > 0].min(initial=np.inf))

    def near_optimal(self, epsilon: float) -> BoolArray:
        """Find Z^epsilon: the arcs that lie on some epsilon-optimal path, bool [N]."""
        return self.deterministic_return <= check_epsilon(epsilon) + self.tolerance

    def stage_minimum(self, epsilon: float) -> FloatArray:
        """Compute Delta_min of each stage as in Theorem 1, float [H].

        The least positive deterministic return gap of the stage where Z^epsilon has exactly one arc there, else 0;
        infinite where that arc is the only one of its stage.
        """
        near = np.add.reduceat(self.near_optimal(epsilon).astype(np.int64), self.mdp.stage_arc[:-1])
        positive = np.where(self.deterministic_return > 0, self.deterministic_return, np.inf)
        return np.where(near == 1, np.minimum.reduceat(positive, self.mdp.stage_arc[:-1]), 0.0)


def gaps(instance: Instance) -> Gaps:
    """Return all gaps of an instance, by one backward and one forward pass.

    Example:
        >>> from surepath import Gaussian
        >>> two = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.25, 1.0]))
        >>> gaps(two).deterministic_return.tolist()
        [0.75, 0.0]
    """
    from surepath.kernels.sweeps import backward, forward, graph_of, own, walk

    if not isinstance(instance, Instance):
        raise SettingError(f"gaps need an Instance, with its true means, not {type(instance).__name__}")
    mdp = instance.mdp
    graph = graph_of(mdp)
    weight = own(instance.gains, np.float64)
    passable = np.ones(mdp.n_arcs, dtype=np.bool_)
    to_go, so_far = np.empty(mdp.n_nodes + 1), np.empty(mdp.n_nodes + 1)
    path = np.empty(mdp.horizon, dtype=np.int64)
    backward(graph, weight, passable, to_go)
    forward(graph, weight, passable, so_far)
    walk(graph, weight, passable, to_go, path)
    tolerance = RELATIVE_TOLERANCE * float(np.maximum.reduceat(np.abs(weight), mdp.stage_arc[:-1]).sum())
    action_value = weight + to_go[mdp.target]
    return Gaps(
        mdp=mdp,
        value=_clean(to_go[mdp.source] - action_value, tolerance),
        deterministic_return=_clean(to_go[0] - (so_far[mdp.source] + action_value), tolerance),
        optimal_return=float(mdp.sign * to_go[0]),
        optimal_path=path,
        tolerance=tolerance,
    )


def _clean(gap: FloatArray, tolerance: float) -> FloatArray:
    gap[gap <= tolerance] = 0.0
    return gap


# Case -----------------------------------------------------------------------------------------------------------------
# An instance with the accuracy asked of it, checked once, and what the formulas of all bounds share.


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


def checked_case(instance: Instance, epsilon: float, delta: float, sigma: ArrayLike | None = None) -> Case:
    """Check an instance and the accuracy asked of it.

    A given sigma replaces the instance's own factors, except on arcs with known reward.
    """
    if not isinstance(instance, Instance):
        raise SettingError(f"a bound needs an Instance, with its true means, not {type(instance).__name__}")
    factors = check_sigma(instance.sigma if sigma is None else sigma, instance.mdp.n_arcs)
    factors[instance.mdp.is_known] = 0.0
    return Case(instance, gaps(instance), check_epsilon(epsilon), check_delta(delta), factors)


def log_confidence(delta: float) -> float:
    """Compute log(1 / (4 delta)), or 0 where that is negative: a lower bound is never below 0."""
    return max(0.0, -log(4 * delta))


def confidence(delta: float) -> float:
    """Compute kl(delta, 1 - delta) = (1 - 2 delta) log((1 - delta) / delta); 0 at delta >= 1/2: guessing is allowed."""
    check_delta(delta)
    return max(0.0, (1 - 2 * delta) * log((1 - delta) / delta)) if delta < 0.5 else 0.0


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
