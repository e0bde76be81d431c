"""Checks one row of an edge table on its own: names, stage and numbers, whatever form the row came in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from surepath._checks import LARGEST, SMALLEST_SIGMA, sigma_law, suggest
from surepath._numbers import is_real, is_whole
from surepath._text import word
from surepath.errors import ProblemError

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
