"""Run an experiment: play the missing runs, store every finished task, continue after any interruption."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from surepath._optional import need
from surepath.experiments.backends import Backend, backend
from surepath.experiments.spec import Spec
from surepath.experiments.store import Store

Report = Callable[[int, int], None]


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
    backend_name: str = "local",
    address: str | None = None,
    resume: bool = False,
    progress: bool | Report = False,
    on: Backend | None = None,
) -> Summary:
    """Play the runs of an experiment that are not stored yet.

    Stopping it in any way, Ctrl-C and kill -9 included, leaves a folder that `resume=True` completes: at most the
    tasks in flight are played again, and no row is ever stored twice. Rows depend on the spec and the version only,
    not on the back end or the number of workers.

    Args:
        spec: What to play.
        out: Folder of the results.
        workers: Threads, or processors of a local Ray.
        backend_name: "local" or "ray".
        address: Of a running Ray cluster.
        resume: Continue in a folder that has rows already.
        progress: True for a bar with the time left on standard error, or a function of (runs done, runs).
        on: A back end of your own instead of `backend_name`.
    """
    need("polars", "data")
    chosen = on if on is not None else backend(backend_name, workers=workers, address=address)
    cells, store = spec.cells(), Store(out)
    started = time.perf_counter()
    with store.locked():
        store.open(spec, cells, resume=resume)
        tasks = store.missing(cells, spec.runs, spec.chunk)
        total, todo = spec.runs * len(cells), sum(task.count for task in tasks)
        played = 0
        with _bar(progress, total) as report:
            report(total - todo)
            with contextlib.closing(chosen.run(tasks)) as finished:
                for task, columns in finished:
                    store.write(task, columns)
                    played += task.count
                    report(total - todo + played)
    return Summary(len(cells), total, played, time.perf_counter() - started)


@contextlib.contextmanager
def _bar(progress: bool | Report, total: int) -> Iterator[Callable[[int], None]]:
    if progress is False:
        yield lambda done: None
        return
    if progress is not True:
        yield lambda done: progress(done, total)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[Any] = [TextColumn("runs"), BarColumn(), MofNCompleteColumn()]
    columns += [TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()]
    # The time left is estimated from the tasks of this many seconds; one task may take minutes.
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=3600.0) as bar:
        line = bar.add_task("runs", total=total)
        yield lambda done: bar.update(line, completed=done)
