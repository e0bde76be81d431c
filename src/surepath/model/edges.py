"""Build an MDP from edges: read the rows, lay the states out in stages, assemble the CSR arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from surepath._checks import LARGEST, SMALLEST_SIGMA, FloatArray, is_real, is_whole, one_sigma, sigma_law, suggest
from surepath._text import word
from surepath.errors import ProblemError
from surepath.model.mdp import MDP

# Edge rows ------------------------------------------------------------------------------------------------------------
# Checks one row of an edge table on its own: names, stage and numbers, whatever form the row came in.

EdgeRow = Mapping[str, Any] | Sequence[Any]

NUMBERS = ("known", "sigma", "low", "high", "mean", "cost")
STAGES = 10**9  # stages are numbered below this
COLUMNS = ("stage", "state", "action", "next_state", *NUMBERS)


@dataclass(slots=True, frozen=True)
class Edge:
    """A checked row; NaN marks a number that was not given, None an absent stage or a plan that ends here."""

    place: str
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
        stage = "" if self.stage is None else f"{word('stage', 'step')} {self.stage}, "
        return f"{self.place} ({stage}state {self.state!r}, {word('action', 'option')} {self.action!r})"


class CheckedEdges(list[Edge]):
    """Edges that were checked one by one and against each other; nobody needs to check them again."""


def read_rows(rows: Iterable[EdgeRow], place: Callable[[int], str]) -> CheckedEdges:
    """Check every row; `place` names row i in messages ("row 3", "line 4", "edges[2]")."""
    rows = _of_frame(rows)
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise ProblemError(f"rows must be a list of edges, not {type(rows).__name__}")
    rows = list(rows)
    edges = [_edge(row, place(i)) for i, row in enumerate(rows)]
    if not edges:
        raise ProblemError("the edge table is empty; a problem needs at least one edge")
    ends = [
        (row.get("state"), row.get("next_state")) if isinstance(row, Mapping) else (row[-3], row[-1]) for row in rows
    ]
    return check_together(edges, ends)


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
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _cell(column: str, value: Any) -> Any:
    whole = isinstance(value, float) and value.is_integer() and column not in NUMBERS
    return int(value) if whole else value


def check_together(edges: Sequence[Edge], ends: Iterable[tuple[Any, Any]]) -> CheckedEdges:
    """Check edges against each other; `ends` holds the two states of each edge as they were written."""
    _refuse_namesakes(edges, ends)
    staged = [edge for edge in edges if edge.stage is not None]
    if staged and len(staged) < len(edges):
        name = word("stage", "`stage`")
        bare = next(edge for edge in edges if edge.stage is None)
        raise ProblemError(f"{bare} has no {name} while {staged[0].place} has one; give every row a {name} or none")
    return CheckedEdges(edges)


def _refuse_namesakes(edges: Sequence[Edge], ends: Iterable[tuple[Any, Any]]) -> None:
    """Refuse a state called 1 in one row and "1" in another: two values under one name."""
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


def _edge(row: EdgeRow, place: str) -> Edge:
    if isinstance(row, Mapping):
        fields = dict(row)
    elif isinstance(row, Sequence) and not isinstance(row, (str, bytes)) and len(row) in (3, 4):
        fields = dict(zip(COLUMNS[4 - len(row) : 4], row))
    else:
        raise ProblemError(
            f"{place} must be (state, action, next_state), (stage, state, action, next_state) or a mapping of "
            f"{', '.join(COLUMNS)}; got {row!r}"
        )
    for key in fields:
        if key not in COLUMNS:
            raise ProblemError(f"{place} has an unknown column {key!r}{suggest(str(key), COLUMNS)}")
    edge = Edge(
        place=place,
        stage=_stage(fields.get("stage"), place),
        state=_name("state", fields.get("state"), place),
        action=_name("action", fields.get("action"), place),
        next_state=None if _absent(fields.get("next_state")) else _name("next_state", fields["next_state"], place),
        **{what: _number(what, fields[what], place) for what in NUMBERS if what in fields},
    )
    if any(what in fields for what in NUMBERS):
        check_numbers(edge)
    return edge


def check_numbers(edge: Edge) -> None:
    """Refuse numbers of an edge that contradict each other."""
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
        raise ProblemError(f"{edge}: a known {word('reward', 'score')} has no noise; leave sigma out or drop known")
    if edge.known == edge.known and edge.mean == edge.mean and edge.mean != edge.known:
        raise ProblemError(
            f"{edge}: the known {word('reward', 'score')} {edge.known:g} and the mean {edge.mean:g} disagree"
        )
    if edge.mean < edge.low or edge.mean > edge.high:
        raise ProblemError(f"{edge}: the mean {edge.mean:g} lies outside [{edge.low:g}, {edge.high:g}]")


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
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if is_whole(value):
        return check_stage(int(value), place)
    raise ProblemError(f"{place}: stage must be a whole number 0, 1, 2, ...; got {value!r}")


def check_stage(stage: int, place: str) -> int:
    """Return a stage, or refuse a number that is none."""
    if 0 <= stage < STAGES:
        return stage
    raise ProblemError(f"{place}: stage must be a whole number 0, 1, 2, ...; got {stage!r}")


def _number(what: str, value: Any, place: str) -> float:
    if _absent(value):
        return nan
    if not isinstance(value, str) and not is_real(value):
        raise ProblemError(f"{place}: {what} must be a number, not {value!r}")
    try:
        number = float(value)
    except (ValueError, OverflowError) as cause:
        raise ProblemError(f"{place}: {what} must be a number, not {value!r}") from cause
    if not isfinite(number):
        raise ProblemError(f"{place}: {what} must be finite, not {number}")
    return check_size(what, number, place)


def check_size(what: str, number: float, place: str) -> float:
    """Return a finite number, or refuse one too large to add up."""
    if abs(number) > LARGEST:
        raise ProblemError(f"{place}: {what} must lie within {LARGEST:g} of 0, not {number:g}")
    return number


# Layering -------------------------------------------------------------------------------------------------------------
# From a general DAG of named states to stages: longest distance from the source, gaps filled by waiting nodes.
#
# An edge that spans several stages is played at its own stage and then waits. The waiting nodes are shared: one per
# (stage, destination), with a single pass-through arc of known reward 0, so padding adds at most one arc per stage
# and destination and nothing to learn.

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


# Assembly -------------------------------------------------------------------------------------------------------------
# From layered arcs to CSR arrays: numbering of states, actions, nodes and arcs, and the columns of numbers.


class EdgeTable(NamedTuple):
    """An edge table laid out as an MDP."""

    mdp: MDP
    means: FloatArray | None  # [N] mean of each arc where the table gives them


class _Numbering:
    """Labels to numbers: as listed, as they are when all are plain whole numbers, or in the order they are met."""

    def __init__(self, what: str, given: Sequence[str] | None, used: Iterable[tuple[str, bool]]) -> None:
        """Take names in use, (name, whether it is ours): names of waiting nodes need not be listed."""
        names = dict(used)
        self.open = False
        self.labels: tuple[str, ...] | None = None
        if given is not None:
            self.ids = {name: i for i, name in enumerate(given)}
            if len(self.ids) < len(given):
                twice = next(name for i, name in enumerate(given) if self.ids[name] != i)
                raise ProblemError(f"the list of {what}s names {twice!r} twice")
            for name, ours in names.items():
                if name not in self.ids:
                    if not ours:
                        raise ProblemError(f"{what} {name!r} is not in the list of {what}s{suggest(name, given)}")
                    self.ids[name] = len(self.ids)
            self.labels = tuple(self.ids)
        elif all(_is_plain(name) for name in names):
            self.ids = {name: int(name) for name in names}
        else:
            self.ids = {}
            self.open = True

    def of(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids)) if self.open else self.ids[name]

    def order(self, name: str) -> int:
        """Return where a name sorts: by number, those not met yet last."""
        return self.ids.get(name, 1 << 62)

    def finish(self) -> tuple[str, ...] | None:
        return tuple(self.ids) if self.open else self.labels


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 10 and str(int(name)) == name


def assemble(
    edges: Sequence[Edge],
    arcs: Sequence[LayeredArc],
    start: str,
    sigma: float | None,
    fallback: float | None,
    direction: str,
    states: Sequence[str] | None,
    actions: Sequence[str] | None,
    step_names: Sequence[str] | None,
    cost_weight: float = 0.0,
) -> EdgeTable:
    """Give numbers to nodes and arcs stage by stage, and fill the arrays."""
    horizon = 1 + max(arc.stage for arc in arcs)
    state_ids = _Numbering("state", states, ((arc.state, arc.row < 0) for arc in arcs))
    action_ids = _Numbering("action", actions, ((arc.action, arc.row < 0) for arc in arcs))
    table: list[dict[str, list[LayeredArc]]] = [{} for _ in range(horizon)]
    for arc in arcs:
        table[arc.stage].setdefault(arc.state, []).append(arc)

    first, target, action, node_state, stage_node, row_of_arc = [0], [], [], [], [0], []
    here = [start]
    state_ids.of(start)
    for h in range(horizon):
        ahead: dict[str, None] = {}
        leaving: list[LayeredArc] = []
        for state in here:
            own = sorted(table[h][state], key=lambda arc: action_ids.order(arc.action))
            node_state.append(state_ids.of(state))
            first.append(first[-1] + len(own))
            for arc in own:
                action.append(action_ids.of(arc.action))
                row_of_arc.append(arc.row)
                if arc.next_state is not None and arc.next_state not in ahead:
                    ahead[arc.next_state] = None
                    state_ids.of(arc.next_state)
            leaving += own
        stage_node.append(len(node_state))
        here = sorted(ahead, key=state_ids.of)
        place = {state: len(node_state) + i for i, state in enumerate(here)}
        target += [len(node_state) if arc.next_state is None else place[arc.next_state] for arc in leaving]

    used = [edges[row] if row >= 0 else None for row in row_of_arc]
    known = _column([0.0 if edge is None else edge.known for edge in used])
    low = _column([nan if edge is None else edge.low for edge in used])
    high = _column([nan if edge is None else edge.high for edge in used])
    mdp = MDP(
        first=np.array(first, dtype=np.int64),
        target=np.array(target, dtype=np.int64),
        stage_node=np.array(stage_node, dtype=np.int64),
        node_state=np.array(node_state, dtype=np.int64),
        action=np.array(action, dtype=np.int32),
        known=known,
        sigma=_sigma(used, sigma, fallback),
        reward_range=None
        if low is None or high is None
        else (np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)),
        state_labels=state_ids.finish(),
        action_labels=action_ids.finish(),
        direction=direction,
        step_labels=step_names,
        cost=np.array([0.0 if edge is None or edge.cost != edge.cost else edge.cost for edge in used]),
        cost_weight=cost_weight,
    )
    return EdgeTable(mdp, _means(used))


def _column(values: list[float]) -> FloatArray | None:
    """Return the values as an array, or None when there are none."""
    array = np.array(values, dtype=np.float64)
    return None if np.isnan(array).all() else array


def _sigma(used: Sequence[Edge | None], default: float | None, fallback: float | None) -> FloatArray | None:
    """Return sigma of each arc: its own, else the default, else NaN if it has a range, else the fallback; 0 if known.

    None when no arc to learn has one: then the ranges, if any, are all that is declared.
    """
    values, lacking, declared = [], [], False
    for edge in used:
        if edge is None or edge.known == edge.known:
            values.append(0.0)
            continue
        own = edge.sigma if edge.sigma == edge.sigma else nan if default is None else default
        if own != own and edge.low != edge.low:
            own = nan if fallback is None else fallback
            lacking += [edge] if own != own else []
        declared = declared or own == own or edge.low == edge.low
        values.append(own)
    if lacking and declared:
        raise ProblemError(f"{lacking[0]} has no sigma while other rows have; give it one, or a default sigma for all")
    array = np.array(values)
    learned = np.array([edge is not None and edge.known != edge.known for edge in used])
    return None if learned.any() and np.isnan(array[learned]).all() else array


def _means(used: Sequence[Edge | None]) -> FloatArray | None:
    values = [0.0 if edge is None else edge.known if edge.known == edge.known else edge.mean for edge in used]
    lacking = [edge for edge, value in zip(used, values) if edge is not None and value != value]
    if not lacking:
        return np.array(values)
    if all(edge is None or edge.mean != edge.mean for edge in used):
        return None
    raise ProblemError(f"{lacking[0]} has no mean while other rows have; give every edge a mean or none")


# Edges ----------------------------------------------------------------------------------------------------------------
# An MDP from an edge table: rows, or a CSV file, with or without stages.


def from_edges(
    rows: Iterable[EdgeRow] | str | Path,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    sigma: float | None = None,
    direction: str | None = None,
    cost_weight: float | None = None,
) -> MDP:
    """Build an MDP from rows, a pandas or polars frame, or a CSV file.

    A row is (stage, state, action, next_state), (state, action, next_state), or a mapping that may also hold `known`
    (a reward known in advance), `sigma`, `low`, `high`, `mean` and `cost`. Without stages the rows must form a DAG;
    states are laid out by their longest distance from the source, and shorter paths wait on pass-through arcs of known
    reward 0. An empty next state ends the path.

    Args:
        rows: The rows, a frame whose columns are named like the fields above, or the path of a CSV file with a header
            line. Empty cells (None, NaN) are fields that are not given.
        source: The first state; by default the only one it can be.
        target: Without stages: the state where paths end; by default every state without rows.
        sigma: Sub-Gaussian factor of the rows that give none of their own; half the range by default.
        direction: "maximize" (the default) or "minimize"; a CSV may say it in a line "# direction: minimize".
        cost_weight: What one unit of `cost` takes from a path's worth; by default 0, or what a CSV says in a line
            "# cost_weight: 0.5".

    Example:
        >>> mdp = from_edges([("home", "bus", "work"), ("home", "walk", "park"), ("park", "walk", "work")])
        >>> mdp.horizon, mdp.n_arcs, mdp.n_paths
        (2, 4, 2)
    """
    if isinstance(rows, (str, Path)):
        from surepath.model.text_files import read_csv, table_direction

        file = Path(rows)
        table = read_csv(file)
        direction = table_direction(table, direction, file.name)
        rows, place = table.rows, table.place
        cost_weight = table.cost_weight if cost_weight is None else cost_weight
    else:
        place = None
    towards = "maximize" if direction is None else direction
    weight = 0.0 if cost_weight is None else cost_weight
    built = read_edges(
        rows, source=source, target=target, sigma=sigma, direction=towards, place=place, cost_weight=weight
    )
    return built.mdp


def read_edges(
    rows: Iterable[EdgeRow] | CheckedEdges,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    sigma: float | None = None,
    fallback: float | None = None,
    direction: str = "maximize",
    states: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    step_names: Sequence[str] | None = None,
    horizon: int | None = None,
    place: Callable[[int], str] | None = None,
    cost_weight: float = 0.0,
) -> EdgeTable:
    """Build an MDP from rows, and collect the means that they give.

    Args:
        rows: See `from_edges`; or edges that were checked already.
        source, target, sigma, direction, cost_weight: See `from_edges`.
        fallback: Sub-Gaussian factor of the rows that have neither sigma nor range, when `sigma` is not given.
        states, actions: Names in the order they are to be numbered; by default in the order they are met, and
            plain whole numbers are their own numbers.
        step_names: Names of the stages, one each.
        horizon: With stages: how many there are, when all paths may end before the last one.
        place: Names row i in messages; "row 1" is the first by default.
    """
    edges = rows if isinstance(rows, CheckedEdges) else read_rows(rows, place or (lambda i: f"row {i + 1}"))
    sigma, fallback = (None if number is None else one_sigma(number, ProblemError) for number in (sigma, fallback))
    start = None if source is None else str(source)
    goal = None if target is None else str(target)
    _refuse_twins(edges)
    if edges[0].stage is None:
        arcs, start = layer(edges, start, goal)
    elif goal is not None:
        raise ProblemError(
            word(
                "target is for tables without stages; with stages every path ends after the last one",
                "target is for tables without `stage`; with it every plan ends after the last step",
            )
        )
    else:
        arcs, start = _staged(edges, start, horizon)
    return assemble(edges, arcs, start, sigma, fallback, direction, states, actions, step_names, cost_weight)


def _path() -> str:
    return word("path", "plan")


def _refuse_twins(edges: Sequence[Edge]) -> None:
    seen: dict[tuple[int | None, str, str], Edge] = {}
    for edge in edges:
        twin = seen.setdefault((edge.stage, edge.state, edge.action), edge)
        if twin is not edge:
            law = word("action leads to one place from one state and stage", "option leads to one place from one state")
            raise ProblemError(f"{edge} repeats {twin.place}; an {law}")


def _staged(edges: Sequence[Edge], source: str | None, horizon: int | None) -> tuple[list[LayeredArc], str]:
    """Read the arcs of a table that has stages; a path that ends early waits until the last stage."""
    name = word("stage", "step")
    stages = {cast(int, edge.stage) for edge in edges}
    last = max(stages)
    horizon = max(last + 1, horizon or 0)
    if min(stages) != 0:
        raise ProblemError(f"{name}s are numbered from 0; the lowest here is {min(stages)}")
    if len(stages) <= last:
        gap = next(h for h in range(last) if h not in stages)
        raise ProblemError(f"no row has {name} {gap}, but there is a {name} {last}; {name}s leave no gaps")
    firsts = list(dict.fromkeys(edge.state for edge in edges if edge.stage == 0))
    if source is None and len(firsts) > 1:
        shown = ", ".join(repr(s) for s in firsts[:5]) + (", ..." if len(firsts) > 5 else "")
        raise ProblemError(
            f"{name} 0 has {len(firsts)} states ({shown}); a {_path()} starts in one: name it with source"
        )
    if source is not None and source not in firsts:
        raise ProblemError(f"no row of {name} 0 leaves the source {source!r}{suggest(source, firsts)}")

    places: dict[str, list[int]] = {}
    for edge in edges:
        places.setdefault(edge.state, []).append(cast(int, edge.stage))
    present = {(cast(int, edge.stage), edge.state) for edge in edges}
    end = waiting_name(None, places)
    arcs, first_wait = [], horizon
    reached: list[set[str]] = [set() for _ in range(horizon + 1)]
    reached[0].add(source or firsts[0])
    for i in sorted(range(len(edges)), key=lambda i: cast(int, edges[i].stage)):
        edge, h = edges[i], cast(int, edges[i].stage)
        if edge.state not in reached[h]:
            continue
        ahead = edge.next_state
        if h == horizon - 1:
            ahead = None
        elif ahead is None:
            ahead, first_wait = end, min(first_wait, h + 1)
        elif (h + 1, ahead) not in present:
            raise ProblemError(_dead_end(edge, h, ahead, places))
        else:
            reached[h + 1].add(ahead)
        arcs.append(LayeredArc(h, edge.state, edge.action, ahead, i))
    arcs += [LayeredArc(h, end, PASS, end if h + 1 < horizon else None, -1) for h in range(first_wait, horizon)]
    return arcs, source or firsts[0]


def _dead_end(edge: Edge, stage: int, ahead: str, places: dict[str, list[int]]) -> str:
    name, option = word("stage", "step"), word("action", "option")
    other = sorted(set(places.get(ahead, [])))
    if other:
        shown = ", ".join(map(str, other[:5]))
        return (
            f"{edge} leads to state {ahead!r} at {name} {stage + 1}, where it has no {option}; it has some at {name} "
            f"{shown}, and {word('arcs', 'edges')} join consecutive {name}s"
        )
    return (
        f"{edge} leads to state {ahead!r}, which has no {option} at {name} {stage + 1}; "
        f"add its rows, or leave next_state empty where a {_path()} ends"
    )
