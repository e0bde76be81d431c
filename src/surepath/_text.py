"""Texts that people see, with what a terminal would obey written out, and text files, written whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from surepath._optional import need
from surepath.errors import FileError, MissingExtraError, ProblemError

_CONTROLS = ("Cc", "Cs", "Zl", "Zp")
# Marks that turn the direction of what follows, so that a line reads otherwise than it is.
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def shown(text: object) -> str:
    """Return the text with control characters, line breaks, marks of direction and halves of characters escaped.

    Example:
        >>> shown("plain, żółw, \\x1b[2J and\\nmore")
        'plain, żółw, \\\\x1b[2J and\\\\nmore'
    """
    words = str(text)
    if words.isprintable():
        return words
    return "".join(
        c.encode("unicode_escape").decode("ascii") if c in _TURNS or unicodedata.category(c) in _CONTROLS else c
        for c in words
    )


def many(count: int, thing: str) -> str:
    """Return a number of things in words.

    Example:
        >>> many(1, "trial"), many(2_000, "trial")
        ('1 trial', '2,000 trials')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


# Parameters of an address whose values may be shown; whatever else stands there may be a secret.
OPEN_PARAMETERS = ("application_name", "connect_timeout", "dbname", "host", "mode", "port", "sslmode", "study", "user")
_PLACE = re.compile(r"(\[[^\]]*\]|[^:@/\[\]\s]*)(:\d{0,5})?(/[^@:;=]*)?", re.DOTALL)  # host, port and path
_OPEN_VALUE = re.compile(r"[\w.,:/\[\]-]*")  # no mark, and no escape of one, that could begin another parameter
_DSN = re.compile(r"\bpass\w*\s*=", re.IGNORECASE)  # "host=lab password=..."
_USER = re.compile(r"[^:@/?#%\s]+")


def hidden(address: str) -> str:
    """Return the address of a database or server without its secrets: passwords, tokens, parameters not known as open.

    Of an address that cannot be read for certain, nothing is shown between its scheme and its host, or at all.

    Example:
        >>> hidden("postgresql://me:pw@host/db?sslmode=require&password=pw")
        'postgresql://me:***@host/db?sslmode=require&***'
        >>> hidden("postgresql://me:p?w@host/db"), hidden("http://host/#token=abc"), hidden("sqlite:///me@home/a.db")
        ('postgresql://***', 'http://host/#***', 'sqlite:///me@home/a.db')
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        if re.match(r"[A-Za-z][\w+.-]+:", address) or "@" in address.partition(":")[2] or _DSN.search(address):
            return "***"  # perhaps its slashes are missing
        scheme, rest = "", address
    elif not re.fullmatch(r"[A-Za-z][\w+.-]*", scheme):
        return "***"
    base, query, fragment = _parts(rest)
    if "@" in query + fragment:  # perhaps a password that holds a question mark
        return f"{scheme}{mark}***"
    if mark and not (scheme.startswith("sqlite") and base.startswith("/")):  # else it is a file
        user, at, place = base.rpartition("@")
        if not _PLACE.fullmatch(place):
            return f"{scheme}{mark}***"
        name, colon, _ = user.partition(":")
        is_name = _USER.fullmatch(name) and not scheme.startswith("http")  # there it may be a token
        base = f"{name if is_name else '***'}{':***' if is_name and colon else ''}@{place}" if at else place
    given = (pair.partition("=") for pair in re.split("[&;]", query[1:]))
    pairs = "&".join("".join(pair) if is_open(pair[0], pair[2]) else "***" for pair in given) if query else ""
    return f"{scheme}{mark}{base}{query[:1]}{pairs}{'#***' if fragment else ''}"


def is_open(name: str, value: str) -> bool:
    """Return whether a parameter of an address may be shown with its value."""
    numeric = name in ("connect_timeout", "port")
    return name in OPEN_PARAMETERS and bool(value.isdigit() if numeric else _OPEN_VALUE.fullmatch(value))


def _parts(rest: str) -> tuple[str, str, str]:
    """Split what follows a scheme into what comes before the query, the query and the fragment, with their marks."""
    base = re.split("[?#]", rest, maxsplit=1)[0]
    query, mark, fragment = rest[len(base) :].partition("#")
    return base, query, mark + fragment


# Text files -----------------------------------------------------------------------------------------------------------
# Cells of CSV files are written so that no spreadsheet takes a text for a formula (`csv_line`), and read back as they
# were (`plain_cell`).

# A problem of a million edges fits; larger ones are better built from arrays.
MAX_BYTES = 64 * 2**20
PARTIAL_ENDING = ".partial"  # how the name of a file ends that is not yet whole

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]|\\(?=x[0-9a-f]{2})")  # all but the end of a line
_CONTROL_WRITTEN = re.compile(r"\\x([0-9a-f]{2})")
# What begins a formula, in Asian settings too; also after a semicolon, which parts cells in half of Europe.
_FORMULA = re.compile(r"(^|[;\n])(?='*[=+\-@\uff1d\uff0b\uff0d\uff20])")
_FORMULA_WRITTEN = re.compile(r"(^|[;\n])'(?='*[=+\-@\uff1d\uff0b\uff0d\uff20])")


DECIMAL_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?", re.ASCII)


def point_hint(word: str) -> str:
    """Say how to write a number with a decimal comma; "" for anything else."""
    return (
        "; write a decimal point (commas are read in sheets with semicolons)" if DECIMAL_COMMA.fullmatch(word) else ""
    )


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


def write_bytes(path: Path, data: bytes | Iterable[bytes], *, sync: bool = True, replace: bool = True) -> None:
    """Write a file whole or not at all: to a temporary file beside it, which then replaces it atomically.

    Nothing is ever written through a link: one at `path` is itself replaced. Without `sync`, a power failure soon after
    may leave it cut short. Without `replace`, only check that it can be written.
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
                if sync:
                    os.fsync(file.fileno())
            os.replace(partial, path) if replace else partial.unlink()
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


def check_table(path: Path) -> None:
    """Refuse a table that `write_table` could not write, before anything else is done for it."""
    if is_workbook(path):
        _openpyxl("write")
    write_bytes(path, b"", sync=False, replace=False)


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
