"""Run an experiment: play the missing runs, store every finished task, continue after any interruption."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from surepath._checks import whole
from surepath._optional import need
from surepath.experiments.spec import Spec, Task, instance_of
from surepath.experiments.store import Store
from surepath.simulation.simulate import Progress, Results, in_threads, reporting, simulate

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
        play = ray.remote(num_cpus=1, max_retries=-1, retry_exceptions=False)(play_task)
        todo = iter(tasks)
        waiting: dict[Any, Task] = {}
        try:
            while True:
                most = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
                while len(waiting) < most and (task := next(todo, None)) is not None:
                    waiting[play.remote(task)] = task
                if not waiting:
                    return
                finished, _ = ray.wait(list(waiting), num_returns=1, timeout=5.0)
                for reference in finished:
                    results = ray.get(reference)  # an answer lost with its node is computed again
                    yield waiting.pop(reference), results
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)
            if mine:
                ray.shutdown()
