"""Checks for damage to a folder of results: files cut short, a manifest with missing fields, refused writes."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surepath.errors import FileError, SettingError
from surepath.experiments.cells import MOST_RUNS


def is_whole(file: Path) -> bool:
    """Check that a file begins and ends as Parquet does and is long enough for the footer that its end announces."""
    try:
        with file.open("rb") as stream:
            head = stream.read(4)
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 8))
            tail = stream.read(8)
    except OSError:
        return False
    return head == tail[4:] == b"PAR1" and 12 + int.from_bytes(tail[:4], "little") <= size


def checked_manifest(found: Any, file: Path) -> dict[str, Any]:
    """Return a manifest after checking that it has every field that is read from it."""
    if not isinstance(found, dict):
        raise SettingError(f"{file} is damaged: it must hold one table")
    for field, kind in (("format", int), ("version", str), ("spec", dict), ("cells", dict)):
        if not isinstance(found.get(field), kind):
            raise SettingError(f'{file} is damaged: it has no "{field}"; play the experiment again with --resume')
    runs = found["spec"].get("runs")
    if type(runs) is not int or not 0 < runs <= MOST_RUNS:
        raise SettingError(
            f'{file} is damaged: its spec has no number of "runs"; play the experiment again with --resume'
        )
    return found


@contextlib.contextmanager
def as_file_error(what: str) -> Iterator[None]:
    """Turn an `OSError` inside the block into a `FileError` that says what could not be done and why."""
    try:
        yield
    except OSError as cause:
        why = "it is a link" if cause.errno == errno.ELOOP else cause.strerror or cause
        raise FileError(f"{what}: {why}") from None
