"""The edge-table CSV: a header line, one edge a line, lines that start with # are remarks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from surepath._checks import suggest
from surepath.errors import ProblemError
from surepath.model.mdp import MDP
from surepath.model.sources.edge_rows import COLUMNS
from surepath.model.sources.textfile import MAX_BYTES, read_text


class CsvTable(NamedTuple):
    """The rows of a CSV edge table and the line each stands on."""

    rows: list[dict[str, str]]
    place: Callable[[int], str]


def read_csv(path: Path, max_bytes: int = MAX_BYTES) -> CsvTable:
    """Read an edge table; names and numbers are still text."""
    return parse_csv(read_text(path, max_bytes), path.name)


def parse_csv(text: str, name: str) -> CsvTable:
    """The rows of a CSV text; `name` stands for the file in messages."""
    header: list[str] | None = None
    rows: list[dict[str, str]] = []
    lines: list[int] = []
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if "\0" in line:
            raise ProblemError(f"{name}, line {number} holds a NUL byte; an edge table is plain text")
        try:
            cells = [cell.strip() for cell in next(csv.reader([line], strict=True))]
        except csv.Error as cause:
            raise ProblemError(f"{name}, line {number} is not valid CSV: {cause}") from cause
        if header is None:
            header = _header(cells, name, number)
            continue
        if len(cells) != len(header):
            raise ProblemError(f"{name}, line {number} has {len(cells)} cells; the header has {len(header)} columns")
        rows.append(dict(zip(header, cells)))
        lines.append(number)
    if header is None:
        raise ProblemError(f"{name} is empty; an edge table starts with a header line such as state,action,next_state")
    return CsvTable(rows, lambda i: f"{name}, line {lines[i]}")


def _header(cells: list[str], name: str, number: int) -> list[str]:
    for cell in cells:
        if cell not in COLUMNS:
            hint = "; separate columns with commas" if ";" in cell or "\t" in cell else suggest(cell, COLUMNS)
            raise ProblemError(f"{name}, line {number} has an unknown column {cell!r}{hint}")
    twice = next((cell for i, cell in enumerate(cells) if cell in cells[:i]), None)
    if twice is not None:
        raise ProblemError(f"{name}, line {number} names the column {twice!r} twice")
    for needed in ("state", "action", "next_state"):
        if needed not in cells:
            raise ProblemError(f"{name}, line {number} lacks the column {needed!r}")
    return cells


def csv_text(rows: list[dict[str, object]], mdp: MDP) -> str:
    """The edge table as CSV text, with only the columns that some row uses."""
    if mdp.direction != "maximize":
        raise ProblemError("an edge-table CSV cannot say that returns are minimised; save as .json instead")
    used = [column for column in COLUMNS if column in COLUMNS[:4] or any(column in row for row in rows)]
    out = io.StringIO()
    writer = csv.DictWriter(out, used, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        for what in ("state", "action", "next_state"):
            label = row.get(what)
            if isinstance(label, str) and (
                label != label.strip() or label.startswith("#") or any(c in label for c in "\r\n\0")
            ):
                raise ProblemError(f"the {what} name {label!r} cannot stand in a CSV table; save as .json instead")
        writer.writerow(row)
    return out.getvalue()
