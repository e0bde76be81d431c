"""The unit flow that spreads episodes best when nothing is known: w that maximises sum over arcs of c log w.

For any path x the derivative towards x is not positive at the maximum, so sum over e in x of c_e / w_e <= sum of all c.
With c = sigma^2 and T episodes spread as w says, the variance of every path's sum of means is at most (sum of c) / T.

Solved in the dual. Let y be a potential of the nodes, 0 at the sink, larger at the start of every arc than at its end.
The dual asks for the least y(start) - sum of c_e log(y(source) - y(target)), which is smooth and self-concordant, and
w_e = c_e / (y(source) - y(target)) is the flow. Its Hessian is a weighted Laplacian of the graph, so each step of
Newton's method is one sparse solve; some twenty steps are enough. At the solution every path has
sum of c_e / w_e = y(start) = sum of all c: the bound above holds with equality for all paths at once.
"""

from __future__ import annotations

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.kernels.arrays import Graph

NEWTON_STEPS = 200  # far more than Newton's method takes
ENOUGH = 1e-10  # violation of conservation, of a flow of 1, at which to end


def design_flow(graph: Graph, c: FloatArray) -> FloatArray:
    """Compute the unit flow w that maximises the sum of c log w, float [N]; every c must be positive.

    Args:
        graph: The layered graph.
        c: Weight of each arc, float [N].
    """
    nodes, source, target = len(graph.first) - 1, graph.source, graph.target
    y = _first_potential(graph, c)
    for _ in range(NEWTON_STEPS):
        w = c / (y[source] - y[target])
        residual = -_outflow(source, target, w, nodes)
        residual[0] += 1.0  # what conservation lacks: the gradient of the dual
        if np.abs(residual).max() <= ENOUGH:
            break
        step = -_solve(source, target, w / (y[source] - y[target]), residual, nodes)
        y[:nodes] += _length(y, step, source, target, c, float(residual @ step)) * step
    return _as_flow(graph, c / (y[source] - y[target]))


def _first_potential(graph: Graph, c: FloatArray) -> FloatArray:
    """Return a potential that falls by as much at every stage and adds up to the sum of c, as the solution does."""
    stages = len(graph.stage_node) - 1
    stage = np.searchsorted(graph.stage_node, np.arange(len(graph.first)), side="right") - 1
    return np.asarray(float(c.sum()) * (1.0 - np.minimum(stage, stages) / stages))


def _outflow(source: IntArray, target: IntArray, w: FloatArray, nodes: int) -> FloatArray:
    """Return what leaves each node minus what enters it, float [n_nodes]."""
    leaves, enters = np.bincount(source, w, nodes + 1), np.bincount(target, w, nodes + 1)
    return np.asarray((leaves - enters)[:nodes])


def _solve(source: IntArray, target: IntArray, bend: FloatArray, residual: FloatArray, nodes: int) -> FloatArray:
    """Solve for Newton's step: the weighted Laplacian, sink left out, times the step is the residual."""
    inner = target < nodes
    rows = np.concatenate([source, target[inner], source[inner], target[inner]])
    columns = np.concatenate([source, target[inner], target[inner], source[inner]])
    values = np.concatenate([bend, bend[inner], -bend[inner], -bend[inner]])
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

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
