"""Periods of the coverage rules, as the paper's analysis has them: what `EPRL.period` and `EPRL.durations` show.

Period k is the episodes t with k_t = 1 + min of n^{t-1} over active arcs = k. When it begins, at episode t_k,

    c^k(e) = 1{ e active, n^{t_k - 1}(e) < k }

says which arcs it has to visit, phi*(c^k), a minimum flow, how many paths that takes at least, and the paper proves
that it lasts d_k <= 2 C_H phi*(c^k) episodes: C_H = 1 for static max-coverage, log(H) + 1 for max-coverage.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log

import numpy as np

from surepath._types import BoolArray, IntArray
from surepath.kernels.arrays import Graph
from surepath.kernels.flow.minimum import minimum_flow

SHARES = {"static-max-coverage": lambda horizon: 1.0, "max-coverage": lambda horizon: log(horizon) + 1}


@dataclass(frozen=True, eq=False)
class Period:
    """A period of a coverage rule.

    Attributes:
        number: k, the visits that every active arc is to reach.
        start: t_k, its first episode, from 1.
        episodes: d_k so far.
        undersampled: Where c^k is 1, bool [N]: active with fewer than k visits when it began.
        cover: phi*(c^k), the fewest paths through all of these.
        cut: Arcs of a maximum cut, int [cover], no two of which a path can visit: why no fewer paths are enough.
        limit: 2 C_H phi*(c^k), which d_k never exceeds if every episode is played to its end and told in turn; not a
            number for rules without such a theorem.
    """

    number: int
    start: int
    episodes: int
    undersampled: BoolArray
    cover: int
    cut: IntArray
    limit: float

    def covered(self, paths: Iterable[IntArray]) -> int:
        """Compute C^k of a set of paths: how many of the undersampled arcs they visit together."""
        seen = {int(arc) for path in paths for arc in path}
        return sum(1 for arc in seen if self.undersampled[arc])


class PeriodLog:
    """When periods began, and what the current one has to visit.

    Attributes:
        begun: Number and first episode of every period so far.
        lacking: c^k of the current period, bool [N].
    """

    def __init__(self, lacking: BoolArray) -> None:
        self.begun: list[tuple[int, int]] = [(1, 1)]
        self.lacking = lacking

    def begin(self, number: int, start: int, lacking: BoolArray) -> None:
        """Note a new period; one that had no episode yet is replaced."""
        if self.begun[-1][1] == start:
            self.begun.pop()
        self.begun.append((number, start))
        self.lacking = lacking

    def durations(self, episodes: int) -> list[tuple[int, int, int]]:
        """List k, first episode and d_k of every period, the last one so far."""
        ends = [start for _, start in self.begun[1:]] + [episodes + 1]
        return [(number, start, end - start) for (number, start), end in zip(self.begun, ends)]

    def current(self, graph: Graph, sampling: str, horizon: int, episodes: int) -> Period:
        """Return the current period with its minimum flow."""
        demand = self.lacking.astype(np.int64)
        flow, inside = np.empty_like(demand), np.empty(len(graph.first) - 1, dtype=np.bool_)
        cover = int(minimum_flow(graph, demand, flow, inside))
        member = np.append(inside, False)
        source = np.repeat(np.arange(len(inside)), np.diff(graph.first))
        cut = np.flatnonzero(member[source] & ~member[graph.target] & self.lacking)
        number, start, length = self.durations(episodes)[-1]
        limit = 2 * SHARES[sampling](horizon) * cover if sampling in SHARES else float("nan")
        return Period(number, start, length, self.lacking.copy(), cover, cut, limit)
