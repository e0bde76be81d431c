"""Back ends that play the tasks of an experiment: tasks in, finished columns out, in any order.

A back end never stores anything and never sees a seed: the same tasks give the same rows on all of them. All of them
execute `play_task`, which rebuilds instance and learner from plain data.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

from surepath._checks import one_of, whole
from surepath.experiments.cells import Columns, Task
from surepath.experiments.instance_sources import instance_of
from surepath.learners.cancellation import cancelled_by
from surepath.simulation.simulate import simulate

BACKENDS = ("local", "ray")


class Backend(Protocol):
    """Interface of a back end."""

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[Task, Columns], None, None]:
        """Yield every task exactly once with its columns as they finish, holding a bounded number at a time.

        Closing the iterator (as an interrupt does) drops what is in flight. An error in a task is raised here.
        """


def backend(name: str, *, workers: int | None = None, address: str | None = None) -> Backend:
    """Build the back end of this name."""
    if one_of("backend", name, BACKENDS) == "ray":
        from surepath.experiments.ray_backend import RayBackend

        return RayBackend(workers=workers, address=address)
    return LocalBackend(workers=workers)


def play_task(task: Mapping[str, Any]) -> Columns:
    """Play the runs of one task, a `Task.to_dict()`, on this thread.

    Returns:
        Columns with one entry per (run, epsilon), and under "settings" the learner's full settings as JSON text.
    """
    result = simulate(
        task["learner"],
        instance_of(task["source"]),
        runs=task["count"],
        seed=task["seed"],
        epsilons=task["epsilons"],
        workers=1,
        budget=task["budget"],
        first_run=task["first"],
    )
    columns: Columns = {name: getattr(result, name) for name in result.COLUMNS}
    columns["reason"] = columns["reason"].tolist()
    columns["path"] = result.path.tolist()
    columns["settings"] = json.dumps(result.settings["learner"], sort_keys=True)
    return columns


class LocalBackend:
    """Play tasks on threads of this process: the kernels release the interpreter lock, so threads use all cores.

    Args:
        workers: Number of threads; by default one per core.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = whole("workers", workers, low=1) if workers is not None else os.cpu_count() or 1

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[Task, Columns], None, None]:
        """Play tasks as `Backend.run` describes."""
        stop = threading.Event()

        def play(task: Task) -> Columns:
            with cancelled_by(stop):
                return play_task(task.to_dict())

        todo = iter(tasks)
        waiting: dict[Future[Columns], Task] = {}
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="surepath")
        try:
            while True:
                while len(waiting) < 2 * self.workers and (task := next(todo, None)) is not None:
                    waiting[pool.submit(play, task)] = task
                if not waiting:
                    return
                # A wait without end cannot be interrupted on every system.
                finished, _ = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield waiting.pop(future), future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
