"""Minimum flows the dull way: a linear program over all paths, and every cut of a small graph."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from surepath.model.mdp import MDP
from tests.naive.paths import all_paths


def least_episodes(mdp: MDP, demand: np.ndarray, capacity: np.ndarray | None = None) -> float | None:
    """How often to play each path so that every arc gets its demand, in as few plays as possible; None: impossible."""
    paths = all_paths(mdp)
    through = np.zeros((mdp.n_arcs, len(paths)))
    for column, path in enumerate(paths):
        through[list(path), column] = 1
    rows, sides = [-through], [-np.asarray(demand, dtype=float)]
    if capacity is not None:
        limited = np.isfinite(capacity)
        rows.append(through[limited])
        sides.append(np.asarray(capacity, dtype=float)[limited])
    answer = linprog(np.ones(len(paths)), A_ub=np.vstack(rows), b_ub=np.concatenate(sides), method="highs")
    return None if answer.status == 2 else float(answer.fun)


def largest_cut(mdp: MDP, demand: np.ndarray) -> float:
    """Largest demand over a set of nodes that holds the start and the source of every arc into it."""
    best = -np.inf
    arcs = [(int(u), int(v), float(d)) for u, v, d in zip(mdp.source, mdp.target, demand)]
    for choice in itertools.product([False, True], repeat=mdp.n_nodes - 1):
        inside = (True, *choice, False)
        if all(inside[u] or not inside[v] for u, v, _ in arcs):
            best = max(best, sum(d for u, v, d in arcs if inside[u] and not inside[v]))
    return best


def has_decreasing_path(mdp: MDP, flow: np.ndarray, demand: np.ndarray, capacity: np.ndarray | None = None) -> bool:
    """Whether the sink is reached from the start over arcs whose flow can fall and against arcs whose flow can rise."""
    reached = {0}
    while True:
        before = len(reached)
        for e, (u, v) in enumerate(zip(mdp.source.tolist(), mdp.target.tolist())):
            if u in reached and flow[e] > demand[e]:
                reached.add(v)
            if v in reached and (capacity is None or flow[e] < capacity[e]):
                reached.add(u)
        if len(reached) == before:
            return mdp.n_nodes in reached
