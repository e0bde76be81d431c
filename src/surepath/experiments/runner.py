"""Run an experiment: play the missing runs, store every finished task, continue after any interruption."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from surepath._checks import whole
from surepath._optional import need
from surepath._text import PARTIAL_ENDING, make_folder, write_bytes
from surepath._version import __version__
from surepath.errors import FileError, SettingError
from surepath.experiments.spec import ROWS_FORMAT, Cell, Spec, Task, instance_of, name_of
from surepath.simulation.simulate import Progress, Results, in_threads, reporting, simulate

if TYPE_CHECKING:
    import polars

    from surepath.experiments.spec import Spec
    from surepath.simulation.simulate import Results

# Rows on disk ---------------------------------------------------------------------------------------------------------
# A cell's file holds its runs 0, 1, ... without a hole. It is written when the cell is complete, and every few seconds
# while a long one is not: whole, under another name, then renamed; the shorter one goes after that. So a file is
# complete or absent, its name tells which runs are missing, and no row is ever stored twice. A file cut short or
# damaged, by a disk, the power (nothing waits for the disk: its runs can be played again) or a copy that broke off,
# does not have the hash in its name and counts as missing.

MANIFEST = "experiment.json"
ROWS = "rows"
WRITE_EVERY = 2.0  # seconds between two writes of a cell that is not complete
ROW_COLUMNS = (
    "experiment", "cell", "instance", "learner", "delta", "run", "epsilon", "epsilon_per_gap", "tau", "censored",
    "correct", "regret", "reason", "eliminated", "gap", "path", "seed", "budget", "settings", "version",
)  # fmt: skip
_NAME = re.compile(r".*-([0-9a-f]{16})-(\d{9})-([0-9a-f]{16})\.parquet")


class Rows(NamedTuple):
    """A file of rows, by what its name says: key of the cell, number of runs, and whether its content is whole."""

    file: Path
    key: str
    runs: int
    whole: bool


class Store:
    """The folder of one experiment.

    Args:
        folder: Created when it is missing.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.rows = self.folder / ROWS
        self._waiting: dict[str, dict[int, tuple[Task, Results]]] = {}  # finished tasks by key and first run
        self._written: dict[str, float] = {}  # when a cell that is not complete was last written
        self._file: dict[str, Rows] = {}
        self._runs = 0

    # Opening ---------------------------------------------------------------------------------------------------

    def open(self, spec: Spec, cells: list[Cell], *, resume: bool) -> None:
        """Write the manifest of this spec; refuses rows of another experiment, and old rows without `resume`."""
        found, kept = self.all_rows(), self.files()
        names = {cell.key: cell.id for cell in cells}
        if any(one.key not in names for one in found):
            raise SettingError(
                f"{self.folder} holds rows of another experiment, or of another version: {MANIFEST} has its spec; "
                f"choose another folder"
            )
        if kept and not resume:
            raise SettingError(
                f"{self.folder} already holds {sum(one.runs for one in kept.values()):,} runs of this experiment; add "
                f"--resume to play only the missing ones, or choose another folder"
            )
        if found and not resume:
            raise SettingError(
                f"{found[0].file} is damaged; add --resume to play its runs again, or choose another folder"
            )
        if self.rows.is_symlink():
            raise FileError(f"{self.rows} is a link, and rows are not written through one; choose another folder")
        make_folder(self.rows)
        with as_file_error(f"cannot write in {self.rows}"):
            useless = {one.file for one in found} - {one.file for one in kept.values()}
            for left in (*useless, *self.rows.glob(f"*{PARTIAL_ENDING}"), *self.rows.glob(f".*{PARTIAL_ENDING}")):
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
        file = self.folder / MANIFEST
        try:
            found: dict[str, Any] = json.loads(file.read_text("utf-8"))
            form, _ = found["format"], (found["version"], found["cells"].keys(), found["spec"]["runs"] + 0)
        except FileNotFoundError:
            raise SettingError(f"{self.folder} holds no experiment: there is no {MANIFEST} in it") from None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as cause:
            raise SettingError(f"{file} is damaged ({cause}); play the experiment again with --resume") from None
        if form != ROWS_FORMAT:
            raise SettingError(
                f"{self.folder} holds rows of format {form}; this surepath reads format {ROWS_FORMAT}: play the "
                f"experiment again in another folder"
            )
        return found

    # What is there ---------------------------------------------------------------------------------------------

    def all_rows(self) -> list[Rows]:
        """List the files of rows, those with more runs later; what was cut short or changed is not whole."""
        found = []
        for file in sorted(self.rows.glob("*.parquet")):
            match = _NAME.fullmatch(file.name)
            if match:
                with contextlib.suppress(FileNotFoundError), file.open("rb") as stream:  # a longer one replaced it
                    found.append(Rows(file, match[1], int(match[2]), _hash(stream) == match[3]))
        return sorted(found, key=lambda one: one.runs)

    def files(self) -> dict[str, Rows]:
        """Find the file of each key: the whole one with most runs."""
        return {one.key: one for one in self.all_rows() if one.whole}

    def missing(self, cells: list[Cell], runs: int, chunk: int) -> list[Task]:
        """List tasks for all runs that are not stored, cell by cell."""
        stored = {key: one.runs for key, one in self.files().items()}
        return [
            Task(cell, first, min(chunk, runs - first))
            for cell in cells
            for first in range(stored.get(cell.key, 0), runs, chunk)
        ]

    # Writing ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self, runs: int) -> Iterator[None]:
        """Take tasks of cells with so many runs in `add`; at the end, however it comes, write what is left."""
        self._runs, self._file = runs, self.files()
        try:
            yield
        finally:
            for key in list(self._waiting):
                self._write(key)

    def add(self, task: Task, results: Results) -> None:
        """Take the results of a finished task; its cell is written once complete, or when it is time."""
        key, now = task.cell.key, time.monotonic()
        waiting = self._waiting.setdefault(key, {})
        waiting[task.first] = task, results
        begun = self._written.setdefault(key, now)
        stored = self._file[key].runs if key in self._file else 0
        complete = stored + sum(one.count for one, _ in waiting.values()) >= self._runs
        if complete or now > begun + WRITE_EVERY:
            self._write(key)
            self._written[key] = now + 10 * (time.monotonic() - now)  # writing takes a tenth of the time at most

    def _write(self, key: str) -> None:
        """Write the file of a cell anew, with the waiting tasks that follow its runs without a hole."""
        pl = need("polars", "data")
        before, waiting = self._file.get(key), self._waiting.pop(key)
        at = 0 if before is None else before.runs
        pieces, cell = [], next(iter(waiting.values()))[0].cell
        while at in waiting:
            task, results = waiting.pop(at)
            pieces.append(results)
            at += task.count
        if waiting:
            self._waiting[key] = waiting
        if not pieces:
            return
        frame = frame_of(cell, pieces)
        if before is not None:
            frame = pl.concat([pl.read_parquet(before.file), frame])
        slug = re.sub(r"[^A-Za-z0-9.]+", "_", cell.id).strip("_")[:80]
        stream = io.BytesIO()
        frame.write_parquet(stream)
        content = _hash(io.BytesIO(stream.getvalue()))
        self._file[key] = Rows(self.rows / f"{slug}-{key}-{at:09d}-{content}.parquet", key, at, True)
        write_bytes(self._file[key].file, stream.getvalue(), sync=False)
        if before is not None:
            with as_file_error(f"cannot write in {self.rows}"):
                before.file.unlink()


def frame_of(cell: Cell, pieces: list[Results]) -> polars.DataFrame:
    """Build one row per (run, epsilon), with all that made it; whoever changes the columns raises `ROWS_FORMAT`."""
    pl = need("polars", "data")
    rows = {name: np.concatenate([getattr(one, name) for one in pieces]) for name in (*pieces[0].COLUMNS, "path")}
    size = len(rows["tau"])
    gaps = None if cell.multiples is None else np.tile(cell.multiples, size // len(cell.multiples))
    fixed: dict[str, Any] = {name: getattr(cell, name) for name in ("experiment", "delta", "seed", "budget")}
    fixed |= {"cell": cell.id, "instance": name_of(cell.source), "learner": cell.label, "version": __version__}
    fixed["settings"] = json.dumps(pieces[0].settings["learner"], sort_keys=True)

    def column(name: str) -> Any:
        if name in fixed:  # built at once, since each query costs a millisecond
            one = pl.Series(name, [fixed[name]], dtype=pl.Int64 if isinstance(fixed[name], int) else None)
            return one.new_from_index(0, size)
        if name == "epsilon_per_gap":
            return pl.Series(name, [None] * size if gaps is None else gaps, dtype=pl.Float64)
        if name == "path":
            return pl.Series(name, rows[name]).arr.to_list()
        return pl.Series(name, rows[name].tolist() if name == "reason" else rows[name])

    return cast("polars.DataFrame", pl.DataFrame([column(name) for name in ROW_COLUMNS]))


def _hash(stream: Any) -> str:
    return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


@contextlib.contextmanager
def as_file_error(what: str) -> Iterator[None]:
    """Turn an `OSError` inside the block into a `FileError` that says what could not be done and why."""
    try:
        yield
    except OSError as cause:
        raise FileError(f"{what}: {cause.strerror or cause}") from None


def scan(folder: str | Path) -> polars.LazyFrame:
    """Open the rows of an experiment as a lazy polars frame, for experiments larger than memory."""
    pl = need("polars", "data")
    store = Store(folder)
    manifest, found = store.manifest(), store.all_rows()
    for one in found:
        if not one.whole:
            raise SettingError(f"{one.file} is damaged; play its runs again with surepath experiment run --resume")
    files = [one.file for key, one in store.files().items() if key in manifest["cells"]]
    if not files:
        raise SettingError(f"{store.folder} holds no rows yet")
    rows: polars.LazyFrame = pl.scan_parquet(files).filter(pl.col("run") < manifest["spec"]["runs"])
    return rows


def read(folder: str | Path) -> polars.DataFrame:
    """Read the rows of an experiment as a polars frame, in order of cell, run and falling epsilon."""
    return scan(folder).collect().sort("cell", "run", "epsilon", descending=[False, False, True])


# Runner ---------------------------------------------------------------------------------------------------------------

Backend = Callable[[Sequence[Task]], Generator[tuple[Task, Results], None, None]]


class Summary(NamedTuple):
    """Counts and time of a call of `run`."""

    cells: int
    runs: int  # of the whole experiment, over all cells
    played: int  # now
    seconds: float


def run(
    spec: Spec,
    out: str | Path,
    *,
    workers: int | None = None,
    resume: bool = False,
    progress: bool | Progress = False,
    on: Backend | None = None,
) -> Summary:
    """Play the runs of an experiment that are not stored yet.

    Stopping it in any way, Ctrl-C and kill -9 included, leaves a folder that `resume=True` completes: at most the
    tasks in flight and those of the last seconds are played again, and no row is ever stored twice. Rows depend on the
    spec and the version only, not on the back end or the number of workers.

    Args:
        spec: What to play.
        out: Folder of the results.
        workers: Threads; by default one per core.
        resume: Continue in a folder that has rows already.
        progress: True for a bar with the time left on standard error, or a function of (runs done, runs).
        on: What plays the tasks in place of threads, such as `RayBackend`: yields every task exactly once with its
            results as they finish, holding a bounded number at a time. Closing the iterator (as an interrupt does)
            drops what is in flight; an error in a task is raised there.
    """
    need("polars", "data")
    threads = whole("workers", workers, low=1) if workers is not None else os.cpu_count() or 1
    cells, store = spec.cells(), Store(out)
    started = time.perf_counter()
    with store.locked():
        store.open(spec, cells, resume=resume)
        tasks = store.missing(cells, spec.runs, spec.chunk)
        total, todo = spec.runs * len(cells), sum(task.count for task in tasks)
        played = 0
        with reporting(progress, total) as report, store.writing(spec.runs):
            report(total - todo)
            with contextlib.closing(on(tasks) if on else in_threads(play_task, tasks, threads)) as finished:
                for task, results in finished:
                    store.add(task, results)
                    played += task.count
                    report(total - todo + played)
    return Summary(len(cells), total, played, time.perf_counter() - started)


def play_task(task: Task) -> Results:
    """Play the runs of one task on this thread."""
    cell = task.cell
    learner, instance = {**cell.learner, "delta": cell.delta}, instance_of(cell.source)
    how: dict[str, Any] = {"workers": 1, "budget": cell.budget, "first_run": task.first}
    return simulate(learner, instance, task.count, cell.seed, cell.epsilons, **how)


def play_in(folder: str | None, task: Task) -> Results:
    """Play a task in the folder where the user is, whose modules hold rules."""
    if folder is not None:
        os.chdir(folder)
    return play_task(task)


class RayBackend:
    """Play tasks on a Ray cluster; surepath must be installed on its nodes.

    Args:
        workers: Processors to use of a Ray started here; by default all. A cluster's own number counts when joined.
        address: Of a running cluster, such as "auto"; None starts Ray on this machine.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self.ray: Any = need("ray", "ray")
        self.workers = None if workers is None else whole("workers", workers, low=1)
        self.address = address

    def __call__(self, tasks: Sequence[Task]) -> Generator[tuple[Task, Results], None, None]:
        """Play tasks as `on` of `run` describes."""
        ray = self.ray
        mine = not ray.is_initialized()
        if mine:
            size = {} if self.address is not None else {"num_cpus": self.workers, "include_dashboard": False}
            with contextlib.chdir(os.sep):  # Ray lets workers search for modules where it was started
                ray.init(address=self.address, log_to_driver=False, logging_level="error", **size)
        # A lost node is no error of the task: play it again as often as it takes. An exception is, and is raised.
        play = ray.remote(num_cpus=1, max_retries=-1, retry_exceptions=False)(play_in)
        folder = os.getcwd() if mine and self.address is None else None
        todo = iter(tasks)
        waiting: dict[Any, Task] = {}
        try:
            while True:
                most = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
                while len(waiting) < most and (task := next(todo, None)) is not None:
                    waiting[play.remote(folder, task)] = task
                if not waiting:
                    return
                finished, _ = ray.wait(list(waiting), num_returns=1, timeout=5.0)
                for reference in finished:
                    try:
                        results = ray.get(reference)  # an answer lost with its node is computed again
                    except ray.exceptions.RayTaskError as error:  # its words are the worker's whole traceback
                        raise error.cause from None
                    yield waiting.pop(reference), results
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)
            if mine:
                ray.shutdown()
