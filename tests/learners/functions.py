"""Rules as functions, in a module of their own, so that a spec can name them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from surepath.learners.own_rules import RuleView, best_path, chance, values


def widest(view: RuleView, path: Any) -> None:
    """Max-diameter."""
    best_path(view, np.minimum(view.widths, 1e6), path)


def by_return(view: RuleView, drop: Any) -> None:
    """Line 7 of Algorithm 1: the largest upper value through an arc lies below the largest lower value."""
    first, target, n = view.first, view.target, len(view.target)
    floor = np.zeros(len(first))
    for back in range(len(first) - 1):
        i = len(first) - 2 - back
        floor[i] = -1e300
        for e in range(first[i], first[i + 1]):
            floor[i] = max(floor[i], max(view.lower[e], -1e6) + floor[target[e]])
    upper = np.minimum(view.upper, 1e6)
    values(view, upper)
    ahead, before = view.scratch.copy(), np.full(len(first), -np.inf)
    before[0] = 0.0
    for i in range(len(first) - 1):
        for e in range(first[i], first[i + 1]):
            if view.passable[e]:
                before[target[e]] = max(before[target[e]], before[i] + upper[e])
    node = 0
    for e in range(n):
        while e >= first[node + 1]:
            node += 1
        through = before[node] + upper[e] + ahead[target[e]] if view.passable[e] else -np.inf
        drop[e] = view.active[e] and through < floor[0]


def by_diameter(view: RuleView) -> bool:
    """Line 9 of Algorithm 1, first half."""
    return bool(2 * values(view, np.minimum(view.widths, 1e6)) <= view.epsilon)


def random_walk(view: RuleView, path: Any) -> None:
    """Each action of a state with the same chance."""
    node = 0
    for h in range(len(path)):
        degree = int(view.first[node + 1]) - int(view.first[node])
        path[h] = view.first[node] + int(degree * chance(view, h))
        node = view.target[path[h]]


def no_path(view: RuleView, path: Any) -> None:
    """The first arc at every stage."""
    path[:] = 0


def out_of_range(view: RuleView, path: Any) -> None:
    """Reads an arc that is not there."""
    best_path(view, view.widths, path)
    path[0] += int(view.means[len(view.means) + 3])


def not_compiled(view: RuleView, path: Any) -> None:
    """Uses what Numba does not know."""
    arcs = sorted(range(len(view.widths)), key=lambda e: (-view.widths[e], str(e)))
    weights = np.zeros(len(arcs))
    weights[arcs] = np.arange(len(arcs), 0, -1.0)
    best_path(view, weights, path)


def fickle(view: RuleView, path: Any) -> None:
    """Draws its numbers elsewhere."""
    best_path(view, np.random.rand(len(view.means)), path)  # noqa: NPY002


def only_the_best(view: RuleView, path: Any) -> None:
    """Plays what looks best and nothing else once all was visited: the others stay uncertain for ever."""
    best_path(view, np.where((view.visits == 0) & ~view.known, 1000.0, view.means), path)


def first_path(view: RuleView, path: Any) -> None:
    """The first action everywhere, whatever was seen or excluded."""
    node = 0
    for h in range(len(path)):
        path[h] = view.first[node]
        node = view.target[path[h]]


def hasty(view: RuleView, drop: Any) -> None:
    """Drops the arcs that are off the path of the largest means."""
    best: Any = np.zeros(1000, dtype=np.int64)
    node, h = 0, 0
    values(view, view.means)
    drop[:] = view.active
    while node < len(view.first) - 1:
        best[h] = view.first[node]
        for e in range(view.first[node], view.first[node + 1]):
            if view.means[e] + view.scratch[view.target[e]] > view.means[best[h]] + view.scratch[view.target[best[h]]]:
                best[h] = e
        drop[best[h]] = False
        node, h = view.target[best[h]], h + 1


def at_once(view: RuleView) -> bool:
    """Stops."""
    return True


def imports(view: RuleView, path: Any) -> None:
    """Do what Numba knows no bytecode for."""
    from surepath.learners.own_rules import best_path

    best_path(view, view.widths, path)


SWITCH = SimpleNamespace(broken=False)


def fails_to_drop(view: RuleView, drop: Any) -> None:
    """Line 7 of Algorithm 1 in plain Python; raises once it is told to."""
    if SWITCH.broken:
        raise ZeroDivisionError("a user's slip")
    by_return(view, drop)


def fails_to_stop(view: RuleView) -> bool:
    """Never stops; raises once it is told to."""
    if SWITCH.broken:
        raise ZeroDivisionError("a user's slip")
    return False
