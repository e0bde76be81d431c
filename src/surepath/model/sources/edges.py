"""An MDP from an edge table: rows, or a CSV file, with or without stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from surepath._checks import one_sigma, suggest
from surepath._text import word
from surepath.errors import ProblemError
from surepath.model.mdp import MDP
from surepath.model.sources.assembly import EdgeTable, assemble
from surepath.model.sources.edge_rows import CheckedEdges, Edge, EdgeRow, read_rows
from surepath.model.sources.layering import PASS, LayeredArc, layer, waiting_name

__all__ = ["EdgeRow", "EdgeTable", "from_edges", "read_edges"]


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
        from surepath.model.sources.csv_table import read_csv, table_direction

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
