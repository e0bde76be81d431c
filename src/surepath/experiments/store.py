"""Rows on disk: one Parquet file per finished range of runs, named by its cell, range and content, and a manifest.

A file is written whole under another name and then renamed, so that it is complete or absent. Which runs are missing
is read from the names of the files whose content has the hash in the name; a run is planned only if no such file covers
it, so that no row is ever stored twice. A file cut short or damaged, by a disk that failed or a copy that broke off,
counts as missing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._optional import need
from surepath._version import __version__
from surepath.errors import FileError, SettingError
from surepath.experiments.spec import MOST_RUNS, ROWS_FORMAT, Cell, Columns, Task, name_of
from surepath.model.text_files import PARTIAL_ENDING, make_folder, write_bytes

if TYPE_CHECKING:
    import polars

    from surepath.experiments.spec import Spec

MANIFEST = "experiment.json"
ROWS = "rows"
_NAME = re.compile(r".*-([0-9a-f]{16})-(\d{9})-(\d{9})-([0-9a-f]{16})\.parquet")


class Store:
    """The folder of one experiment.

    Args:
        folder: Created when it is missing.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.rows = self.folder / ROWS
        self._checked: dict[tuple[str, int, int], bool] = {}  # whole or not, by name, size and time of change

    # Opening ---------------------------------------------------------------------------------------------------

    def open(self, spec: Spec, cells: list[Cell], *, resume: bool) -> None:
        """Write the manifest of this spec; refuses rows of another experiment, and old rows without `resume`."""
        stored, damaged = self.stored(), self.damaged()
        names = {cell.key: cell.id for cell in cells}
        strangers = [key for key in (*stored, *map(key_of, damaged)) if key is not None and key not in names]
        if strangers:
            why = self._difference(strangers[0], spec, set(names.values()))
            raise SettingError(f"{self.folder} holds rows of another experiment: {why}; choose another folder")
        if stored and not resume:
            runs = sum(stop - start for ranges in stored.values() for start, stop in ranges)
            raise SettingError(
                f"{self.folder} already holds {runs:,} runs of this experiment; add --resume to play only the missing "
                f"ones, or choose another folder"
            )
        if damaged and not resume:
            raise SettingError(
                f"{damaged[0]} is damaged; add --resume to play its runs again, or choose another folder"
            )
        if self.rows.is_symlink():
            raise FileError(f"{self.rows} is a link, and rows are not written through one; choose another folder")
        make_folder(self.rows)
        with as_file_error(f"cannot write in {self.rows}"):
            for left in (*damaged, *self.rows.glob(f"*{PARTIAL_ENDING}"), *self.rows.glob(f".*{PARTIAL_ENDING}")):
                left.unlink(missing_ok=True)  # a hidden one is found by both patterns
        manifest = {"format": ROWS_FORMAT, "version": __version__, "spec": spec.to_dict(), "cells": names}
        write_bytes(self.folder / MANIFEST, json.dumps(manifest, indent=2).encode())

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder, so that only one process writes in it; the lock ends with the process, however it ends."""
        make_folder(self.folder)
        try:
            import fcntl
        except ImportError:  # a system without it: two writers would still never store a row twice under one name
            yield
            return
        lock = self.folder / ".lock"
        with as_file_error(f"cannot write {lock}"):  # a link in its place is refused
            handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise SettingError(f"another process is running an experiment in {self.folder}") from None
            yield
        finally:
            os.close(handle)

    def manifest(self) -> dict[str, Any]:
        """Read the spec, the version and the cells' names; refuses rows of another format."""
        found = self._manifest()
        if found["format"] != ROWS_FORMAT:
            raise SettingError(
                f"{self.folder} holds rows of format {found['format']}; this surepath reads format {ROWS_FORMAT}: play "
                f"the experiment again in another folder"
            )
        return found

    def _manifest(self) -> dict[str, Any]:
        """Read the manifest, whatever its format."""
        file = self.folder / MANIFEST
        try:
            found = json.loads(file.read_text("utf-8"))
        except FileNotFoundError:
            raise SettingError(f"{self.folder} holds no experiment: there is no {MANIFEST} in it") from None
        except OSError as cause:
            raise SettingError(f"cannot read {file}: {cause.strerror or cause}") from None
        except (ValueError, RecursionError) as cause:
            raise SettingError(f"{file} is damaged: {cause}") from None
        return checked_manifest(found, file)

    # What is there ---------------------------------------------------------------------------------------------

    def stored(self) -> dict[str, list[tuple[int, int]]]:
        """List the ranges of runs stored for each key, in order; damaged files are not counted."""
        found: dict[str, list[tuple[int, int]]] = {}
        for file in self.rows.glob("*.parquet"):
            match = _NAME.fullmatch(file.name)
            if match and self._is_whole(file):
                found.setdefault(match[1], []).append((int(match[2]), int(match[3])))
        return {key: sorted(ranges) for key, ranges in found.items()}

    def damaged(self) -> list[Path]:
        """List the files of rows that were cut short or changed."""
        return sorted(file for file in self.rows.glob("*.parquet") if key_of(file) and not self._is_whole(file))

    def _is_whole(self, file: Path) -> bool:
        with contextlib.suppress(OSError):
            found = file.stat()
            key = (file.name, found.st_size, found.st_mtime_ns)
            if key not in self._checked:
                self._checked[key] = is_whole(file)
            return self._checked[key]
        return False

    def missing(self, cells: list[Cell], runs: int, chunk: int) -> list[Task]:
        """List tasks for all runs that no file covers, first chunks of all cells first."""
        stored = self.stored()
        lanes = [[cell.task(*piece) for piece in _holes(stored.get(cell.key, []), runs, chunk)] for cell in cells]
        longest = max((len(lane) for lane in lanes), default=0)
        return [lane[i] for i in range(longest) for lane in lanes if i < len(lane)]

    def write(self, task: Task, columns: Columns) -> None:
        """Store the rows of a finished task."""
        cell = task.cell
        slug = re.sub(r"[^A-Za-z0-9.]+", "_", cell.id).strip("_")[:80]
        stream = io.BytesIO()
        frame_of(task, columns).write_parquet(stream)
        stop, content = task.first + task.count, _hash(io.BytesIO(stream.getvalue()))
        name = f"{slug}-{cell.key}-{task.first:09d}-{stop:09d}-{content}.parquet"
        write_bytes(self.rows / name, stream.getvalue())

    def _difference(self, key: str, spec: Spec, ids: set[str]) -> str:
        """Describe how the spec of the stored rows differs from this one."""
        with contextlib.suppress(SettingError):
            manifest = self._manifest()
            old = {"version": manifest["version"], "format": manifest["format"], **manifest["spec"]}
            new = {"version": __version__, "format": ROWS_FORMAT, **spec.to_dict()}
            for field in ("version", "format", "name", "seed", "budget"):
                if old.get(field) != new[field]:
                    return f"its {field} is {old.get(field)}, here it is {new[field]}"
            for field in ("deltas", "epsilons", "epsilons_per_gap"):
                if old.get(field) != new.get(field):
                    return f"its {field} are {old.get(field, 'not given')}, here they are {new.get(field, 'not given')}"
            id = manifest["cells"].get(key, key)
            return f"{id} has other settings there" if id in ids else f"{id} is not a cell of this spec"
        return "there is no telling which"


def key_of(file: Path) -> str | None:
    """Return the key of the cell in the name of a file of rows; None for other files."""
    match = _NAME.fullmatch(file.name)
    return match[1] if match else None


def _holes(ranges: list[tuple[int, int]], runs: int, chunk: int) -> Iterator[tuple[int, int]]:
    """Yield (first, count) of at most `chunk` runs each that fill 0 .. runs - 1 around the ranges, which are sorted."""
    at = 0
    for start, stop in [*ranges, (runs, runs)]:
        for first in range(at, min(start, runs), chunk):
            yield first, min(chunk, min(start, runs) - first)
        at = max(at, stop)


def frame_of(task: Task, columns: Columns) -> polars.DataFrame:
    """Build one row per (run, epsilon), with all that made it; whoever changes the columns raises `ROWS_FORMAT`."""
    pl = need("polars", "data")
    cell, size = task.cell, len(columns["tau"])
    per_gap = None if cell.multiples is None else np.tile(cell.multiples, task.count)
    head = {
        "experiment": cell.experiment,
        "cell": cell.id,
        "instance": name_of(cell.source),
        "learner": cell.label,
        "delta": cell.delta,
    }
    tail = {"seed": cell.seed, "budget": cell.budget, "settings": columns["settings"], "version": __version__}
    found: polars.DataFrame = pl.DataFrame(
        [
            *(_constant(name, value, size) for name, value in head.items()),
            *(pl.Series(name, columns[name]) for name in ("run", "epsilon")),
            pl.Series("epsilon_per_gap", per_gap if per_gap is not None else [None] * size, dtype=pl.Float64),
            *(pl.Series(name, columns[name]) for name in ("tau", "censored", "correct", "regret", "reason")),
            *(pl.Series(name, columns[name]) for name in ("eliminated", "gap")),
            pl.Series("path", columns["path"], dtype=pl.List(pl.Int64)),
            *(_constant(name, value, size) for name, value in tail.items()),
        ]
    )
    return found


def _constant(name: str, value: Any, size: int) -> polars.Series:
    """Return a column with one value; built at once, since each query costs a millisecond."""
    pl = need("polars", "data")
    found: polars.Series = pl.Series(name, [value], dtype=pl.Int64 if isinstance(value, int) else None)
    return found.new_from_index(0, size)


def is_whole(file: Path) -> bool:
    """Return whether a file of rows has the content that its name says."""
    match = _NAME.fullmatch(file.name)
    try:
        with file.open("rb") as stream:
            return match is not None and _hash(stream) == match[4]
    except OSError:
        return False


def _hash(stream: Any) -> str:
    return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


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


def scan(folder: str | Path) -> polars.LazyFrame:
    """Open the rows of an experiment as a lazy polars frame, for experiments larger than memory."""
    pl = need("polars", "data")
    store = Store(folder)
    manifest = store.manifest()
    files = sorted(file for file in store.rows.glob("*.parquet") if key_of(file) in manifest["cells"])
    if not files:
        raise SettingError(f"{store.folder} holds no rows yet")
    for file in files:
        if not is_whole(file):
            raise SettingError(f"{file} is damaged; play its runs again with surepath experiment run --resume")
    found: polars.LazyFrame = pl.scan_parquet(files).filter(pl.col("run") < manifest["spec"]["runs"])
    return found


def read(folder: str | Path) -> polars.DataFrame:
    """Read the rows of an experiment as a polars frame, in order of cell, run and falling epsilon."""
    pl = need("polars", "data")
    rows = scan(folder)
    try:
        return rows.collect().sort("cell", "run", "epsilon", descending=[False, False, True])
    except (pl.exceptions.PolarsError, OSError) as cause:
        reason = str(cause).strip().splitlines()[0]
        raise SettingError(
            f"rows in {Path(folder) / ROWS} cannot be read ({reason}); delete the damaged file and play its runs again "
            f"with surepath experiment run --resume"
        ) from None
