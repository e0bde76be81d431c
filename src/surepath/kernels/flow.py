"""Minimum flows in a layered graph: fewest paths that visit every arc as often as demanded; the design."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, Int32Array, IntArray
from surepath.errors import SettingError
from surepath.kernels.jit import Whole, kernel
from surepath.kernels.sweeps import Graph, graph_of
from surepath.model.mdp import MDP
from surepath.model.paths import best_path, values_to_go

# Residual -------------------------------------------------------------------------------------------------------------


class Residual(NamedTuple):
    """State of one flow problem. Arrays over nodes have n_nodes + 1 entries, the last for the sink.

    There is a residual arc along e while extra[e] < capacity[e], and one against it while extra[e] > 0.
    """

    in_first: IntArray  # [n + 1] the arcs that enter node i are in_arc[in_first[i] : in_first[i + 1]]
    in_arc: Int32Array  # [N]
    in_source: Int32Array  # [N] node that in_arc[j] leaves
    goal: Int32Array  # [N] node that an arc enters; short integers halve the memory that a sweep touches
    capacity: IntArray  # [N] most extra flow an arc may carry; empty when unlimited
    extra: IntArray  # [N] extra flow
    excess: IntArray  # [n] supply still to move where positive, deficit still to fill where negative
    label: Int32Array  # [n] lower bound on the residual distance to a deficit, whose own label is 1; n + 1: none


@kernel
def residual_of(graph: Graph) -> Residual:
    """Allocate the state of a problem with no extra flow, unlimited capacities and nothing to move."""
    target, source = graph.target, graph.source
    n, n_arcs = len(graph.first), len(graph.target)
    in_first = np.zeros(n + 1, dtype=np.int64)
    in_arc = np.empty(n_arcs, dtype=np.int32)
    in_source = np.empty(n_arcs, dtype=np.int32)
    for e in range(n_arcs):
        in_first[target[e] + 1] += 1
    for i in range(n):
        in_first[i + 1] += in_first[i]
    place = in_first.copy()
    for e in range(n_arcs):
        j = place[target[e]]
        in_arc[j] = e
        in_source[j] = source[e]
        place[target[e]] += 1
    capacity = np.empty(0, dtype=np.int64)
    extra = np.zeros(n_arcs, dtype=np.int64)
    excess = np.zeros(n, dtype=np.int64)
    label = np.zeros(n, dtype=np.int32)
    return Residual(in_first, in_arc, in_source, target.astype(np.int32), capacity, extra, excess, label)


# Push relabel ---------------------------------------------------------------------------------------------------------
# Push-relabel on the layered graph: move supplies to deficits along arcs, in whole numbers: first in first out, a
# current arc per node and exact distances now and then.


@kernel
def measure(graph: Graph, state: Residual, queue: Int32Array, all_nodes: Whole) -> int:
    """Set labels to exact distances, outwards from the deficits; return how many nodes were reached.

    The search ends once every supply is reached, unless all_nodes: nodes not reached by then keep a true lower bound.
    A supply whose label was already n + 1 (it cannot reach a deficit, and never will) is not waited for.
    """
    first = graph.first
    in_first, in_arc, in_source, target, capacity, extra, excess, label = state
    limited = len(capacity) > 0
    n = len(label)
    far = n + 1
    tail, wanted = 0, 0
    for i in range(n):
        if excess[i] > 0 and label[i] < far:
            wanted += 1
            label[i] = -1
        elif excess[i] < 0:
            label[i] = 1
            queue[tail] = i
            tail += 1
        elif label[i] < far or all_nodes:
            label[i] = -1  # not reached yet
    head, level = 0, 1
    while head < tail and (wanted > 0 or all_nodes):
        v = queue[head]
        head += 1
        level = label[v]
        for j in range(in_first[v], in_first[v + 1]):
            u = in_source[j]
            if label[u] == -1 and (not limited or extra[in_arc[j]] < capacity[in_arc[j]]):
                label[u] = level + 1
                queue[tail] = u
                tail += 1
                if excess[u] > 0:
                    wanted -= 1
        if v < n - 1:
            for e in range(first[v], first[v + 1]):
                if extra[e] > 0 and label[target[e]] == -1:
                    u = target[e]
                    label[u] = level + 1
                    queue[tail] = u
                    tail += 1
                    if excess[u] > 0:
                        wanted -= 1
    beyond = level + 1 if head < tail else far
    for i in range(n):
        if label[i] == -1:
            label[i] = beyond
    return tail


@kernel
def fill_deficits(graph: Graph, state: Residual) -> None:
    """Move as much supply as possible to deficits; on return label <= n marks the nodes that still reach one."""
    first = graph.first
    in_first, in_arc, in_source, target, capacity, extra, excess, label = state
    limited = len(capacity) > 0
    n = len(label)
    far = n + 1
    queue = np.empty(n, dtype=np.int32)  # a ring
    waiting = np.zeros(n, dtype=np.bool_)
    current = np.zeros(n, dtype=np.int32)  # next residual arc to try: out-arcs first, then in-arcs
    label[:] = 0
    while True:
        measure(graph, state, queue, np.int64(0))
        head, count = 0, 0
        for i in range(n):
            current[i] = 0
            waiting[i] = excess[i] > 0 and label[i] < far
            if waiting[i]:
                queue[count] = i
                count += 1
        if count == 0:
            break
        work, limit = 0, 2 * n + len(target) // 3
        while count > 0 and work < limit:
            v = queue[head]
            head = head + 1 if head + 1 < n else 0
            count -= 1
            waiting[v] = False
            out = first[v]
            outs = first[v + 1] - out if v < n - 1 else 0
            inward = in_first[v] - outs
            arcs = outs + in_first[v + 1] - in_first[v]
            j, here, left = current[v], label[v], excess[v]
            while left > 0:
                if j == arcs:  # no residual arc leads one step nearer: the label can rise
                    lowest = n
                    for e in range(out, out + outs):
                        if label[target[e]] < lowest and (not limited or extra[e] < capacity[e]):
                            lowest = label[target[e]]
                    for k in range(in_first[v], in_first[v + 1]):
                        if label[in_source[k]] < lowest and extra[in_arc[k]] > 0:
                            lowest = label[in_source[k]]
                    work += arcs + 12
                    j = 0
                    here = lowest + 1
                    if here == far:
                        break
                amount = 0
                if j < outs:
                    u, e = target[out + j], out + j
                    if here == label[u] + 1:
                        amount = min(left, capacity[e] - extra[e]) if limited else left
                        extra[e] += amount
                else:
                    u = in_source[inward + j]
                    if here == label[u] + 1:
                        e = in_arc[inward + j]
                        amount = min(left, extra[e])
                        extra[e] -= amount
                if amount > 0:
                    left -= amount
                    excess[u] += amount
                    if excess[u] > 0 and not waiting[u]:
                        waiting[u] = True
                        place = head + count
                        queue[place if place < n else place - n] = u
                        count += 1
                    if left == 0:
                        break
                j += 1
            current[v], label[v], excess[v] = j, here, left
    measure(graph, state, queue, np.int64(1))


# Minimum --------------------------------------------------------------------------------------------------------------
# Write flow = demand + extra. A node where more demand comes in than goes out has a supply of extra; one where
# less comes in has a deficit. Capacities are unlimited, so a supply reaches any deficit downstream, what no supply
# can fill comes from the start, and what nobody wants runs on to the sink. Hence
#
#     minimum flow value = demand out of the start + all deficits - the most that supplies can fill,
#
# a maximum flow from supplies to deficits over arcs that never fill up: no starting flow is needed and no decreasing
# path has to be removed. The nodes that can still reach an unfilled deficit (an arc against its direction counts where
# extra > 0) are the maximum cut of the paper's appendix: they hold no supply, and no extra leaves them.
#
# Real demands are scaled to whole numbers by the caller, so nothing here depends on rounding.


@kernel
def set_excess(graph: Graph, demand: IntArray, excess: IntArray) -> None:
    """Write excess[i] = demand that enters node i less demand that leaves it; 0 at the start and at the sink."""
    source, target = graph.source, graph.target
    excess[:] = 0
    for e in range(len(target)):
        excess[target[e]] += demand[e]
        excess[source[e]] -= demand[e]
    excess[0] = 0
    excess[-1] = 0


@kernel
def run_off(graph: Graph, state: Residual) -> None:
    """Lead what is left of supplies to the sink, fetch what deficits lack from the start; capacities are unlimited."""
    first, target, source = graph.first, graph.target, graph.source
    extra, excess = state.extra, state.excess
    sink = len(first) - 1
    for i in range(1, sink):
        if excess[i] > 0:
            e = first[i]
            extra[e] += excess[i]
            excess[target[e]] += excess[i]
            excess[i] = 0
    for i in range(sink - 1, 0, -1):
        if excess[i] < 0:
            e = state.in_arc[state.in_first[i]]
            extra[e] -= excess[i]
            excess[source[e]] += excess[i]
            excess[i] = 0


@kernel
def minimum_flow(graph: Graph, demand: IntArray, flow: IntArray, in_cut: BoolArray) -> int:
    """Find the least flow with flow >= demand, unlimited capacities; return its value.

    Args:
        graph: The layered graph.
        demand: int64 [N], each 0 or more, their sum below 2**62.
        flow: int64 [N], written: a minimum flow, whole.
        in_cut: bool [n_nodes], written: the maximum cut, whose outgoing arcs' demands sum to the value.
    """
    state = residual_of(graph)
    set_excess(graph, demand, state.excess)
    fill_deficits(graph, state)
    n = len(state.label)
    for i in range(n - 1):
        in_cut[i] = state.label[i] <= n
    in_cut[0] = True
    run_off(graph, state)
    for e in range(len(demand)):
        flow[e] = demand[e] + state.extra[e]
    value = 0
    for e in range(graph.first[0], graph.first[1]):
        value += flow[e]
    return value


@kernel
def bounded_flow(graph: Graph, demand: IntArray, capacity: IntArray, flow: IntArray, in_cut: BoolArray) -> int:
    """Find the least flow with demand <= flow <= capacity; return its value, or -1 or -2 when there is none.

    In order: supplies fill deficits; the start fills the deficits that are left; supplies that are left run on to
    the sink. Each step keeps what the steps before it moved, and the start gives as little as it can, because it
    gives exactly what supplies cannot.

    in_cut marks on success the maximum cut; on -1 a set of nodes whose outgoing arcs demand more than its incoming
    arcs can carry; on -2 a set of nodes whose incoming arcs demand more than its outgoing arcs can carry.
    """
    state = residual_of(graph)
    state = Residual(*state[:4], capacity - demand, *state[5:])
    excess, label = state.excess, state.label
    n = len(label)
    set_excess(graph, demand, excess)
    fill_deficits(graph, state)
    for i in range(n - 1):
        in_cut[i] = label[i] <= n
    in_cut[0] = True
    # The start gives. Supplies that are left cannot reach a deficit, so they fill none of it.
    for i in range(1, n):
        excess[0] -= min(excess[i], 0)
    fill_deficits(graph, state)
    for i in range(n):
        if excess[i] < 0:
            for j in range(n - 1):
                in_cut[j] = label[j] <= n
            return -1
    # The sink takes.
    left = 0
    for i in range(n):
        left += excess[i]
    excess[n - 1] -= left
    fill_deficits(graph, state)
    if excess[n - 1] < 0:
        excess[0] = -1  # what is left reaches neither the sink nor, against the flow, the start
        measure(graph, state, np.empty(n, dtype=np.int32), np.int64(1))
        for i in range(n - 1):
            in_cut[i] = label[i] > n
        return -2
    value = 0
    for e in range(len(demand)):
        flow[e] = demand[e] + state.extra[e]
    for e in range(graph.first[0], graph.first[1]):
        value += flow[e]
    return value


@kernel
def extract_cover(graph: Graph, flow: IntArray, paths: IntArray) -> None:
    """Write the paths [value, H] whose counts add up to flow, which is used up: Algorithm 2 of the paper.

    Each path takes at every node the arc with most flow left; the lowest arc wins a tie.
    """
    first, target = graph.first, graph.target
    for row in range(paths.shape[0]):
        node = 0
        for h in range(paths.shape[1]):
            best = first[node]
            for e in range(first[node] + 1, first[node + 1]):
                if flow[e] > flow[best]:
                    best = e
            flow[best] -= 1
            paths[row, h] = best
            node = target[best]


# Design ---------------------------------------------------------------------------------------------------------------
# The unit flow that spreads episodes best when nothing is known: w that maximises sum over arcs of c log w.
#
# For any path x the derivative towards x is not positive at the maximum, so sum over e in x of c_e / w_e <= sum of
# all c. With c = sigma^2 and T episodes spread as w says, the variance of every path's sum of means is at most (sum
# of c) / T.
#
# Solved in the dual. Let y be a potential of the nodes, 0 at the sink, larger at the start of every arc than at its
# end. The dual asks for the least y(start) - sum of c_e log(y(source) - y(target)), which is smooth and
# self-concordant, and w_e = c_e / (y(source) - y(target)) is the flow. Its Hessian is a weighted Laplacian of the
# graph, so each step of Newton's method is one sparse solve; some twenty steps are enough. At the solution every path
# has sum of c_e / w_e = y(start) = sum of all c: the bound above holds with equality for all paths at once.

NEWTON_STEPS = 200  # far more than Newton's method takes
ENOUGH = 1e-10  # violation of conservation, of a flow of 1, at which to end


def design_flow(graph: Graph, c: FloatArray) -> FloatArray:
    """Compute the unit flow w that maximises the sum of c log w, float [N]; every c must be positive."""
    nodes, source, target = len(graph.first) - 1, graph.source, graph.target
    stages = len(graph.stage_node) - 1
    stage = np.searchsorted(graph.stage_node, np.arange(len(graph.first)), side="right") - 1
    # A potential that falls by as much at every stage and adds up to the sum of c, as the solution does.
    y = float(c.sum()) * (1.0 - np.minimum(stage, stages) / stages)
    for _ in range(NEWTON_STEPS):
        w = c / (y[source] - y[target])
        leaves, enters = np.bincount(source, w, nodes + 1), np.bincount(target, w, nodes + 1)
        residual = np.asarray((enters - leaves)[:nodes], dtype=np.float64)
        residual[0] += 1.0  # what conservation lacks: the gradient of the dual
        if np.abs(residual).max() <= ENOUGH:
            break
        step = -_solve(source, target, w / (y[source] - y[target]), residual, nodes)
        y[:nodes] += _length(y, step, source, target, c, float(residual @ step)) * step
    return _as_flow(graph, c / (y[source] - y[target]))


def _solve(source: IntArray, target: IntArray, bend: FloatArray, residual: FloatArray, nodes: int) -> FloatArray:
    """Solve for Newton's step: the weighted Laplacian, sink left out, times the step is the residual."""
    inner = target < nodes
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    rows = np.concatenate([source, target[inner], source[inner], target[inner]])
    columns = np.concatenate([source, target[inner], target[inner], source[inner]])
    values = np.concatenate([bend, bend[inner], -bend[inner], -bend[inner]])
    laplacian = coo_array((values, (rows, columns)), shape=(nodes, nodes)).tocsc()
    return np.asarray(spsolve(laplacian, residual)).reshape(nodes)


def _length(y: FloatArray, step: FloatArray, source: IntArray, target: IntArray, c: FloatArray, slope: float) -> float:
    """Choose the length of Newton's step: full if it stays in the domain and the dual falls enough, else halved."""
    padded = np.append(step, 0.0)
    change, drop = padded[source] - padded[target], y[source] - y[target]
    worst = float((-change / drop).max())
    length = 1.0 if worst <= 0 else min(1.0, 0.95 / worst)
    for _ in range(40):
        fall = length * float(step[0]) - float(c @ np.log1p(length * change / drop))
        if fall <= 0.1 * length * slope:
            break
        length /= 2
    return float(length)


def _as_flow(graph: Graph, w: FloatArray) -> FloatArray:
    """Make conservation exact: each node passes on what reaches it, in the proportions of w."""
    flow, at = np.zeros(len(w)), np.zeros(len(graph.first))
    at[0] = 1.0
    for h in range(len(graph.stage_node) - 1):
        low, high = graph.stage_node[h], graph.stage_node[h + 1]
        arcs = slice(graph.first[low], graph.first[high])
        total = np.add.reduceat(w[arcs], graph.first[low:high] - graph.first[low])
        source = graph.source[arcs]
        flow[arcs] = at[source] * w[arcs] / total[source - low]
        np.add.at(at, graph.target[arcs], flow[arcs])
    return flow


def split_flow(graph: Graph, flow: FloatArray) -> tuple[IntArray, FloatArray]:
    """Split a unit flow into at most N paths: paths int [m, H] and their shares float [m], largest first.

    Always follows the arc with most flow left, and takes the least along the way, so each path uses up an arc.
    """
    left, paths, shares = flow.copy(), [], []
    horizon = len(graph.stage_node) - 1
    for _ in range(len(flow)):
        node, path = 0, np.zeros(horizon, dtype=np.int64)
        for h in range(horizon):
            low, high = int(graph.first[node]), int(graph.first[node + 1])
            path[h] = low + int(np.argmax(left[low:high]))
            node = int(graph.target[path[h]])
        share = float(left[path].min())
        if share <= 1e-12:
            break
        left[path] -= share
        paths.append(path)
        shares.append(share)
    order = np.argsort(-np.array(shares), kind="stable")
    chosen = np.array(shares)[order]
    return np.array(paths)[order], chosen / chosen.sum()


# Schedule -------------------------------------------------------------------------------------------------------------
# Let n_e be the visits of arc e when everything has been played, and M the largest sum of sigma_e^2 / n_e along a
# path (known arcs count nothing). For a path p worse than the best path p* by more than epsilon, the empirical
# difference is sub-Gaussian with variance factor at most 2 M, so p seems better with probability at most
# exp(-epsilon^2 / (4 M)). With P paths a union gives
#
#     epsilon^2 >= 4 M (log P + log(1/delta))     ==>     the path of largest empirical sum is (epsilon, delta)-PAC.
#
# Spread T plays as the flow of `kernels/flow.py` says: then M <= (sum of sigma^2) / T, so about T = 4 (sum of
# sigma^2) (log P + log(1/delta)) / epsilon^2 plays are enough on every graph, N sigma^2 in place of the sum where all
# noise is alike. Rounding each path up adds at most one play per path; the least T that meets the inequality with the
# real counts is taken. An arc without noise adds nothing to M, but unless its reward is known in advance it must be
# seen once: where no arc has noise the fewest paths that visit all such arcs are the list.

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
        flow, in_cut = np.zeros(mdp.n_arcs, dtype=np.int64), np.zeros(mdp.n_nodes, dtype=np.bool_)
        count = minimum_flow(graph, (~mdp.is_known).astype(np.int64), flow, in_cut)
        paths = np.zeros((count, mdp.horizon), dtype=np.int64)
        extract_cover(graph, flow, paths)  # the fewest paths that visit all arcs to learn
        if not len(paths):  # nothing to learn: any play will do
            paths = best_path(mdp, np.zeros(mdp.n_arcs))[None, :]
        return _rounded_schedule(mdp, sigma, np.ones(len(paths)), delta, 1.0, paths)
    weight = np.maximum((sigma / sigma.max()) ** 2, 1e-6)
    paths, shares = split_flow(graph, design_flow(graph, weight))
    high = 1.0
    while (found := _rounded_schedule(mdp, sigma, shares, delta, high, paths)).gap > epsilon:
        if found.episodes > MOST_PLAYS:
            raise SettingError(
                f"a design for epsilon {epsilon:g} takes more than {MOST_PLAYS:,} trials; ask for a larger epsilon"
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


# The optimal design for scores of whole paths -------------------------------------------------------------------------

STEPS_OF_FLOW = 20_000  # most steps of the search for the optimal flow
FLOW_GAP = 1e-6  # relative: where it ends


@kernel
def optimal_flow(
    graph: Graph, inside: BoolArray, active: BoolArray, most: int, gap: float
) -> tuple[FloatArray, FloatArray, float]:
    """Find the flow of largest determinant over active arcs; also that of nodes, and the largest path over d.

    For scores that cover several stages; nodes `inside` what one score covers count against the arcs: sought is the
    largest sum of log w over arcs less that over nodes inside. Each step reweighs the paths by their variance over its
    mean d, and takes the Markov law of the same flow. At the optimum no path has a variance above d.
    """
    first, target, source = graph.first, graph.target, graph.source
    nodes, arcs = len(first) - 1, len(target)
    flow, node, score = np.zeros(arcs), np.zeros(nodes + 1), np.zeros(arcs)
    after, before, top = np.zeros(nodes + 1), np.zeros(nodes + 1), np.zeros(nodes + 1)
    node[0] = 1.0
    d = 0
    for i in range(nodes):
        count = 0
        for e in range(first[i], first[i + 1]):
            count += 1 if active[e] else 0
        d += max(count - 1, 0) if inside[i] else count
        for e in range(first[i], first[i + 1]):
            if active[e]:
                flow[e] = node[i] / count
                node[target[e]] += flow[e]
    worst = np.inf
    for _ in range(most):
        for e in range(arcs):
            if active[e]:
                i = source[e]
                score[e] = 1.0 / flow[e] - (1.0 / node[i] if inside[i] else 0.0)
        after[nodes] = top[nodes] = 0.0
        for i in range(nodes - 1, -1, -1):
            after[i], top[i] = 0.0, -np.inf
            for e in range(first[i], first[i + 1]):
                if active[e]:
                    after[i] += flow[e] / node[i] * (score[e] + after[target[e]])
                    top[i] = max(top[i], score[e] + top[target[e]])
        worst = top[0] / d
        if worst <= 1.0 + gap:
            break
        before[:] = 0.0
        for i in range(nodes):
            for e in range(first[i], first[i + 1]):
                if active[e]:
                    before[target[e]] += flow[e] / node[target[e]] * (before[i] + score[e])
        for e in range(arcs):
            if active[e]:
                flow[e] *= (before[source[e]] + score[e] + after[target[e]]) / d
        node[:] = 0.0
        node[0] = 1.0
        for e in range(arcs):  # in order of stages
            if active[e]:
                node[target[e]] += flow[e]
    return flow, node, worst
