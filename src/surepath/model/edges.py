"""Build an MDP from edges: read the rows, lay the states out in stages, number what was found.

Rows of any form become `Edge`s, one checked row each. `build` gives every edge a stage and adds the pass-through edges
on which shorter plans wait; then states, options and nodes are numbered, and the edges become the arrays of an MDP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from math import isfinite, nan
from typing import Any, NamedTuple, cast

import numpy as np

from surepath._checks import (
    LARGEST,
    SMALLEST_SIGMA,
    FloatArray,
    is_real,
    is_whole,
    one_sigma,
    repeated,
    sigma_law,
    suggest,
)
from surepath.errors import ProblemError
from surepath.model.mdp import MDP

EdgeRow = Mapping[str, Any] | Sequence[Any]

NUMBERS = ("known", "sigma", "low", "high", "mean", "cost")
COLUMNS = ("stage", "state", "action", "next_state", *NUMBERS)
STAGES = 10**9  # stages are numbered below this
PASS = "(pass)"
END_LABEL = "(end)"
# Pass-through edges; each takes some 500 bytes while the graph is laid out. As many as there are rows are always taken.
MAX_PADDING = 1_000_000


class Edge(NamedTuple):
    """A checked row; NaN marks a number that was not given, None an absent stage or a plan that ends here."""

    place: str  # in messages: "row 3"; empty where we added the edge ourselves
    stage: int | None
    state: str
    action: str
    next_state: str | None
    known: float = nan
    sigma: float = nan
    low: float = nan
    high: float = nan
    mean: float = nan
    cost: float = nan

    def __str__(self) -> str:
        stage = "" if self.stage is None else f"stage {self.stage}, "
        return f"{self.place} ({stage}state {self.state!r}, option {self.action!r})"


def build(
    edges: Sequence[Edge],
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    sigma: float | None = None,
    fallback: float | None = None,
    direction: str = "maximize",
    states: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    horizon: int | None = None,
    **fields: Any,
) -> tuple[MDP, FloatArray | None]:
    """Build an MDP from checked edges; return also the mean of each arc, float [N], where the edges give them.

    Args:
        edges: At least one.
        source, target, sigma, direction: See `MDP.from_edges`.
        fallback: Sub-Gaussian factor of the edges that have neither sigma nor range, when `sigma` is not given.
        states, actions: Names in the order they are to be numbered; by default in the order they are met, and
            plain whole numbers are their own numbers.
        horizon: With stages: how many there are, when all plans may end before the last one.
        fields: Further fields of the MDP.
    """
    sigma, fallback = (None if number is None else one_sigma(number, ProblemError) for number in (sigma, fallback))
    start = None if source is None else str(source)
    seen: dict[tuple[int | None, str, str], Edge] = {}
    for edge in edges:
        twin = seen.setdefault((edge.stage, edge.state, edge.action), edge)
        if twin is not edge:
            raise ProblemError(f"{edge} repeats {twin.place}; an option leads to one place from one state")
    if edges[0].stage is None:
        arcs, start = _layered(edges, start, None if target is None else str(target))
    elif target is not None:
        raise ProblemError("target is for tables without `stage`; with it every plan ends after the last step")
    else:
        arcs, start = _staged(edges, start, horizon)
    return _assembled(arcs, start, sigma, fallback, states, actions, {"direction": direction, **fields})


# Rows -----------------------------------------------------------------------------------------------------------------


def read_rows(rows: Any, place: Callable[[int], str] = lambda i: f"row {i + 1}") -> list[Edge]:
    """Check every row; `place` names row i in messages ("row 3", "line 4")."""
    rows = _of_frame(rows)
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise ProblemError(f"rows must be a list of edges, not {type(rows).__name__}")
    edges, ends = [], []
    for i, row in enumerate(rows):
        fields = _fields(row, place(i))
        edges.append(_edge(fields, place(i)))
        ends.append((fields.get("state"), fields.get("next_state")))
    if not edges:
        raise ProblemError("the edge table is empty; a problem needs at least one edge")
    _check_together(edges, ends)
    return edges


def _check_together(edges: Sequence[Edge], ends: Iterable[tuple[Any, Any]]) -> None:
    """Refuse edges that contradict each other; `ends` holds the two states of each edge as they were written.

    A state called 1 in one row and "1" in another would be two values under one name.
    """
    as_text: dict[str, tuple[bool, str]] = {}
    for edge, given in zip(edges, ends):
        for name, value in zip((edge.state, edge.next_state), given):
            if name is not None:
                text, place = as_text.setdefault(name, (isinstance(value, str), edge.place))
                if text != isinstance(value, str):
                    raise ProblemError(
                        f"{edge.place} has the state {value!r} where {place} has {name if not text else repr(name)}; "
                        f"write a state's name the same way everywhere, as a number or as text"
                    )
    staged = next((edge for edge in edges if edge.stage is not None), None)
    bare = next((edge for edge in edges if edge.stage is None), None)
    if staged and bare:
        raise ProblemError(f"{bare} has no `stage` while {staged.place} has one; give every row a `stage` or none")


def _check_numbers(edge: Edge) -> None:
    """Refuse numbers of an edge that are too large to add up or contradict each other."""
    large = next((what for what in NUMBERS if abs(getattr(edge, what)) > LARGEST), None)
    if large is not None:
        raise ProblemError(f"{edge.place}: {large} must lie within {LARGEST:g} of 0, not {getattr(edge, large):g}")
    if edge.sigma != 0 and edge.sigma < SMALLEST_SIGMA:
        raise ProblemError(f"{edge}: {sigma_law(edge.sigma)}, not {edge.sigma:g}")
    if (edge.low == edge.low) != (edge.high == edge.high):
        raise ProblemError(f"{edge}: low and high go together; give both or neither")
    if edge.low > edge.high:
        raise ProblemError(f"{edge}: low must not exceed high, but {edge.low:g} > {edge.high:g}")
    if 0 < edge.high - edge.low < 2 * SMALLEST_SIGMA:
        raise ProblemError(f"{edge}: low and high must be equal or differ by {2 * SMALLEST_SIGMA:g} or more")
    if edge.cost < 0:
        raise ProblemError(f"{edge}: a cost is a number of at least 0, not {edge.cost:g}")
    if edge.known == edge.known and edge.sigma > 0:
        raise ProblemError(f"{edge}: a known score has no noise; leave sigma out or drop known")
    if edge.known == edge.known and edge.mean == edge.mean and edge.mean != edge.known:
        raise ProblemError(f"{edge}: the known score {edge.known:g} and the mean {edge.mean:g} disagree")
    if edge.mean < edge.low or edge.mean > edge.high:
        raise ProblemError(f"{edge}: the mean {edge.mean:g} lies outside [{edge.low:g}, {edge.high:g}]")


def _of_frame(rows: Any) -> Any:
    """Turn a pandas or polars frame into mappings without its empty cells; leave everything else as it is.

    A column of whole numbers with empty cells comes as floats: a name such as 3.0 is the number 3.
    """
    if hasattr(rows, "to_dicts"):
        records = rows.to_dicts()
    elif hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        records = rows.to_dict("records")
    else:
        return rows
    return [{str(key): _cell(str(key), value) for key, value in row.items() if not _empty(value)} for row in records]


def _empty(value: Any) -> bool:
    missing = type(value).__name__ in ("NoneType", "NAType", "NaTType")
    return missing or (isinstance(value, float) and value != value)


def _cell(column: str, value: Any) -> Any:
    whole = isinstance(value, float) and value.is_integer() and column not in NUMBERS
    return int(value) if whole else value


def _fields(row: EdgeRow, place: str) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        unknown = next((key for key in row if key not in COLUMNS and key != "about"), None)
        if unknown is not None:
            raise ProblemError(f"{place} has an unknown column {unknown!r}{suggest(str(unknown), COLUMNS)}")
        return row
    if isinstance(row, Sequence) and not isinstance(row, (str, bytes)) and len(row) in (3, 4):
        return dict(zip(COLUMNS[4 - len(row) : 4], row))
    raise ProblemError(
        f"{place} must be (state, action, next_state), (stage, state, action, next_state) or a mapping of "
        f"{', '.join(COLUMNS)}; got {row!r}"
    )


def _edge(fields: Mapping[str, Any], place: str) -> Edge:
    edge = Edge(
        place,
        _stage(fields.get("stage"), place),
        _name("state", fields.get("state"), place),
        _name("action", fields.get("action"), place),
        None if _absent(fields.get("next_state")) else _name("next_state", fields["next_state"], place),
        **{what: _number(what, fields[what], place) for what in NUMBERS if what in fields},
    )
    if any(what in fields for what in NUMBERS):
        _check_numbers(edge)
    return edge


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value)


def _name(what: str, value: Any, place: str) -> str:
    if _absent(value):
        raise ProblemError(f"{place} has no {what}; every row names its state and its action")
    if isinstance(value, str):
        return value
    if is_whole(value):
        return str(value)
    raise ProblemError(f"{place}: {what} must be text or a whole number, not {value!r}")


def _stage(value: Any, place: str) -> int | None:
    if _absent(value):
        return None
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10
    if (digits or is_whole(value)) and 0 <= int(value) < STAGES:
        return int(value)
    raise ProblemError(f"{place}: stage must be a whole number 0, 1, 2, ...; got {value!r}")


def _number(what: str, value: Any, place: str) -> float:
    if _absent(value):
        return nan
    try:
        number = float(value) if isinstance(value, str) or is_real(value) else None
    except (ValueError, OverflowError):
        number = None
    if number is None:
        raise ProblemError(f"{place}: {what} must be a number, not {value!r}")
    if not isfinite(number):
        raise ProblemError(f"{place}: {what} must be finite, not {number}")
    return number


# Stages ---------------------------------------------------------------------------------------------------------------
# Edges without stages form a DAG of named states: a state's stage is its longest distance from the source. An edge that
# spans several stages is played at its own stage and then waits. The waiting nodes are shared: one per (stage,
# destination), with a single pass-through edge of known score 0, so padding adds at most one edge per stage and
# destination and nothing to learn.


def _layered(edges: Sequence[Edge], source: str | None, target: str | None) -> tuple[list[Edge], str]:
    """Give stages to edges that have none; return them with the pass-through edges, and the source.

    Args:
        edges: Rows without stages.
        source: Where plans start; by default the one state that no row leads to.
        target: Where plans must end; by default any state without rows, and rows with an empty next state.
    """
    start = _source(edges, source)
    kept = _kept(edges, start, target)
    leaving: dict[str, list[Edge]] = {}
    for edge in kept:
        leaving.setdefault(edge.state, []).append(edge)
    depth = {start: 0}
    for state in _topological(kept):
        for edge in leaving.get(state, ()):
            if edge.next_state is not None:
                depth[edge.next_state] = max(depth.get(edge.next_state, 0), depth[state] + 1)
    horizon = 1 + max(depth[edge.state] for edge in kept)
    arrival: dict[str | None, int] = {state: depth[state] for state in leaving} | {None: horizon}
    goals = [edge.next_state if edge.next_state in leaving else None for edge in kept]  # None: the end
    _check_padding([depth[edge.state] for edge in kept], goals, arrival, len(edges))

    names = set(depth) | {edge.state for edge in edges}
    arcs: list[Edge] = []
    waits: dict[tuple[int, str | None], None] = {}
    labels: dict[str | None, str] = {}
    for edge, goal in zip(kept, goals):
        stage, ahead = depth[edge.state], goal
        if arrival[goal] > stage + 1:
            ahead = labels.setdefault(goal, _waiting_name(goal, names))
            waits |= dict.fromkeys((at, goal) for at in range(stage + 1, arrival[goal]))
        arcs.append(edge._replace(stage=stage, next_state=ahead))
    for at, goal in waits:
        arcs.append(_pass(at, labels[goal], goal if at + 1 == arrival[goal] else labels[goal]))
    return arcs, start


def _pass(stage: int, state: str, next_state: str | None) -> Edge:
    return Edge("", stage, state, PASS, next_state, known=0.0)


def _waiting_name(destination: str | None, taken: Iterable[str]) -> str:
    """Return the label of a waiting state, never one the user has."""
    name = END_LABEL if destination is None else f"(to {destination})"
    while name in taken:
        name = f"({name})"
    return name


def _check_padding(
    stages: Sequence[int], goals: Sequence[str | None], arrival: Mapping[str | None, int], rows: int
) -> None:
    """Count the pass-through edges before the first is made: for each destination from its earliest departure on."""
    first: dict[str | None, int] = {}
    for stage, goal in zip(stages, goals):
        first[goal] = min(stage, first.get(goal, stage))
    needed, most = sum(arrival[goal] - 1 - stage for goal, stage in first.items()), max(MAX_PADDING, rows)
    if needed > most:
        raise ProblemError(
            f"plans of very unequal length: {rows:,} rows would need {needed:,} pass-through options, and at most "
            f"{most:,} are added; give the rows a `stage` of your own"
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
    raise ProblemError(f"{len(starts)} states could be the start ({_some(starts)}); name one with source")


def _some(states: Sequence[str]) -> str:
    return ", ".join(repr(state) for state in states[:5]) + (", ..." if len(states) > 5 else "")


def _kept(edges: Sequence[Edge], start: str, target: str | None) -> list[Edge]:
    """List the edges on some plan from the start to the target, in the order given."""
    ahead: dict[str, list[str]] = {}
    behind: dict[str, list[str]] = {}
    for edge in edges:
        if edge.state != target and edge.next_state is not None:  # a plan is over when it has reached its target
            ahead.setdefault(edge.state, []).append(edge.next_state)
            behind.setdefault(edge.next_state, []).append(edge.state)
    reached = _closure(start, ahead)
    if target is None:
        return [edge for edge in edges if edge.state in reached]
    if target not in reached or target == start:
        known = {edge.state for edge in edges} | {edge.next_state for edge in edges if edge.next_state is not None}
        if target not in known:
            raise ProblemError(f"no row leads to the target {target!r}{suggest(target, known)}")
        raise ProblemError(f"the source {start!r} cannot reach the target {target!r}")
    useful = _closure(target, behind)
    return [edge for edge in edges if edge.state != target and edge.state in reached and edge.next_state in useful]


def _closure(seed: str, neighbours: Mapping[str, list[str]]) -> set[str]:
    seen, stack = {seed}, [seed]
    while stack:
        for other in neighbours.get(stack.pop(), ()):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen


def _topological(edges: Sequence[Edge]) -> list[str]:
    """Sort the states so that rows point forward, or raise an error that spells out a cycle."""
    before: dict[str, list[str]] = {edge.state: [] for edge in edges}
    for edge in edges:
        if edge.next_state is not None:
            before.setdefault(edge.next_state, []).append(edge.state)
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError as cause:
        shown = " -> ".join(map(repr, cause.args[1]))
        raise ProblemError(f"the edges form a cycle: {shown}; without `stage` the edges must form a DAG") from None


def _staged(edges: Sequence[Edge], source: str | None, horizon: int | None) -> tuple[list[Edge], str]:
    """Keep what can be reached of edges that have stages; a plan that ends early waits until the last stage."""
    stages = {cast(int, edge.stage) for edge in edges}
    last = max(stages)
    horizon = max(last + 1, horizon or 0)
    if min(stages) != 0:
        raise ProblemError(f"stages are numbered from 0; the lowest here is {min(stages)}")
    if len(stages) <= last:
        gap = next(h for h in range(last) if h not in stages)
        raise ProblemError(f"no row has stage {gap}, but there is a stage {last}; stages leave no gaps")
    firsts = list(dict.fromkeys(edge.state for edge in edges if edge.stage == 0))
    if source is None and len(firsts) > 1:
        raise ProblemError(
            f"stage 0 has {len(firsts)} states ({_some(firsts)}); a plan starts in one: name it with source"
        )
    if source is not None and source not in firsts:
        raise ProblemError(f"no row of stage 0 leaves the source {source!r}{suggest(source, firsts)}")

    present = {(edge.stage, edge.state) for edge in edges}
    end = _waiting_name(None, {edge.state for edge in edges})
    arcs, first_wait = [], horizon
    reached: list[set[str]] = [set() for _ in range(horizon + 1)]
    reached[0].add(source or firsts[0])
    for edge in sorted(edges, key=lambda edge: cast(int, edge.stage)):
        h, ahead = cast(int, edge.stage), edge.next_state
        if edge.state not in reached[h]:
            continue
        if h == horizon - 1:
            ahead = None
        elif ahead is None:
            ahead, first_wait = end, min(first_wait, h + 1)
        elif (h + 1, ahead) not in present:
            raise ProblemError(_dead_end(edge, h, ahead, present))
        else:
            reached[h + 1].add(ahead)
        arcs.append(edge._replace(next_state=ahead))
    arcs += [_pass(h, end, end if h + 1 < horizon else None) for h in range(first_wait, horizon)]
    return arcs, source or firsts[0]


def _dead_end(edge: Edge, stage: int, ahead: str, present: set[tuple[int | None, str]]) -> str:
    other = sorted(cast(int, at) for at, state in present if state == ahead)
    if other:
        shown = ", ".join(map(str, other[:5]))
        return (
            f"{edge} leads to state {ahead!r} at stage {stage + 1}, where it has no option; it has some at stage "
            f"{shown}, and edges join consecutive stages"
        )
    return (
        f"{edge} leads to state {ahead!r}, which has no option at stage {stage + 1}; "
        f"add its rows, or leave next_state empty where a plan ends"
    )


# Assembly -------------------------------------------------------------------------------------------------------------
# From edges with stages to CSR arrays: numbering of states, actions, nodes and arcs, and the columns of numbers.


def _numbering(what: str, given: Sequence[str] | None, used: Iterable[tuple[str, bool]]) -> tuple[dict[str, int], bool]:
    """Give labels their numbers: as listed, or their own when all are whole numbers, else in the order they are met.

    Returns the numbers, to which names that are met are added, and whether labels are plain numbers. `used` holds all
    names in use and whether each is ours: names of waiting nodes need not be listed.
    """
    names = dict(used)
    if given is None:
        plain = all(n.isascii() and n.isdigit() and len(n) < 10 and str(int(n)) == n for n in names)
        return ({name: int(name) for name in names} if plain else {}), plain
    ids = {name: i for i, name in enumerate(given)}
    if (twice := repeated(given)) is not None:
        raise ProblemError(f"the list of {what}s names {twice!r} twice")
    for name, ours in names.items():
        if name not in ids and not ours:
            raise ProblemError(f"{what} {name!r} is not in the list of {what}s{suggest(name, given)}")
        ids.setdefault(name, len(ids))
    return ids, False


def _assembled(
    arcs: Sequence[Edge],
    start: str,
    sigma: float | None,
    fallback: float | None,
    states: Sequence[str] | None,
    actions: Sequence[str] | None,
    fields: dict[str, Any],
) -> tuple[MDP, FloatArray | None]:
    """Give numbers to nodes and arcs stage by stage, and fill the arrays."""
    state_ids, plain_states = _numbering("state", states, ((arc.state, not arc.place) for arc in arcs))
    action_ids, plain_actions = _numbering("action", actions, ((arc.action, not arc.place) for arc in arcs))
    table: dict[tuple[int | None, str], list[Edge]] = {}
    for arc in arcs:
        table.setdefault((arc.stage, arc.state), []).append(arc)

    first, target, action, node_state, stage_node = [0], [], [], [], [0]
    used: list[Edge] = []  # in the order of arc numbers
    here = [start]
    state_ids.setdefault(start, 0)
    while here:
        leaving: list[Edge] = []
        ahead: dict[str, None] = {}
        for state in here:
            own = sorted(table[len(stage_node) - 1, state], key=lambda arc: action_ids.get(arc.action, 1 << 62))
            node_state.append(state_ids[state])
            first.append(first[-1] + len(own))
            for arc in own:
                action.append(action_ids.setdefault(arc.action, len(action_ids)))
                if arc.next_state is not None and arc.next_state not in ahead:
                    ahead[arc.next_state] = None
                    state_ids.setdefault(arc.next_state, len(state_ids))
            leaving += own
        stage_node.append(len(node_state))
        here = sorted(ahead, key=state_ids.__getitem__)
        place = {state: len(node_state) + i for i, state in enumerate(here)}
        target += [len(node_state) if arc.next_state is None else place[arc.next_state] for arc in leaving]
        used += leaving

    column = {what: np.array([getattr(arc, what) for arc in used]) for what in NUMBERS}
    low, high = column["low"], column["high"]
    mdp = MDP(
        first=np.array(first),
        target=np.array(target),
        stage_node=np.array(stage_node),
        node_state=np.array(node_state),
        action=np.array(action),
        known=None if np.isnan(column["known"]).all() else column["known"],
        sigma=_sigma(used, column, sigma, fallback),
        reward_range=None
        if np.isnan(low).all()
        else (np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)),
        state_labels=None if plain_states else tuple(state_ids),
        action_labels=None if plain_actions else tuple(action_ids),
        cost=np.nan_to_num(column["cost"]),
        **fields,
    )
    return mdp, _means(used, column)


def _sigma(
    used: Sequence[Edge], column: Mapping[str, FloatArray], default: float | None, fallback: float | None
) -> FloatArray | None:
    """Return sigma of each arc: its own, else the default, else NaN if it has a range, else the fallback; 0 if known.

    None when no arc to learn has one: then the ranges, if any, are all that is declared.
    """
    learned, ranged = np.isnan(column["known"]), ~np.isnan(column["low"])
    values = np.where(learned, column["sigma"], 0.0)
    if default is not None:
        values = np.where(np.isnan(values), default, values)
    if fallback is not None:
        values = np.where(np.isnan(values) & ~ranged, fallback, values)
    lacking = np.flatnonzero(np.isnan(values) & ~ranged)
    if lacking.size and (learned & ~np.isnan(values) | learned & ranged).any():
        edge = used[lacking[0]]
        raise ProblemError(f"{edge} has no sigma while other rows have; give it one, or a default sigma for all")
    return None if learned.any() and np.isnan(values[learned]).all() else values


def _means(used: Sequence[Edge], column: Mapping[str, FloatArray]) -> FloatArray | None:
    values = np.where(np.isnan(column["known"]), column["mean"], column["known"])
    lacking = np.flatnonzero(np.isnan(values))
    if not lacking.size:
        return values
    if np.isnan(column["mean"]).all():
        return None
    raise ProblemError(f"{used[lacking[0]]} has no mean while other rows have; give every edge a mean or none")
