"""The line of every key of a TOML text, for error messages that name the line of a field.

`tomllib` gives values without lines. A TOML text is a row of statements, each a header or `key = value`, and each
can be read alone; so every statement is parsed by itself and the line it starts on is noted under its keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from surepath.errors import SettingError

Path = tuple[str | int, ...]


class FieldLocations:
    """Turn the path of a field into words: 'spec.toml, line 7: learners[1].sampling'."""

    def __init__(self, name: str | None = None, lines: Mapping[Path, int] | None = None) -> None:
        self.name = name
        self.lines = dict(lines or {})

    def __call__(self, *path: str | int) -> str:
        """Return file, line (of the field, or of the table around it) and field."""
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        if self.name is None:
            return field or "the spec"
        around = [path[:n] for n in range(len(path), 0, -1)]
        # A [[table]] is known by its first entry.
        line = next((self.lines[at] for known in around for at in (known, (*known, 0)) if at in self.lines), None)
        where = self.name if line is None else f"{self.name}, line {line}"
        return f"{where}: {field}" if field else where


def read_toml(text: str, name: str) -> tuple[dict[str, Any], FieldLocations]:
    """Parse a TOML text; return its values and the lines of its fields.

    Example:
        >>> values, locate = read_toml('runs = 3\\n[[learners]]\\nname = "EPRL"', "spec.toml")
        >>> locate("learners", 0, "name")
        'spec.toml, line 3: learners[0].name'
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise SettingError(f"{name} is not valid TOML: {cause}") from None
    except (ValueError, RecursionError):  # thousands of digits or brackets
        raise SettingError(f"{name} holds a number too long to read, or brackets nested too deeply") from None
    return values, FieldLocations(name, _lines(text.replace("\r\n", "\n").split("\n")))


def _lines(rows: list[str]) -> dict[Path, int]:
    found: dict[Path, int] = {}
    tables: dict[Path, int] = {}  # how often each [[header]] has been seen
    prefix: Path = ()
    row = 0
    while row < len(rows):
        start, statement = row, rows[row]
        lines = [statement]
        row += 1
        if not statement.strip() or statement.strip().startswith("#"):
            continue
        parsed = _parse(statement)
        while parsed is None and row < len(rows):  # a value that goes over several lines
            lines.append(rows[row])
            row += 1
            if not lines[-1].rstrip().endswith(","):  # after a comma something must follow: no need to try
                statement = "\n".join(lines)
                parsed = _parse(statement)
        if parsed is None:
            break
        if statement.strip().startswith("["):
            prefix = _header(parsed, tables)
            found.setdefault(prefix, start + 1)
            continue
        for path in _keys(parsed):
            found.setdefault(prefix + path, start + 1)
    return found


def _parse(statement: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(statement)
    except (ValueError, RecursionError):
        return None


def _header(parsed: dict[str, Any], tables: dict[Path, int]) -> Path:
    """Return the path that a [header] or [[header]] opens, with the index in each array of tables on it."""
    path: Path = ()
    value: Any = parsed
    while value:
        if isinstance(value, list):
            tables[path] = tables.get(path, -1) + 1
            path += (tables[path],)
            value = value[0]
            continue
        if path in tables:
            path += (tables[path],)
        key = next(iter(value))
        path += (key,)
        value = value[key]
    return path


def _keys(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _keys(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _keys(inner, (*path, index))
