"""How often to play which path, fixed before the first episode.

Let n_e be the visits of arc e when everything has been played, and M the largest sum of sigma_e^2 / n_e along a path
(known arcs count nothing). For a path p worse than the best path p* by more than epsilon, the empirical difference is
sub-Gaussian with variance factor at most 2 M, so p seems better with probability at most exp(-epsilon^2 / (4 M)). With
P paths a union gives

    epsilon^2 >= 4 M (log P + log(1/delta))     ==>     the path of largest empirical sum is (epsilon, delta)-PAC.

Spread T plays as the flow of `kernels/flow/design.py` says: then M <= (sum of sigma^2) / T, so about
T = 4 (sum of sigma^2) (log P + log(1/delta)) / epsilon^2 plays are enough on every graph, N sigma^2 in place of the sum
where all noise is alike. Rounding each path up adds at most one play per path; the least T that meets the inequality
with the real counts is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._text import word
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.kernels.arrays import Graph
from surepath.kernels.flow.design import design_flow, split_flow
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, on_open_paths, values_to_go

MOST_PLAYS = 10**9


class Schedule(NamedTuple):
    """The plays of a design: which paths, how often, and what they prove."""

    paths: IntArray  # [m, H]
    plays: IntArray  # [m] how often each is played
    variance: float  # M
    gap: float  # proven at the end: sqrt(4 M (log P + log(1/delta)))

    @property
    def episodes(self) -> int:
        """Return the number of plays in all."""
        return int(self.plays.sum())


def schedule(mdp: MDP, sigma: FloatArray, epsilon: float, delta: float, closed: BoolArray) -> Schedule:
    """Find the plays that prove epsilon at confidence delta on the arcs that are not closed.

    Args:
        mdp: The layered graph.
        sigma: Sub-Gaussian factors, float [N]; 0 where nothing must be learned.
        epsilon: How far from the best the answer may be; above 0.
        delta: Allowed probability of a wrong answer.
        closed: Arcs that may not be played, bool [N].
    """
    graph, arcs = _open_graph(mdp, ~closed)
    noisy = sigma[arcs] > 0
    if not noisy.any():  # nothing to learn: any play will do
        path = best_path(mdp, np.where(closed, -np.inf, 0.0))
        return _rounded_schedule(mdp, sigma, np.ones(1), delta, 1.0, closed, path[None, :])
    weight = np.maximum((sigma[arcs] / sigma[arcs].max()) ** 2, 1e-6)
    paths, shares = split_flow(graph, design_flow(graph, weight))
    paths = arcs[paths]
    high = 1.0
    while (found := _rounded_schedule(mdp, sigma, shares, delta, high, closed, paths)).gap > epsilon:
        if found.episodes > MOST_PLAYS:
            raise SettingError(
                f"a design for epsilon {epsilon:g} takes more than {MOST_PLAYS:,} {word('episodes', 'trials')}; "
                f"ask for a larger epsilon"
            )
        high *= 2.0
    low = high / 2.0
    while high - low > 0.25 + 1e-6 * high:
        middle = 0.5 * (low + high)
        if _rounded_schedule(mdp, sigma, shares, delta, middle, closed, paths).gap <= epsilon:
            high = middle
        else:
            low = middle
    return _rounded_schedule(mdp, sigma, shares, delta, high, closed, paths)


def _open_graph(mdp: MDP, open_arcs: BoolArray) -> tuple[Graph, IntArray]:
    """Build the graph of the open arcs alone, numbered anew, and say which arc of the MDP each of them is."""
    arcs = np.flatnonzero(on_open_paths(mdp, open_arcs))
    kept = np.zeros(mdp.n_nodes + 1, dtype=bool)
    kept[mdp.source[arcs]] = True
    kept[mdp.n_nodes] = True
    number = np.cumsum(kept) - 1  # of the nodes that are left; the sink comes last
    source, target = number[mdp.source[arcs]], number[mdp.target[arcs]]
    first = np.searchsorted(source, np.arange(number[-1] + 1))
    stage_node = np.array([int(kept[:node].sum()) for node in mdp.stage_node], dtype=np.int64)
    whole = [np.ascontiguousarray(array, dtype=np.int64) for array in (first, target, source, stage_node)]
    return Graph(*whole), arcs


def _rounded_schedule(
    mdp: MDP, sigma: FloatArray, shares: FloatArray, delta: float, total: float, closed: BoolArray, paths: IntArray
) -> Schedule:
    """Return the schedule that spreads `total` plays over the paths, each rounded up."""
    plays = np.ceil(total * shares - 1e-9).astype(np.int64)
    visits = np.zeros(mdp.n_arcs)
    np.add.at(visits, paths.ravel(), np.repeat(plays, mdp.horizon))
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(sigma > 0, sigma**2 / visits, 0.0)
    variance = float(values_to_go(mdp, np.where(closed, -np.inf, np.minimum(each, 1e300)))[0])
    return Schedule(paths, plays, variance, float(np.sqrt(4.0 * variance * (mdp.log_paths + np.log(1.0 / delta)))))
