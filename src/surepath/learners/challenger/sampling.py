"""What Challenger plays next, and the prior visits it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath.kernels.jit import Whole, folded_kernel
from surepath.kernels.sweeps import Graph, backward, walk
from surepath.learners.challenger import state as at
from surepath.learners.challenger.bound import trace
from surepath.learners.challenger.check import TAKE_OUT, judge, left, singly
from surepath.learners.challenger.noise import BERNSTEIN, learned_of, rounded, size_of
from surepath.learners.challenger.numbers import ENTRY_PRIORS, KINDS, crowd_limits, planned_shares
from surepath.learners.challenger.stages import fill_quick_row, stages_of
from surepath.learners.challenger.state import OWN, Evidence, Pairs, Scratch, Walks, conjugate_table
from surepath.learners.widths import ranges_of
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, even_flow

# Sampling -------------------------------------------------------------------------------------------------------------
# What to play next. The guarantee holds whatever is played; these rules only decide how soon the check passes.
#
# separating    Weigh the arcs that separate the incumbent from its strongest challengers, at the row of the grid with
#               the least largest z and its two neighbours, by sigma^2 / n for each challenger they separate, and play
#               the heaviest path. Challengers of earlier plans count too, half as much with each plan, so that plays do
#               not swing between many that tie.
# max-diameter  EPRL's: the path of largest total width over the arcs that are left.
# coverage      The path through most arcs that have the fewest visits.
# guarded       Separating; from half of the trials planned for ties on, every second trial plays the path of largest
#               sum of sigma^2 / n, from twice those trials on it follows the flow of the optimal design, and so do all
#               once the logarithms of a path cost too much (docs, "Challenger: the theorem", bounds the trials).
# thrifty       Guarded, and in the trials that are not the guard's a path from which much is learned for its price
#               (`choose_by_price`); the default where plans have different prices.
#
# Every rule first covers each arc once. Pending plays count as visits. Ties go to the lowest arc.

SAMPLING = ("separating", "max-diameter", "coverage", "guarded", "thrifty")
BY_SEPARATION, BY_DIAMETER, BY_COVERAGE, BY_GUARD = range(4)
FREE, EVEN, FLOW = range(3)  # whose turn it is
BEGIN, END = 0.5, 2.0  # of the planned trials: where the guard begins, and where it begins to follow the flow
NEVER = 2**63 - 1  # more visits than any arc has
MEMORY = 0.5  # what a challenger counts for in the next plan
FORGOTTEN = 1e-3  # below this it no longer counts
OTHER_ARCS = 0.25  # what any other arc counts for beside plays under way
SEARCH_ROUNDS = 30  # of the search, which needs about five
LEAST_PRICE = 0.01  # of the mean cost: what an arc counts for at least, so that free arcs do not crowd out the rest


@folded_kernel
def cover(pairs: Pairs, seen: Evidence, work: Scratch) -> bool:
    """Mark the unvisited arcs, for a path through as many as possible; False when every arc has been visited.

    An arc that a worker is already playing counts by its plays, those under way included: beside it other arcs
    are worth a visit too.
    """
    alive, visits, pending = seen.alive, seen.visits, seen.pending
    known, mark = pairs.is_known, work.mark
    horizon, missing, busy = len(work.path), False, False
    for e in range(len(alive)):
        missing = missing or (alive[e] and visits[e] == 0 and not known[e])
        busy = busy or pending[e] > 0
    for e in range(len(alive)):
        plays = visits[e] + pending[e]
        mark[e] = 0.0
        if missing and alive[e] and not known[e]:
            if plays == 0:
                mark[e] = 1.0
            elif busy:
                mark[e] = 0.5 / (horizon * plays)
    return missing


@folded_kernel
def separate(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch, row: int, epsilon: float) -> bool:
    """Mark what separates the strongest challengers at three slopes around a noisy row; True when nothing is left.

    This is a quick check as well: what the three rows clear is cleared.
    """
    alive, visits, pending = seen.alive, seen.visits, seen.pending
    recent, known = seen.recent, pairs.is_known
    grid, mark, path = work.grid, work.mark, work.path
    incumbent, variance = work.incumbent, work.variance
    live, on = work.live, work.on
    cleared, ratio = work.cleared, pairs.ratio
    j, k = grid[row, 0], grid[row, 1]
    fill_quick_row(pairs.stages, work.stage_work, graph, pairs, seen, work, k)
    single = np.int64(1 if singly(pairs, int(j), epsilon) else 0)
    for e in range(len(mark)):
        mark[e] = 0.0
        recent[e] = MEMORY * recent[e] if recent[e] > FORGOTTEN else 0.0
    for step in range(3):
        grid[0, 0], grid[0, 1] = j, k * ratio ** (1.0 - step)
        judge(graph, pairs, seen, work, np.int64(0), epsilon, np.int64(TAKE_OUT))
        through = path[0]
        if through < 0:
            break
        if not live[through]:
            continue  # the strongest challenger of this row was cleared by it, and so were all others
        trace(graph, work, through, single)
        for h in range(len(path)):
            if path[h] != incumbent[h]:
                recent[path[h]] += 1.0
                recent[incumbent[h]] += 1.0
    grid[0, 0], grid[0, 1] = j, k
    for e in range(len(mark)):
        if recent[e] > 0.0 and alive[e] and not known[e]:
            mark[e] = recent[e] * variance[e] / (visits[e] + pending[e])
    return left(live, on, cleared) == 0


@folded_kernel
def turn(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> int:
    """Return whose turn the next trial is.

    All are the guard's once a path has so many more visits than planned that the logarithms of its widths cost too
    much.
    """
    episodes, alive = seen.memo[at.EPISODES], seen.alive
    ahead, cost = work.ahead, work.extra[OWN, pairs.ties]
    sampling, planned = pairs.sampling, pairs.planned
    crowd, crowd_from = pairs.crowd, pairs.crowd_from
    covered = episodes >= len(alive)
    if sampling != BY_GUARD:
        return FREE
    if covered and episodes >= crowd_from:
        backward(graph, cost, alive, ahead)
        if ahead[0] > crowd:
            return FLOW
    if episodes < BEGIN * planned or int(episodes) % 2 == 0:
        return FREE
    return FLOW if covered and episodes >= END * planned else EVEN


@folded_kernel
def follow_flow(graph: Graph, pairs: Pairs, seen: Evidence, work: Scratch) -> bool:
    """Take at each node the arc that lags most behind its part of the flow by the guard's own plays, into work.path.

    False when that path has an excluded arc.
    """
    first, target, guarded = graph.first, graph.target, seen.guarded
    part, path = pairs.flow, work.path
    allowed, is_open, node = seen.open, True, 0
    for h in range(len(path)):
        plays, flow = 1.0, 0.0
        for e in range(first[node], first[node + 1]):
            plays += guarded[e]
            flow += part[e]
        most, chosen = -np.inf, -1
        for e in range(first[node], first[node + 1]):
            behind = plays * part[e] / flow - guarded[e]
            if behind > most:
                most, chosen = behind, e
        path[h] = chosen
        node = target[chosen]
        is_open = is_open and allowed[chosen]
    return is_open


@folded_kernel
def marked(mark: FloatArray) -> bool:
    """Return whether any arc has a sampling weight."""
    heaviest_mark = 0.0
    for e in range(len(mark)):
        heaviest_mark = max(heaviest_mark, mark[e])
    return heaviest_mark > 0.0


@folded_kernel
def weigh(pairs: Pairs, seen: Evidence, work: Scratch, sampling: Whole) -> None:
    """Mark arcs by the rules that need no challengers."""
    alive, visits = seen.alive, seen.visits
    pending, mark = seen.pending, work.mark
    known, sigma, variance = pairs.is_known, pairs.sigma, work.variance
    least = NEVER
    for e in range(len(alive)):
        if alive[e] and not known[e]:
            least = min(least, visits[e] + pending[e])
    for e in range(len(alive)):
        mark[e] = 0.0
        if alive[e] and not known[e]:
            n = visits[e] + pending[e]
            if sampling == BY_COVERAGE:
                mark[e] = 1.0 if n <= least else 0.0
            elif sampling == BY_GUARD:
                mark[e] = sigma[e] * sigma[e] / n
            else:
                mark[e] = np.sqrt(variance[e] * np.log(4.0 * n * n * len(alive)) / n)


def prices_differ(mdp: MDP) -> bool:
    """Return whether two paths have different prices."""
    if mdp.cost is None:
        return False
    dear, cheap = best_path(mdp, mdp.cost), best_path(mdp, -mdp.cost)
    return mdp.price(dear) > mdp.price(cheap)


@folded_kernel
def choose_by_price(prices: FloatArray, graph: Graph, allowed: BoolArray, work: Scratch, thrifty: Whole) -> None:
    """Improve work.path, the heaviest path, to one that has much of the marks for its price, where paths have prices.

    Where the rule is thrifty, search the path that maximises (sum of marks) / sqrt(price). Two plans of prices p and q
    that share nothing are then played in the ratio sqrt(q) : sqrt(p), which brings sigma^2 / n + sigma^2 / m to a
    given size for the least money. Arcs that were ruled out may fill a path in.

    With W the sum of marks and P the price of the current path, the root lies below its tangent there, so a path with

        marks - W / (2 P) * price > W / 2

    has a larger ratio. The path of largest such sum is found by one pass; when it is no better, the search is over.
    """
    mark, weight = work.mark, work.weight
    path, ahead = work.path, work.ahead
    best = 0.0  # the largest ratio so far, squared
    for _ in range(SEARCH_ROUNDS if thrifty == 1 and len(prices) > 0 else 0):
        worth, price = 0.0, 0.0
        for h in range(len(path)):
            worth += mark[path[h]]
            price += prices[path[h]]
        if not worth * worth > best * price * (1.0 + 1e-12):
            break
        best = worth * worth / price
        for e in range(len(mark)):
            weight[e] = mark[e] - 0.5 * worth / price * prices[e]
        backward(graph, weight, allowed, ahead)
        walk(graph, weight, allowed, ahead, path)


def share_out(pairs: Pairs, seen: Evidence, work: Scratch, paths: IntArray) -> None:
    """Count plays of these paths, int [k, H], as pending, and lower their marks: another worker gets another path.

    Marks hold sigma^2 / n, so they fall as the visits, those under way included, rise. What many plays under way will
    show by themselves leaves the rest to be learned: any other arc counts for something.
    """
    mark, rest = work.mark, seen.alive & ~pairs.is_known
    before = np.maximum(seen.visits + seen.pending, 1)
    np.add.at(seen.pending, paths, 1)
    n = np.maximum(seen.visits + seen.pending, 1)
    mark *= before / n
    mark[rest] = np.maximum(mark[rest], OTHER_ARCS * work.variance[rest] / n[rest])


# Prior ----------------------------------------------------------------------------------------------------------------
# What Challenger fixes before the data: how precise the prior of each arc's tilt is (docs, "What is fixed in advance").

VISITS_PER_SQUARE = 25.0  # where c counts squares of rewards in [0, 1], an arc with a declared sigma counts visits


def precisions(mdp: MDP, bound: Mapping[str, Any]) -> FloatArray:
    """Compute c of every arc on either side of a pair, [2, entries, N], but for entries of the shifted kind."""
    shares = even_flow(mdp)
    shares = shares / shares.mean()
    scales = [entry.get("scale", 1.0) for entry in bound["entries"]]
    sides = [bound["rival"], bound["incumbent"]]
    c = np.stack([side["factor"] * np.outer(scales, shares ** side["power"]) for side in sides])
    return np.asarray(np.clip(c, bound["least"], bound["most"]))


def choices(mdp: MDP) -> tuple[FloatArray, FloatArray]:
    """Return the most nodes with a choice before each node, and from it on, it counted; both [n_nodes + 1]."""
    counts = np.append(np.diff(mdp.first) > 1, False).astype(np.float64)
    before, after = np.zeros(mdp.n_nodes + 1), np.zeros(mdp.n_nodes + 1)
    stages = [slice(mdp.stage_arc[h], mdp.stage_arc[h + 1]) for h in range(mdp.horizon)]
    for arcs in stages:
        source = mdp.source[arcs]
        np.maximum.at(before, mdp.target[arcs], before[source] + counts[source])
    for arcs in reversed(stages):
        source = mdp.source[arcs]
        np.maximum.at(after, source, counts[source] + after[mdp.target[arcs]])
    return before, after


def tolls(mdp: MDP, prior: str, rho: float, most_choices: float) -> float:
    """Return the part of -log prior that every pair pays.

    Only wrong answers are drawn. There are P - 1 of them; the detour walk ends at the right one itself with probability
    (1 - rho)^b, b its choices, so dividing by 1 - (1 - rho)^(most choices) leaves at most 1 for the others; and an
    excursion starts at one of b choices.
    """
    if prior == "plans":
        return float(np.log(max(1, mdp.first[1] - 1)))
    if most_choices == 0 or prior == "stages":
        return 0.0
    if prior == "detour":
        return float(np.log(-np.expm1(most_choices * np.log1p(-rho))))
    if prior == "excursion":
        return float(np.log(most_choices))
    return float(mdp.log_paths + np.log1p(-np.exp(-mdp.log_paths)))


def pairs_of(
    mdp: MDP,
    sigma: FloatArray,
    delta: float,
    bound: Mapping[str, Any],
    noise: str,
    unknown: bool,
    thrifty: bool,
    sampling: int,
    dependence: str,
    fills: bool,
    total: float | None,
) -> Pairs:
    """Build the settings that kernels read; the part of delta that the entries leave bounds an unknown sigma."""
    c, entries = precisions(mdp, bound), bound["entries"]
    ranges = ranges_of(mdp, noise)
    spare = 1.0 - sum(entry["weight"] for entry in entries)
    cost = np.log(1 / delta) + np.log(1 / np.array([entry["weight"] for entry in entries]))
    kind = np.array([KINDS[entry["kind"]] for entry in entries], dtype=np.int64)
    learning = kind >= BERNSTEIN
    scale = c[at.RIVAL].mean(axis=1)
    if learning.any():
        scale[~learning] *= -1.0  # held beside the others
        c[:, learning] = np.where(ranges.learns, rounded(c[:, learning]), VISITS_PER_SQUARE * c[:, learning])
    before, after = choices(mdp)
    flow, planned, ties = np.zeros(mdp.n_arcs), np.inf, -1
    tilt, plan = np.zeros(c.shape[1:]), np.ones((len(entries), 2))
    for j in np.flatnonzero(kind == at.SHIFTED):
        entry = entries[j]
        visits = entry["trials"] * planned_shares(mdp, sigma, entry["flow"])
        c[:, j] = entry["steadiness"] * visits
        tilt[j] = sigma / (entry["slope"] * visits)
        scale[j], plan[j] = np.inf, (entry["slope"], entry["steadiness"])
        flow, planned, ties = visits / entry["trials"], entry["trials"], int(j)
    crowd, crowd_from = crowd_limits(mdp, entries[ties], delta, flow) if ties >= 0 else (np.inf, np.inf)
    return Pairs(
        sigma=sigma.copy(),
        is_known=mdp.is_known.copy(),
        kind=kind,
        c=np.ascontiguousarray(c),
        tilt=tilt,
        plan=plan,
        scale=scale,
        prior=np.array([ENTRY_PRIORS[entry["prior"]] for entry in entries], dtype=np.int64),
        cost=cost,
        toll=np.array([tolls(mdp, entry["prior"], bound["rho"], float(after[0])) for entry in entries]),
        log_paths=mdp.log_paths,
        walks=None if dependence == "any" else Walks(before, after, bound["rho"]),
        ratio=bound["ratio"],
        conjugate=conjugate_table(),
        learned=learned_of(ranges, kind, c),
        size=size_of(spare * delta if unknown else 0.0),
        flow=flow,
        planned=planned,
        ties=ties,
        crowd=crowd,
        crowd_from=crowd_from,
        price=mdp.cost + LEAST_PRICE * float(mdp.cost.mean()) if thrifty and mdp.cost is not None else np.zeros(0),
        sampling=sampling,
        stages=stages_of(mdp, sigma, delta, fills, float(after[0]), total) if dependence == "any" else None,
    )
