"""From a general DAG of named states to stages: longest distance from the source, gaps filled by waiting nodes.

An edge that spans several stages is played at its own stage and then waits. The waiting nodes are shared: one per
(stage, destination), with a single pass-through arc of known reward 0, so padding adds at most one arc per stage
and destination and nothing to learn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from surepath._checks import suggest
from surepath._text import word
from surepath.errors import ProblemError
from surepath.model.sources.edge_rows import Edge

PASS = "(pass)"
END_LABEL = "(end)"
# Pass-through arcs; each takes some 500 bytes while the graph is laid out. As many as there are rows are always taken.
MAX_PADDING = 1_000_000


class LayeredArc(NamedTuple):
    """One arc of a layered table; `row` is the number of the edge it was made from, -1 for a pass-through."""

    stage: int
    state: str
    action: str
    next_state: str | None  # None at the last stage
    row: int


def layer(edges: Sequence[Edge], source: str | None, target: str | None) -> tuple[list[LayeredArc], str]:
    """Return the arcs of a layered graph equal to the DAG, and its source.

    Args:
        edges: Rows without stages.
        source: Where plans start; by default the one state that no row leads to.
        target: Where plans must end; by default any state without rows, and rows with an empty next state.
    """
    start = _source(edges, source)
    kept = _kept(edges, start, target)
    order = _topological(edges, kept, start)
    depth = {start: 0}
    leaving: dict[str, list[int]] = {}
    for i in kept:
        leaving.setdefault(edges[i].state, []).append(i)
    for state in order:
        for i in leaving.get(state, ()):
            ahead = edges[i].next_state
            if ahead is not None:
                depth[ahead] = max(depth.get(ahead, 0), depth[state] + 1)
    horizon = 1 + max(depth[edges[i].state] for i in kept)
    return _layered_arcs(edges, kept, leaving, depth, horizon), start


def waiting_name(destination: str | None, taken: Iterable[str]) -> str:
    """Return the label of a waiting state, never one the user has."""
    name = END_LABEL if destination is None else f"(to {destination})"
    names = taken if isinstance(taken, (set, frozenset, dict)) else set(taken)
    while name in names:
        name = f"({name})"
    return name


def _layered_arcs(
    edges: Sequence[Edge], kept: Sequence[int], leaving: dict[str, list[int]], depth: dict[str, int], horizon: int
) -> list[LayeredArc]:
    _check_padding(edges, kept, leaving, depth, horizon)
    names = set(depth) | {edge.state for edge in edges}
    arcs: list[LayeredArc] = []
    waits: dict[tuple[int, str | None], None] = {}
    labels: dict[str | None, str] = {}
    for i in kept:
        edge = edges[i]
        stage = depth[edge.state]
        goal = edge.next_state if edge.next_state in leaving else None
        arrival = horizon if goal is None else depth[goal]
        if arrival == stage + 1:
            ahead = goal
        else:
            ahead = labels.setdefault(goal, waiting_name(goal, names))
            for at in range(stage + 1, arrival):
                waits[at, goal] = None
        arcs.append(LayeredArc(stage, edge.state, edge.action, ahead, i))
    for at, goal in waits:
        arrival = horizon if goal is None else depth[goal]
        arcs.append(LayeredArc(at, labels[goal], PASS, goal if at + 1 == arrival else labels[goal], -1))
    return arcs


def _check_padding(
    edges: Sequence[Edge], kept: Sequence[int], leaving: dict[str, list[int]], depth: dict[str, int], horizon: int
) -> None:
    """Count the pass-through arcs before the first is made: for each destination from its earliest departure on."""
    first: dict[str | None, int] = {}
    for i in kept:
        goal = edges[i].next_state if edges[i].next_state in leaving else None
        stage = depth[edges[i].state]
        first[goal] = min(stage, first.get(goal, stage))
    needed = sum((horizon if goal is None else depth[goal]) - 1 - stage for goal, stage in first.items())
    if needed > max(MAX_PADDING, len(edges)):
        raise ProblemError(
            f"{word('paths', 'plans')} of very unequal length: {len(edges):,} rows would need {needed:,} pass-through "
            f"{word('arcs', 'options')}, and at most {max(MAX_PADDING, len(edges)):,} are added; give the rows "
            f"{word('stages of your own', 'a `stage` of your own')}"
        )


def _source(edges: Sequence[Edge], source: str | None) -> str:
    states = dict.fromkeys(edge.state for edge in edges)
    if source is not None:
        if source not in states:
            raise ProblemError(f"no row leaves the source {source!r}{suggest(source, states)}")
        return source
    led_to = {edge.next_state for edge in edges}
    starts = [state for state in states if state not in led_to]
    if len(starts) == 1:
        return starts[0]
    if not starts:
        raise ProblemError(
            "every state has a row that leads to it, so there is a cycle or no start; name the start with source"
        )
    shown = ", ".join(repr(state) for state in starts[:5]) + (", ..." if len(starts) > 5 else "")
    raise ProblemError(f"{len(starts)} states could be the start ({shown}); name one with source")


def _kept(edges: Sequence[Edge], start: str, target: str | None) -> list[int]:
    """List the rows on some path from the start to the target, in the order given."""
    leaving: dict[str, list[int]] = {}
    arriving: dict[str, list[int]] = {}
    for i, edge in enumerate(edges):
        if edge.state != target:  # a plan is over when it has reached its target
            leaving.setdefault(edge.state, []).append(i)
            if edge.next_state is not None:
                arriving.setdefault(edge.next_state, []).append(i)
    reached = _closure([start], lambda s: [edges[i].next_state for i in leaving.get(s, ())])
    if target is None:
        return [i for i, edge in enumerate(edges) if edge.state in reached]
    if target not in reached or target == start:
        known = {edge.state for edge in edges} | {edge.next_state for edge in edges if edge.next_state is not None}
        if target not in known:
            raise ProblemError(f"no row leads to the target {target!r}{suggest(target, known)}")
        raise ProblemError(f"the source {start!r} cannot reach the target {target!r}")
    useful = _closure([target], lambda s: [edges[i].state for i in arriving.get(s, ())])
    return [
        i
        for i, edge in enumerate(edges)
        if edge.state != target and edge.state in reached and edge.next_state in useful
    ]


def _closure(seeds: Sequence[str], neighbours: Callable[[str], Iterable[str | None]]) -> set[str]:
    seen, stack = set(seeds), list(seeds)
    while stack:
        for other in neighbours(stack.pop()):
            if other is not None and other not in seen:
                seen.add(other)
                stack.append(other)
    return seen


def _topological(edges: Sequence[Edge], kept: Sequence[int], start: str) -> list[str]:
    """Sort the states so that rows point forward, or raise an error that spells out a cycle."""
    ahead: dict[str, list[str]] = {}
    waiting: dict[str, int] = {start: 0}
    for i in kept:
        if (goal := edges[i].next_state) is not None:
            ahead.setdefault(edges[i].state, []).append(goal)
            waiting[goal] = waiting.get(goal, 0) + 1
    order = [state for state, count in waiting.items() if count == 0]
    for state in order:  # grows while it is read
        for goal in ahead.get(state, ()):
            waiting[goal] -= 1
            if waiting[goal] == 0:
                order.append(goal)
    if len(order) == len(waiting):
        return order
    # Every state left over has a predecessor left over: walking backwards must come round to itself.
    left = {state for state, count in waiting.items() if count > 0}
    before = {goal: state for state, goals in ahead.items() if state in left for goal in goals}
    state, trail = next(s for s in waiting if s in left), []
    while state not in trail:
        trail.append(state)
        state = before[state]
    cycle = [*reversed(trail[trail.index(state) :])]
    shown = " -> ".join(repr(s) for s in [cycle[-1], *cycle])
    raise ProblemError(
        f"the edges form a cycle: {shown}; without {word('stages', '`stage`')} the edges must form a DAG"
    )
