"""Text files: refused by size before they are read, replaced whole when they are written; tables of edges as CSV.

Cells of CSV files are written so that no spreadsheet takes a text for a formula (`csv_line`), and read back as they
were (`plain_cell`).
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from surepath._checks import repeated, suggest
from surepath._optional import need
from surepath.errors import FileError, MissingExtraError, ProblemError
from surepath.model.edges import COLUMNS

# A problem of a million edges fits; larger ones are better built from arrays.
MAX_BYTES = 64 * 2**20
PARTIAL_ENDING = ".partial"  # how the name of a file ends that is not yet whole

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]|\\(?=x[0-9a-f]{2})")  # all but the end of a line
_CONTROL_WRITTEN = re.compile(r"\\x([0-9a-f]{2})")
# What begins a formula, in Asian settings too; also after a semicolon, which parts cells in half of Europe.
_FORMULA = re.compile(r"(^|[;\n])(?='*[=+\-@\uff1d\uff0b\uff0d\uff20])")
_FORMULA_WRITTEN = re.compile(r"(^|[;\n])'(?='*[=+\-@\uff1d\uff0b\uff0d\uff20])")


def csv_line(cells: Iterable[Any]) -> str:
    """Write a line of a CSV file; numbers as they are, texts as `safe_cell` writes them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([safe_cell(c) if isinstance(c, str) else c for c in cells])
    return out.getvalue()


def safe_cell(text: str) -> str:
    """Write a text so that a spreadsheet shows it and does not run it.

    What would begin a formula gets an apostrophe in front; a number stays a number. Control characters, which could
    part cells or move a terminal's cursor, are written as \\x1b. `plain_cell` gives the text back.

    Example:
        >>> [safe_cell(text) for text in ("=1+2", "-5", "-x", "plain")]
        ["'=1+2", '-5', "'-x", 'plain']
    """
    if _NUMBER.fullmatch(text):
        return text
    return _FORMULA.sub(r"\1'", _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text))


def plain_cell(cell: str) -> str:
    """Return the text that `safe_cell` wrote; what people wrote by hand stays as it is."""
    return _CONTROL_WRITTEN.sub(lambda found: chr(int(found[1], 16)), _FORMULA_WRITTEN.sub(r"\1", cell))


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a plain UTF-8 file of bounded size."""
    data = read_bytes(path, max_bytes)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise ProblemError(f"{path} is not UTF-8 text (byte {cause.start}); problem files are text only") from cause


def read_bytes(path: Path, max_bytes: int = MAX_BYTES, kind: str = "problem files") -> bytes:
    """Return the content of a plain file of bounded size."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise ProblemError(f"{path} is not a plain file")
        if info.st_size > max_bytes:
            raise ProblemError(
                f"{path} has {info.st_size:,} bytes; {kind} may have {max_bytes:,}."
                + (" Build larger problems with MDP.from_arrays" if kind == "problem files" else "")
            )
        with path.open("rb") as file:
            return file.read(max_bytes + 1)
    except FileNotFoundError as cause:
        raise ProblemError(f"there is no file {path}") from cause
    except OSError as cause:
        raise ProblemError(f"cannot read {path}: {cause.strerror or cause}") from cause
    except ValueError as cause:  # a name that no file can have
        raise ProblemError(f"cannot read {str(path)!r}: {cause}") from cause


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as cause:
        raise ProblemError(f"a name holds a character that is not valid text: {cause.object[cause.start]!r}") from cause
    write_bytes(path, data)


def write_bytes(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file whole or not at all: to a temporary file beside it, which then replaces it atomically.

    Nothing is ever written through a link: one at `path` is itself replaced.
    """
    try:
        mode = _mode(path)
        handle, name = tempfile.mkstemp(prefix=".surepath-", suffix=PARTIAL_ENDING, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as cause:
        raise FileError(f"cannot write {path}: {cause.strerror or cause}") from cause


def is_workbook(path: Path) -> bool:
    """Return whether a file is a spreadsheet's own, by its name."""
    return path.suffix.lower() in (".xlsx", ".xlsm")


def workbook_text(data: bytes, name: str) -> str:
    """Return the first sheet of a workbook as CSV text; whole numbers without a point."""
    library = _openpyxl("read")
    try:
        sheet = library.load_workbook(io.BytesIO(data), read_only=True, data_only=True).worksheets[0]
        rows = [["" if cell is None else cell for cell in row] for row in sheet.iter_rows(values_only=True)]
    except Exception as cause:  # whatever a damaged archive makes the library raise
        raise ProblemError(f"{name} is not a workbook that can be read ({cause}); save it as CSV") from cause
    plain = [[int(c) if isinstance(c, float) and c.is_integer() else c for c in row] for row in rows]
    return "".join(map(csv_line, plain))


def write_table(path: Path, text: str) -> None:
    """Write CSV text to a file, or as the only sheet of a workbook where the name ends in .xlsx."""
    if not is_workbook(path):
        write_text(path, text)
        return
    book = _openpyxl("write").Workbook()
    for row in csv.reader(io.StringIO(text, newline="")):
        book.active.append([float(cell) if _NUMBER.fullmatch(cell) else plain_cell(cell) for cell in row])
    for row in book.active.iter_rows():
        for cell in row:
            if isinstance(cell.value, str):
                cell.data_type = "s"  # a text that begins with = is no formula
    out = io.BytesIO()
    book.save(out)
    write_bytes(path, out.getvalue())


def _openpyxl(what: str) -> Any:
    try:
        return need("openpyxl", "excel")
    except MissingExtraError as error:
        raise MissingExtraError(f"to {what} .xlsx, {error}; or save it as CSV") from None


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where they are missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise FileError(f"cannot make the folder {path}: {cause.strerror or cause}") from cause


def _mode(path: Path) -> int:
    """Return the permissions of the plain file to replace, else those of any new file; refuse devices and the like."""
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return 0o666 & ~_umask()
    if stat.S_ISREG(found):
        return stat.S_IMODE(found)
    if stat.S_ISLNK(found):
        return 0o666 & ~_umask()
    raise OSError("it is not a plain file")


def _umask() -> int:
    """Return the process's file mode mask; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


# Csv table ------------------------------------------------------------------------------------------------------------
# The edge-table CSV: a header line, one edge a line, lines that start with # are remarks.
#
# The remark "# direction: minimize" is read. A column may be called cost, time, price or latency in place of mean, in
# a table that says whether it is to be minimised: the numbers do not show it. In a table that has a column mean too,
# or the remark "# cost_weight: 0.5", the column cost holds the known costs of options.

COSTS = ("cost", "time", "price", "latency")


class CsvTable(NamedTuple):
    """Rows of a CSV edge table, and the line of each."""

    rows: list[dict[str, str]]
    place: Callable[[int], str]
    direction: str
    cost_weight: float  # of known costs, as a remark says


def parse_csv(text: str, name: str) -> CsvTable:
    """Return the rows of the text of a CSV file, names and numbers still as text."""
    header: list[str] | None = None
    rows: list[dict[str, str]] = []
    lines: list[int] = []
    direction = costs = weight = None
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            remark = re.fullmatch(r"\s*#\s*(direction|cost_weight)\s*[:=]\s*(\S+)\s*", line)
            if remark and remark[1] == "direction":
                direction = _direction(remark[2], f"{name}, line {number}")
            elif remark:
                weight = _weight(remark[2], f"{name}, line {number}")
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
    if costs is not None and direction is None:
        raise ProblemError(
            f"{name} has a column {costs!r}, and nothing says whether less is better; write the line "
            f'"# direction: minimize" at its top'
        )
    return CsvTable(rows, lambda i: f"{name}, line {lines[i]}", direction or "maximize", weight or 0.0)


def _direction(said: str, where: str) -> str:
    if said not in ("maximize", "minimize"):
        raise ProblemError(f"{where}: the direction is maximize or minimize, not {said!r}")
    return said


def _weight(said: str, where: str) -> float:
    try:
        found = float(said)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise ProblemError(
            f"{where}: cost_weight is a number of at least 0, what one unit of cost takes from the score; not {said!r}"
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
