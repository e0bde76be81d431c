"""How often to play which path, fixed before the first episode.

Let n_e be the visits of arc e when everything has been played, and M the largest sum of sigma_e^2 / n_e along a path
(known arcs count nothing). For a path p worse than the best path p* by more than epsilon, the empirical difference is
sub-Gaussian with variance factor at most 2 M, so p seems better with probability at most exp(-epsilon^2 / (4 M)). With
P paths a union gives

    epsilon^2 >= 4 M (log P + log(1/delta))     ==>     the path of largest empirical sum is (epsilon, delta)-PAC.

Spread T plays as the flow of `kernels/flow/design.py` says: then M <= (sum of sigma^2) / T, so about
T = 4 (sum of sigma^2) (log P + log(1/delta)) / epsilon^2 plays are enough on every graph, N sigma^2 in place of the sum
where all noise is alike. Rounding each path up adds at most one play per path; the least T that meets the inequality
with the real counts is taken. An arc without noise adds nothing to M, but unless its reward is known in advance it must
be seen once: where no arc has noise the fewest paths that visit all such arcs are the list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._text import word
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.kernels.arrays import Graph, graph_of
from surepath.kernels.flow.design import design_flow, split_flow
from surepath.kernels.flow.minimum import extract_cover, minimum_flow
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, values_to_go

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


def schedule(mdp: MDP, sigma: FloatArray, epsilon: float, delta: float) -> Schedule:
    """Find the plays that prove epsilon at confidence delta.

    Args:
        mdp: The layered graph.
        sigma: Sub-Gaussian factors, float [N]; 0 where nothing must be learned.
        epsilon: How far from the best the answer may be; above 0.
        delta: Allowed probability of a wrong answer.
    """
    graph = graph_of(mdp)
    if not (sigma > 0).any():
        paths = _cover(graph, ~mdp.is_known)
        if not len(paths):  # nothing to learn: any play will do
            paths = best_path(mdp, np.zeros(mdp.n_arcs))[None, :]
        return _rounded_schedule(mdp, sigma, np.ones(len(paths)), delta, 1.0, paths)
    weight = np.maximum((sigma / sigma.max()) ** 2, 1e-6)
    paths, shares = split_flow(graph, design_flow(graph, weight))
    high = 1.0
    while (found := _rounded_schedule(mdp, sigma, shares, delta, high, paths)).gap > epsilon:
        if found.episodes > MOST_PLAYS:
            raise SettingError(
                f"a design for epsilon {epsilon:g} takes more than {MOST_PLAYS:,} {word('episodes', 'trials')}; "
                f"ask for a larger epsilon"
            )
        high *= 2.0
    low = high / 2.0
    while high - low > 0.25 + 1e-6 * high:
        middle = 0.5 * (low + high)
        if _rounded_schedule(mdp, sigma, shares, delta, middle, paths).gap <= epsilon:
            high = middle
        else:
            low = middle
    return _rounded_schedule(mdp, sigma, shares, delta, high, paths)


def _cover(graph: Graph, needed: BoolArray) -> IntArray:
    """Find the fewest paths that visit all arcs that are needed, int [m, H]."""
    flow, in_cut = np.zeros(len(needed), dtype=np.int64), np.zeros(len(graph.first) - 1, dtype=np.bool_)
    count = minimum_flow(graph, needed.astype(np.int64), flow, in_cut)
    paths = np.zeros((count, len(graph.stage_node) - 1), dtype=np.int64)
    extract_cover(graph, flow, paths)
    return paths


def _rounded_schedule(
    mdp: MDP, sigma: FloatArray, shares: FloatArray, delta: float, total: float, paths: IntArray
) -> Schedule:
    """Return the schedule that spreads `total` plays over the paths, each rounded up."""
    plays = np.ceil(total * shares - 1e-9).astype(np.int64)
    visits = np.zeros(mdp.n_arcs)
    np.add.at(visits, paths.ravel(), np.repeat(plays, mdp.horizon))
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(sigma > 0, sigma**2 / visits, 0.0)
    each[(visits == 0) & ~mdp.is_known] = np.inf  # without noise too, a reward that nobody has seen is unknown
    variance = float(values_to_go(mdp, np.minimum(each, 1e300))[0])
    return Schedule(paths, plays, variance, float(np.sqrt(4.0 * variance * (mdp.log_paths + np.log(1.0 / delta)))))
