"""A back end on a Ray cluster: every task is a remote call that Ray repeats when its node is lost."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Sequence
from typing import Any

from surepath._checks import whole
from surepath._optional import need
from surepath.experiments.backends import play_task
from surepath.experiments.cells import Columns, Task


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

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[Task, Columns], None, None]:
        """Play tasks as `Backend.run` describes."""
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
                    waiting[play.remote(task.to_dict())] = task
                if not waiting:
                    return
                finished, _ = ray.wait(list(waiting), num_returns=1, timeout=5.0)
                for reference in finished:
                    columns = ray.get(reference)  # an answer lost with its node is computed again
                    yield waiting.pop(reference), columns
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)
            if mine:
                ray.shutdown()
