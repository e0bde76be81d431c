"""What to play next. The guarantee holds whatever is played; these rules only decide how soon the check passes.

separating    Weigh the arcs that tell the incumbent from its strongest challengers, at the row of the grid with the
              least largest z and its two neighbours, by sigma^2 / n for each challenger they separate, and play the
              heaviest path. Challengers from one slope alone would starve rarely visited arcs (the relaxation mixes
              them with well visited ones). The challengers of earlier plans count too, each half as much as
              those of the next: near the optimum many tie, and the plays should not swing between them.
max-diameter  EPRL's: the path of largest total width over the arcs that are left.
coverage      The path through most arcs that have the fewest visits.
guarded       Separating, with a guard: once half of the trials planned for ties have been made, every second trial
              evens out what is known (the path of largest sum of sigma^2 / n over the arcs that are left, which leads
              to the optimal design), and from twice those trials on it follows the flow of that design, whatever is
              seen. Should the visits of some path lie so far above the plan that their logarithms cost too much, all
              trials follow the flow from then on. That bounds the number of trials (docs, "Challenger: the theorem").
              Where plans differ clearly the learner has stopped before the guard begins.
thrifty       Guarded, and in the trials that are not the guard's a path that tells much for its price (`thrift.py`);
              the default where plans have different prices.

Every rule first covers each arc once. Pending plays count as visits. Ties go to the lowest arc.
"""

from __future__ import annotations

import numpy as np

from surepath.kernels.arrays import Graph
from surepath.kernels.jit import Whole, folded_kernel, inner_kernel
from surepath.learners.challenger import state as at
from surepath.learners.challenger.bound import trace
from surepath.learners.challenger.check import TAKE_OUT, judge, left, singly
from surepath.learners.challenger.state import OWN, Evidence, Pairs, Scratch

SAMPLING = ("separating", "max-diameter", "coverage", "guarded", "thrifty")
BY_SEPARATION, BY_DIAMETER, BY_COVERAGE, BY_GUARD = range(4)
FREE, EVEN, FLOW = range(3)  # whose turn it is
BEGIN, END = 0.5, 2.0  # of the planned trials: where the guard begins, and where it begins to follow the flow
NEVER = 2**63 - 1  # more visits than any arc has
MEMORY = 0.5  # what a challenger counts for in the next plan
FORGOTTEN = 1e-3  # below this it no longer counts
OTHER_ARCS = 0.25  # what any other arc counts for beside plays under way


@folded_kernel
def cover(pairs: Pairs, seen: Evidence, work: Scratch) -> bool:
    """Mark the unvisited arcs, for a path through as many as possible; False when every arc has been visited.

    An arc that is already on its way to a worker counts by its plays, those under way included: beside it other arcs
    are worth a visit too.
    """
    missing, busy = False, False
    for e in range(len(seen.alive)):
        missing = missing or (seen.alive[e] and seen.visits[e] == 0 and not pairs.is_known[e])
        busy = busy or seen.pending[e] > 0
    for e in range(len(seen.alive)):
        plays = seen.visits[e] + seen.pending[e]
        work.mark[e] = 0.0
        if missing and seen.alive[e] and not pairs.is_known[e]:
            if plays == 0:
                work.mark[e] = 1.0
            elif busy:
                work.mark[e] = 0.5 / (len(work.path) * plays)
    return missing


@inner_kernel
def separate(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, row: int, epsilon: float) -> bool:
    """Mark what separates the strongest challengers at three slopes around a noisy row; True when nothing is left.

    This is a quick check as well: what the three rows clear is cleared.
    """
    j, k = work.grid[row, 0], work.grid[row, 1]
    for e in range(len(work.mark)):
        work.mark[e] = 0.0
        seen.recent[e] = MEMORY * seen.recent[e] if seen.recent[e] > FORGOTTEN else 0.0
    for step in range(3):
        work.grid[0, 0], work.grid[0, 1] = j, k * pairs.ratio ** (1.0 - step)
        judge(graph, pairs, seen, work, np.int64(0), epsilon, np.int64(TAKE_OUT))
        through = work.path[0]
        if through < 0:
            break
        if not work.live[through]:
            continue  # the strongest challenger of this row was cleared by it, and so were all others
        trace(graph, work, through, np.int64(1 if singly(pairs, int(j), epsilon) else 0))
        for h in range(len(work.path)):
            if work.path[h] != work.incumbent[h]:
                seen.recent[work.path[h]] += 1.0
                seen.recent[work.incumbent[h]] += 1.0
    work.grid[0, 0], work.grid[0, 1] = j, k
    for e in range(len(work.mark)):
        if seen.recent[e] > 0.0 and seen.alive[e] and not pairs.is_known[e]:
            work.mark[e] = seen.recent[e] * work.variance[e] / (seen.visits[e] + seen.pending[e])
    return left(work) == 0


@folded_kernel
def is_crowded(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> bool:
    """Whether some path has so many more visits than planned that the logarithms of its widths cost too much."""
    first, target, ahead = graph.first, graph.target, work.ahead
    sink = len(first) - 1
    ahead[sink] = 0.0
    for i in range(sink - 1, -1, -1):
        most = -np.inf
        for e in range(first[i], first[i + 1]):
            if seen.alive[e]:
                most = max(most, work.extra[OWN, pairs.ties, e] + ahead[target[e]])
        ahead[i] = most
    return bool(ahead[0] > pairs.crowd)


@folded_kernel
def turn(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> int:
    """Whose turn the next trial is."""
    episodes, covered = seen.memo[at.EPISODES], seen.memo[at.EPISODES] >= len(seen.alive)
    if pairs.sampling != BY_GUARD:
        return FREE
    if covered and episodes >= pairs.crowd_from and is_crowded(graph, pairs, seen, work):
        return FLOW
    if episodes < BEGIN * pairs.planned or int(episodes) % 2 == 0:
        return FREE
    return FLOW if covered and episodes >= END * pairs.planned else EVEN


@inner_kernel
def follow_flow(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> None:
    """At each node take the arc that lags most behind its part of the flow by the guard's own plays, into work.path."""
    first, node = graph.first, 0
    for h in range(len(work.path)):
        plays, flow = 1.0, 0.0
        for e in range(first[node], first[node + 1]):
            plays += seen.guarded[e]
            flow += pairs.flow[e]
        most, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            behind = plays * pairs.flow[e] / flow - seen.guarded[e]
            if behind > most:
                most, chosen = behind, e
        work.path[h] = chosen
        node = graph.target[chosen]


@folded_kernel
def is_open(seen: Evidence, work: Scratch) -> bool:
    """Whether work.path avoids every excluded arc."""
    closed = 0
    for h in range(len(work.path)):
        closed += 0 if seen.open[work.path[h]] else 1
    return closed == 0


@folded_kernel
def marked(work: Scratch) -> bool:
    """Whether any arc has a sampling weight."""
    heaviest_mark = 0.0
    for e in range(len(work.mark)):
        heaviest_mark = max(heaviest_mark, work.mark[e])
    return heaviest_mark > 0.0


@inner_kernel
def weigh(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, sampling: Whole) -> None:
    """Marks of the rules that do not look at challengers."""
    alive, visits, pending, mark = seen.alive, seen.visits, seen.pending, work.mark
    least = NEVER
    for e in range(len(alive)):
        if alive[e] and not pairs.is_known[e]:
            least = min(least, visits[e] + pending[e])
    for e in range(len(alive)):
        mark[e] = 0.0
        if alive[e] and not pairs.is_known[e]:
            n = visits[e] + pending[e]
            if sampling == BY_COVERAGE:
                mark[e] = 1.0 if n <= least else 0.0
            elif sampling == BY_GUARD:
                mark[e] = pairs.sigma[e] ** 2 / n
            else:
                mark[e] = np.sqrt(work.variance[e] * np.log(4.0 * n * n * len(alive)) / n)
