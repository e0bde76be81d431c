"""Minimum flows by decreasing paths: the residual graph of the paper's appendix, step by step.

Given a flow that meets every demand, the flow of an arc can still fall by its residual flow - demand, and rise by
capacity - flow. The residual graph has an arc along e where it can fall and an arc against e where it can rise. A path
in it from the start to the sink is a decreasing path: taking the least capacity along it off the flow leaves a
smaller flow that meets every demand. A flow is minimum if and only if there is none; the nodes then reached from the
start are a maximum cut. Slow and plain, for teaching and as a twin of the compiled solver.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from surepath._types import AnyArray, BoolArray, IntArray
from surepath.errors import SettingError
from surepath.model.mdp import MDP
from surepath.theory.flow_solvers import Answer, scaled, unscaled
from surepath.theory.flows import UNLIMITED, FlowProblem, checked_problem, infeasible


class ResidualArc(NamedTuple):
    """An arc of the residual graph.

    Attributes:
        arc: The arc of the MDP that it belongs to.
        tail, head: The nodes it joins; the sink is node n_nodes.
        along: Whether it runs along the arc, whose flow can fall, or against it, whose flow can rise.
        capacity: Its residual capacity: by how much.
    """

    arc: int
    tail: int
    head: int
    along: bool
    capacity: float


def residual_graph(
    mdp: MDP, flow: ArrayLike, demand: ArrayLike, capacity: ArrayLike | None = None
) -> list[ResidualArc]:
    """List the arcs of the residual graph of a flow that meets its demands.

    Example:
        >>> mdp = MDP.from_arrays([[[0, 0]]])
        >>> [(e.arc, e.along, e.capacity) for e in residual_graph(mdp, [1, 3], [1, 1], [5, 3])]
        [(0, False, 4.0), (1, True, 2.0)]
    """
    problem = checked_problem(mdp, demand, capacity, integer=False)
    amount = np.broadcast_to(np.asarray(flow, dtype=np.float64), (mdp.n_arcs,))
    _feasible(problem, amount)
    return sorted(e for arcs in _residual(problem, amount) for e in arcs)


def decreasing_path(
    mdp: MDP, flow: ArrayLike, demand: ArrayLike, capacity: ArrayLike | None = None
) -> list[ResidualArc] | None:
    """Find a path in the residual graph from the start to the sink, or None: then the flow is minimum.

    Example:
        >>> mdp = MDP.from_arrays([[[0, 0]]])
        >>> [e.arc for e in decreasing_path(mdp, [1, 3], 1) or []]
        [1]
        >>> decreasing_path(mdp, [1, 1], 1) is None
        True
    """
    problem = checked_problem(mdp, demand, capacity, integer=False)
    amount = np.broadcast_to(np.asarray(flow, dtype=np.float64), (mdp.n_arcs,))
    _feasible(problem, amount)
    return _shortest(_residual(problem, amount), 0, {mdp.n_nodes})[0]


def residual(problem: FlowProblem) -> Answer:
    """Solve a problem by decreasing paths, shortest first, in whole numbers."""
    demand, capacity, scale = scaled(problem)
    exact = FlowProblem(problem.mdp, demand, capacity, whole=True)
    flow = _some_flow(problem, exact)
    while True:
        path, reached = _shortest(_residual(exact, flow), 0, {problem.mdp.n_nodes})
        if path is None:
            return unscaled(problem, flow, scale), reached[:-1]
        _push(flow, path)


def _residual(problem: FlowProblem, flow: AnyArray) -> list[list[ResidualArc]]:
    """Return the residual arcs out of each node, the sink last."""
    mdp = problem.mdp
    out: list[list[ResidualArc]] = [[] for _ in range(mdp.n_nodes + 1)]
    for e in range(mdp.n_arcs):
        tail, head = int(mdp.source[e]), int(mdp.target[e])
        falls = flow[e] - problem.demand[e]
        rises = (UNLIMITED if problem.whole else np.inf) if problem.capacity is None else problem.capacity[e] - flow[e]
        if falls > 0:
            out[tail].append(ResidualArc(e, tail, head, True, float(falls) if not problem.whole else int(falls)))
        if rises > 0:
            out[head].append(ResidualArc(e, head, tail, False, float(rises) if not problem.whole else int(rises)))
    return out


def _shortest(
    graph: list[list[ResidualArc]], start: int, goals: set[int]
) -> tuple[list[ResidualArc] | None, BoolArray]:
    """Return a path with fewest arcs from a node to any goal, or None; and the nodes reached."""
    came: dict[int, ResidualArc | None] = {start: None}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if node in goals:
            path = []
            while (step := came[node]) is not None:
                path.append(step)
                node = step.tail
            return path[::-1], np.zeros(0, dtype=bool)
        for e in graph[node]:
            if e.head not in came:
                came[e.head] = e
                queue.append(e.head)
    reached = np.zeros(len(graph), dtype=bool)
    reached[list(came)] = True
    return None, reached


def _push(flow: IntArray, path: list[ResidualArc], *, most: float = np.inf) -> int:
    """Take the least capacity of a path, or `most`, off the arcs along it and add it to those against it; return it."""
    amount = int(min(most, *(e.capacity for e in path)))
    for e in path:
        flow[e.arc] += -amount if e.along else amount
    return amount


def _some_flow(problem: FlowProblem, exact: FlowProblem) -> IntArray:
    """Return a flow that meets every demand: start from the demands, then lead on what gathers and fetch what lacks.

    Where more comes in than goes out, flow must rise on a path from there to the sink or to a node that lacks: in the
    residual graph, whose paths are those along which flow falls, such a path is read backwards. Where less comes in,
    flow must rise on a path from the start. The start can give, and the sink take, any amount.
    """
    mdp = problem.mdp
    flow = exact.demand.astype(np.int64).copy()
    over = np.zeros(mdp.n_nodes + 1, dtype=np.int64)
    np.add.at(over, mdp.target, flow)
    np.subtract.at(over, mdp.source, flow)
    over[0] = over[-1] = 0
    for node in range(1, mdp.n_nodes):
        while over[node] > 0:
            lacking = {int(v) for v in np.flatnonzero(over < 0)}
            path, reached = _shortest(_turned(_residual(exact, flow)), node, lacking | {mdp.n_nodes})
            if path is None:
                raise infeasible(problem, reached[:-1], "out")
            end = path[-1].head
            amount = _push(flow, path, most=min(over[node], -over[end] if over[end] < 0 else np.inf))
            over[node] -= amount
            if end != mdp.n_nodes:
                over[end] += amount
    for node in range(1, mdp.n_nodes):
        while over[node] < 0:  # found from the end of the path
            path, reached = _shortest(_residual(exact, flow), node, {0})
            if path is None:
                raise infeasible(problem, reached[:-1], "in")
            over[node] += _push(flow, path, most=-over[node])
    return flow


def _turned(graph: list[list[ResidualArc]]) -> list[list[ResidualArc]]:
    """Turn every residual arc round; what it does to the flow of its arc stays the same."""
    out: list[list[ResidualArc]] = [[] for _ in graph]
    for arcs in graph:
        for e in arcs:
            out[e.head].append(e._replace(tail=e.head, head=e.tail))
    return out


def _feasible(problem: FlowProblem, flow: AnyArray) -> None:
    """Refuse what is no flow, or one that leaves a demand unmet or a capacity exceeded."""
    mdp = problem.mdp
    net = np.zeros(mdp.n_nodes + 1)
    np.add.at(net, mdp.target, flow)
    np.subtract.at(net, mdp.source, flow)
    slack = 1e-9 * max(1.0, float(np.abs(flow).max()))
    for e in np.flatnonzero(flow < problem.demand - slack)[:1].tolist():
        raise SettingError(f"the flow of {mdp.describe_arc(e)} is {flow[e]:g}, below its demand {problem.demand[e]:g}")
    if problem.capacity is not None:
        for e in np.flatnonzero(flow > problem.capacity + slack)[:1].tolist():
            most = problem.capacity[e]
            raise SettingError(f"the flow of {mdp.describe_arc(e)} is {flow[e]:g}, above its capacity {most:g}")
    if net[1:-1].size and np.abs(net[1:-1]).max() > slack:
        raise SettingError("this is no flow: at some state more goes in than comes out, or less")
