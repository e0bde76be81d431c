"""A back end of threads on this machine: the kernels release the interpreter lock, so threads use all cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from surepath._checks import whole
from surepath.experiments.cells import Task
from surepath.experiments.worker import Columns, play_task
from surepath.learners.runs import cancelled_by


class LocalBackend:
    """Play tasks on threads of this process.

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
