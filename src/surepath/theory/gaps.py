"""How much worse each arc is: value gap, return gap, deterministic return gap, and what follows from them.

Names of the paper (section "The Complexity of PAC RL in Deterministic MDPs"):

- value gap Delta: V*(state) - Q*(state, action), what the action costs from its state on;
- deterministic return gap: best return of all less best return through the arc, eq. (drg);
- return gap of Dann et al.: the deterministic return gap divided by H.

One backward and one forward pass give all of them. Gaps are in gains, so they are 0 or more whichever way the returns
are wanted. A gap of at most `tolerance` = 1e-12 x (largest return that the sizes of the means allow) counts as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from surepath._checks import check_epsilon, whole
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.model.instance import Instance
from surepath.model.mdp import MDP

RELATIVE_TOLERANCE = 1e-12


class LogCount(NamedTuple):
    """Natural logarithm of a number of paths: it lies in [low, high]; the two are equal when it is exact."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Gaps:
    """Gaps of every arc and the optimal values behind them.

    Attributes:
        mdp: The layered graph.
        value: Value gap of each arc, float [N].
        deterministic_return: Deterministic return gap of each arc, float [N].
        optimal_return: Return of the best path, in the user's direction.
        state_value: V* of each node in the user's direction, float [n_nodes].
        action_value: Q* of each arc in the user's direction, float [N].
        optimal_path: One optimal path, int [H]; the lowest arcs where several are optimal.
        tolerance: Gaps up to this are 0; two returns this close are equal.
    """

    mdp: MDP
    value: FloatArray
    deterministic_return: FloatArray
    optimal_return: float
    state_value: FloatArray
    action_value: FloatArray
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

    def log_near_optimal_paths(self, epsilon: float, cells: int = 128) -> LogCount:
        """Compute the logarithm of the number of epsilon-optimal paths, between two proven bounds.

        A path is epsilon-optimal iff the value gaps along it sum to at most epsilon. Counting such sums exactly is a
        knapsack; here the gaps are rounded down, and up, to epsilon / cells. epsilon = 0 is exact.
        """
        from surepath.kernels.arrays import graph_of
        from surepath.theory.kernels.path_counts import log_paths_within

        whole("cells", cells, low=1)
        budget = check_epsilon(epsilon)
        width = (budget + self.tolerance) / cells
        graph = graph_of(self.mdp)
        if budget == 0 or width == 0:
            exact = float(log_paths_within(graph, np.where(self.value == 0, 0, 1).astype(np.int64), 0))
            return LogCount(exact, exact)
        parts = np.minimum(self.value / width, cells + 1.0)
        low = float(log_paths_within(graph, np.ceil(parts).astype(np.int64), cells))
        high = float(log_paths_within(graph, np.floor(parts).astype(np.int64), cells))
        return LogCount(low, high)


def gaps(instance: Instance) -> Gaps:
    """Return all gaps of an instance, by one backward and one forward pass.

    Example:
        >>> from surepath import Gaussian
        >>> two = Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.25, 1.0]))
        >>> gaps(two).deterministic_return.tolist()
        [0.75, 0.0]
    """
    from surepath.kernels.arrays import graph_of, own
    from surepath.kernels.sweeps import backward, forward, walk

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
        state_value=mdp.sign * to_go[:-1],
        action_value=mdp.sign * action_value,
        optimal_path=path,
        tolerance=tolerance,
    )


def _clean(gap: FloatArray, tolerance: float) -> FloatArray:
    gap[gap <= tolerance] = 0.0
    return gap
