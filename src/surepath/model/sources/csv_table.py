"""The edge-table CSV: a header line, one edge a line, lines that start with # are remarks.

The remark "# direction: minimize" is read. A column may be called cost, time, price or latency in place of mean, in a
table that says whether it is to be minimised: the numbers do not show it. In a table that has a column mean too,
or the remark "# cost_weight: 0.5", the column cost holds the known costs of options.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from surepath._checks import repeated, suggest
from surepath.errors import ProblemError
from surepath.model.mdp import MDP
from surepath.model.sources.edge_rows import COLUMNS
from surepath.model.sources.textfile import MAX_BYTES, csv_line, plain_cell, read_text

COSTS = ("cost", "time", "price", "latency")
DIRECTIONS = ("maximize", "minimize")


class CsvTable(NamedTuple):
    """The rows of a CSV edge table and the line of each."""

    rows: list[dict[str, str]]
    place: Callable[[int], str]
    direction: str | None = None  # as a remark says
    costs: str | None = None  # the column that is read as mean
    cost_weight: float = 0.0  # of known costs, as a remark says


def read_csv(path: Path, max_bytes: int = MAX_BYTES) -> CsvTable:
    """Read an edge table; names and numbers are still text."""
    return parse_csv(read_text(path, max_bytes), path.name)


def parse_csv(text: str, name: str) -> CsvTable:
    """Return the rows of a CSV text; `name` is the file in messages."""
    header: list[str] | None = None
    rows: list[dict[str, str]] = []
    lines: list[int] = []
    direction = costs = weight = None
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            direction = _direction(line, name, number) or direction
            said = _weight(line, name, number)
            weight = weight if said is None else said
            continue
        if "\0" in line:
            raise ProblemError(f"{name}, line {number} holds a NUL byte; an edge table is plain text")
        try:
            cells = [plain_cell(cell.strip()) for cell in next(csv.reader([line], strict=True))]
        except csv.Error as cause:
            raise ProblemError(f"{name}, line {number} is not valid CSV: {cause}") from cause
        if header is None:
            costs = next((cell for cell in cells if cell in COSTS), None)
            if costs == "cost" and ("mean" in cells or weight is not None):
                costs = None
            header = _header(["mean" if cell == costs else cell for cell in cells], name, number)
            continue
        if len(cells) != len(header):
            raise ProblemError(f"{name}, line {number} has {len(cells)} cells; the header has {len(header)} columns")
        rows.append(dict(zip(header, cells)))
        lines.append(number)
    if header is None:
        raise ProblemError(f"{name} is empty; an edge table starts with a header line such as state,action,next_state")
    return CsvTable(rows, lambda i: f"{name}, line {lines[i]}", direction, costs, weight or 0.0)


def table_direction(table: CsvTable, given: str | None, name: str) -> str:
    """Decide the direction of a table: as its remark or the caller says; a column of costs needs one of the two."""
    if given is not None and table.direction is not None and given != table.direction:
        raise ProblemError(f'{name} says "# direction: {table.direction}"; it cannot be read as "{given}"')
    found = given or table.direction
    if found is None and table.costs is not None:
        raise ProblemError(
            f"{name} has a column {table.costs!r}, and nothing says whether less is better; write the line "
            f'"# direction: minimize" at its top, or pass direction="minimize" (--direction minimize)'
        )
    return found or "maximize"


def _direction(line: str, name: str, number: int) -> str | None:
    """Read the remark that names the direction."""
    match = re.fullmatch(r"\s*#\s*direction\s*[:=]\s*(\S+)\s*", line)
    if match is None:
        return None
    if match.group(1) not in DIRECTIONS:
        raise ProblemError(
            f"{name}, line {number}: the direction is {DIRECTIONS[0]} or {DIRECTIONS[1]}, not {match.group(1)!r}"
        )
    return match.group(1)


def _weight(line: str, name: str, number: int) -> float | None:
    """Read the remark that gives the weight of known costs."""
    match = re.fullmatch(r"\s*#\s*cost_weight\s*[:=]\s*(\S+)\s*", line)
    if match is None:
        return None
    try:
        found = float(match.group(1))
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise ProblemError(
            f"{name}, line {number}: cost_weight is a number of at least 0, what one unit of cost takes from the "
            f"score; not {match.group(1)!r}"
        )
    return found


def _header(cells: list[str], name: str, number: int) -> list[str]:
    for cell in cells:
        if cell not in COLUMNS:
            hint = "; separate columns with commas" if ";" in cell or "\t" in cell else suggest(cell, COLUMNS)
            raise ProblemError(f"{name}, line {number} has an unknown column {cell!r}{hint}")
    twice = repeated(cells)
    if twice is not None:
        raise ProblemError(f"{name}, line {number} names the column {twice!r} twice")
    for needed in ("state", "action", "next_state"):
        if needed not in cells:
            raise ProblemError(f"{name}, line {number} lacks the column {needed!r}")
    return cells


def csv_text(rows: list[dict[str, object]], mdp: MDP) -> str:
    """Return the edge table as CSV text, with only the columns that some row uses."""
    used = [column for column in COLUMNS if column in COLUMNS[:4] or any(column in row for row in rows)]
    out = io.StringIO()
    if mdp.direction != "maximize":
        out.write(f"# direction: {mdp.direction}\n")
    if mdp.cost is not None:
        out.write(f"# cost_weight: {mdp.cost_weight!r}\n")
    out.write(csv_line(used))
    for row in rows:
        for what in ("state", "action", "next_state"):
            label = row.get(what)
            if isinstance(label, str) and (
                label != label.strip() or label.startswith("#") or any(c in label for c in "\r\n\0")
            ):
                raise ProblemError(f"the {what} name {label!r} cannot be written to a CSV table; save as .json instead")
        out.write(csv_line(row.get(column, "") for column in used))
    return out.getvalue()
