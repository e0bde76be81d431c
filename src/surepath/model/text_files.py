"""Text files: refused by size before they are read, replaced whole when they are written.

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
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from surepath._optional import need
from surepath.errors import FileError, MissingExtraError, ProblemError

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
    partial = path.with_name(f".surepath-{os.urandom(8).hex()}{PARTIAL_ENDING}")
    try:
        mode = path.lstat().st_mode if os.path.lexists(path) else 0
        if mode and not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
            raise OSError("it is not a plain file")
        try:
            with partial.open("xb") as file:
                if stat.S_ISREG(mode):
                    partial.chmod(stat.S_IMODE(mode))
                file.writelines([data] if isinstance(data, bytes) else data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink()
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
