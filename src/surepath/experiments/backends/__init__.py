"""Back ends that play the tasks of an experiment: tasks in, finished columns out, in any order.

A back end never stores anything and never sees a seed: the same tasks give the same rows on all of them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from surepath._checks import one_of
from surepath.experiments.backends.local import LocalBackend
from surepath.experiments.cells import Task
from surepath.experiments.worker import Columns

NAMES = ("local", "ray")


class Backend(Protocol):
    """Interface of a back end."""

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[Task, Columns], None, None]:
        """Yield every task exactly once with its columns as they finish, holding a bounded number at a time.

        Closing the iterator (as an interrupt does) drops what is in flight. An error in a task is raised here.
        """


def backend(name: str, *, workers: int | None = None, address: str | None = None) -> Backend:
    """Build the back end of this name."""
    if one_of("backend", name, NAMES) == "ray":
        from surepath.experiments.backends.ray import RayBackend

        return RayBackend(workers=workers, address=address)
    return LocalBackend(workers=workers)
