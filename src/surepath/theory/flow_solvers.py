"""Three ways to solve a minimum-flow problem; each returns the flow [N] and the nodes of the maximum cut [n_nodes]."""

from __future__ import annotations

import numpy as np

from surepath._optional import need
from surepath._types import AnyArray, BoolArray, IntArray
from surepath.errors import SurepathError
from surepath.model.mdp import MDP
from surepath.theory.flows import UNLIMITED, FlowProblem, infeasible

Answer = tuple[AnyArray, BoolArray]

HIGHS_TOLERANCE = 1e-10  # of the largest demand: the least that HiGHS takes, below what the check of an answer allows


def scaled(problem: FlowProblem) -> tuple[IntArray, IntArray | None, float]:
    """Return demand and capacity in whole numbers, and the power of two they were multiplied by.

    Real demands are rounded at 2**-60 of their sum, far below the precision of the floats they came in. Capacities are
    widened by 1e-13 of the sum, so that rounding cannot make a tight problem infeasible.
    """
    if problem.whole:
        capacity = None if problem.capacity is None else problem.capacity.astype(np.int64)
        return problem.demand.astype(np.int64), capacity, 1.0
    total = float(problem.demand.sum())
    scale = 2.0 ** (60 - np.ceil(np.log2(total))) if total > 0 else 1.0
    demand = np.round(problem.demand * scale).astype(np.int64)
    if problem.capacity is None:
        return demand, None, scale
    wide = np.minimum((problem.capacity + 1e-13 * total) * scale, float(UNLIMITED))
    return demand, np.maximum(wide.astype(np.int64), demand), scale


def unscaled(problem: FlowProblem, flow: IntArray, scale: float) -> AnyArray:
    """Return the flow in the problem's own numbers, rounding taken off the demands and capacities."""
    if problem.whole:
        return flow
    real = np.maximum(flow / scale, problem.demand)
    return real if problem.capacity is None else np.minimum(real, problem.capacity)


def compiled(problem: FlowProblem) -> Answer:
    """Solve by push-relabel in whole numbers: `kernels/flow/minimum.py`."""
    from surepath.kernels.arrays import graph_of
    from surepath.kernels.flow.minimum import bounded_flow, minimum_flow

    demand, capacity, scale = scaled(problem)
    graph = graph_of(problem.mdp)
    flow = np.empty(problem.mdp.n_arcs, dtype=np.int64)
    in_cut = np.empty(problem.mdp.n_nodes, dtype=np.bool_)
    if capacity is None:
        minimum_flow(graph, demand, flow, in_cut)
    else:
        value = bounded_flow(graph, demand, capacity, flow, in_cut)
        if value < 0:
            raise infeasible(problem, in_cut, "in" if value == -1 else "out")
    return unscaled(problem, flow, scale), in_cut


def highs(problem: FlowProblem) -> Answer:
    """Solve the linear program of the appendix through SciPy's HiGHS; the cut is read from the nodes' dual values."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    mdp = problem.mdp
    size = float(problem.demand.max()) or 1.0  # HiGHS' tolerances are absolute
    n_arcs, inner = mdp.n_arcs, mdp.n_nodes - 1
    arcs = np.arange(n_arcs)
    enters, leaves = mdp.target < mdp.n_nodes, mdp.source > 0
    rows = np.concatenate([mdp.target[enters] - 1, mdp.source[leaves] - 1])
    columns = np.concatenate([arcs[enters], arcs[leaves]])
    signs = np.concatenate([np.ones(int(enters.sum())), -np.ones(int(leaves.sum()))])
    cost = (mdp.source == 0).astype(np.float64)
    upper = np.full(n_arcs, np.inf) if problem.capacity is None else problem.capacity.astype(np.float64)
    answer = linprog(
        cost,
        A_eq=csr_array((signs, (rows, columns)), shape=(inner, n_arcs)) if inner else None,
        b_eq=np.zeros(inner) if inner else None,
        bounds=np.column_stack([problem.demand / size, upper / size]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": HIGHS_TOLERANCE, "dual_feasibility_tolerance": HIGHS_TOLERANCE},
    )
    if answer.status == 2:
        compiled(problem)  # says why, with the cut
    if answer.status != 0:
        raise SurepathError(f"HiGHS did not solve the flow problem: {answer.message}")
    flow = answer.x * size
    in_cut = np.ones(mdp.n_nodes, dtype=bool)
    if inner:  # the dual of a node is its potential, 1 in the cut and 0 outside, as at the start and at the sink
        in_cut[1:] = answer.eqlin.marginals > 0.5
    if problem.whole:
        return np.round(flow).astype(np.int64), in_cut
    return flow, in_cut


def ortools(problem: FlowProblem) -> Answer:
    """Solve by OR-Tools in whole numbers: a maximum flow from supplies to deficits; with capacities a cheapest one."""
    demand, capacity, scale = scaled(problem)
    mdp = problem.mdp
    excess = np.zeros(mdp.n_nodes + 1, dtype=np.int64)
    np.add.at(excess, mdp.target, demand)
    np.subtract.at(excess, mdp.source, demand)
    if capacity is None:
        flow = _largest_filling(mdp, demand, excess)
    else:
        flow = _cheapest(problem, demand, capacity, excess)
    return unscaled(problem, flow, scale), _reachable(mdp, flow > demand, capacity is None or flow < capacity)


def _largest_filling(mdp: MDP, demand: IntArray, excess: IntArray) -> IntArray:
    """Solve for unlimited capacities: the reduction of `kernels/flow/minimum.py`, by OR-Tools' maximum flow."""
    maximum = need("ortools.graph.python.max_flow", "flow").SimpleMaxFlow()
    n = mdp.n_nodes + 1
    excess[0] = excess[-1] = 0
    plenty = np.full(mdp.n_arcs, int(demand.sum()), dtype=np.int64)
    maximum.add_arcs_with_capacity(mdp.source.astype(np.int32), mdp.target.astype(np.int32), plenty)
    supply, deficit = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
    maximum.add_arcs_with_capacity(np.full(len(supply), n, np.int32), supply.astype(np.int32), excess[supply])
    maximum.add_arcs_with_capacity(deficit.astype(np.int32), np.full(len(deficit), n + 1, np.int32), -excess[deficit])
    if supply.size and deficit.size:
        if maximum.solve(n, n + 1) != maximum.OPTIMAL:
            raise SurepathError("OR-Tools did not solve the flow problem")
        moved = np.asarray(maximum.flows(np.arange(maximum.num_arcs(), dtype=np.int32)), dtype=np.int64)
    else:
        moved = np.zeros(mdp.n_arcs + len(supply) + len(deficit), dtype=np.int64)
    excess[supply] -= moved[mdp.n_arcs : mdp.n_arcs + len(supply)]
    excess[deficit] += moved[mdp.n_arcs + len(supply) :]
    return demand + moved[: mdp.n_arcs] + _run_off(mdp, excess)


def _run_off(mdp: MDP, excess: IntArray) -> IntArray:
    """Lead what is left of supplies to the sink and fetch what deficits lack from the start."""
    extra = np.zeros(mdp.n_arcs, dtype=np.int64)
    some_arc_in = np.zeros(mdp.n_nodes + 1, dtype=np.int64)
    some_arc_in[mdp.target] = np.arange(mdp.n_arcs)
    for i in range(1, mdp.n_nodes):
        if excess[i] > 0:
            extra[mdp.first[i]] += excess[i]
            excess[mdp.target[mdp.first[i]]] += excess[i]
            excess[i] = 0
    for i in range(mdp.n_nodes - 1, 0, -1):
        if excess[i] < 0:
            extra[some_arc_in[i]] -= excess[i]
            excess[mdp.source[some_arc_in[i]]] += excess[i]
    return extra


def _cheapest(problem: FlowProblem, demand: IntArray, capacity: IntArray, excess: IntArray) -> IntArray:
    """Solve with capacities: a return arc from the sink to the start closes the flow, and each unit over it costs 1."""
    mdp = problem.mdp
    cheapest = need("ortools.graph.python.min_cost_flow", "flow").SimpleMinCostFlow()
    plenty = max(int(demand.sum()), 1)
    tails = np.append(mdp.source, mdp.n_nodes).astype(np.int32)
    heads = np.append(mdp.target, 0).astype(np.int32)
    capacities = np.append(np.minimum(capacity - demand, plenty), plenty)
    costs = np.append(np.zeros(mdp.n_arcs, dtype=np.int64), 1)
    cheapest.add_arcs_with_capacity_and_unit_cost(tails, heads, capacities, costs)
    cheapest.set_nodes_supplies(np.arange(mdp.n_nodes + 1, dtype=np.int32), excess)
    status = cheapest.solve()
    if status == cheapest.INFEASIBLE:
        compiled(problem)  # says why, with the cut
    if status != cheapest.OPTIMAL:
        raise SurepathError(f"OR-Tools did not solve the flow problem (status {status}); scale the demands down")
    extra = np.asarray(cheapest.flows(np.arange(mdp.n_arcs, dtype=np.int32)), dtype=np.int64)
    return demand + extra


def _reachable(mdp: MDP, along: BoolArray, against: BoolArray | bool) -> BoolArray:
    """Find the nodes reached from the start over arcs where flow may shrink, or against arcs where it may grow."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    back = np.broadcast_to(against, mdp.n_arcs)
    rows = np.concatenate([mdp.source[along], mdp.target[back]])
    columns = np.concatenate([mdp.target[along], mdp.source[back]])
    n = mdp.n_nodes + 1
    table = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n, n))
    reached = np.zeros(n, dtype=bool)
    reached[breadth_first_order(table, 0, return_predecessors=False)] = True
    return reached[:-1]
