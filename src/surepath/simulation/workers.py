"""Many runs over a few threads: each worker takes the next run from one counter, so none waits while runs are left."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from surepath.learners.cancellation import cancelled_by, raise_if_cancelled

Record = TypeVar("Record")

LOOK = 0.2  # seconds between two reports


def play_all(one: Callable[[int], Record], runs: int, workers: int, report: Callable[[int], None]) -> list[Record]:
    """The records of runs 0, 1, ... in their order, whoever played them.

    Args:
        one: Plays one run.
        runs: How many.
        workers: Threads; with one, the runs are played here.
        report: Told how many runs are done: after each with one worker, else about five times a second; and at the end.

    An error in a run, or Ctrl-C, calls off the others: runs under way end at their next `raise_if_cancelled`.
    """
    if workers == 1:
        alone = []
        for index in range(runs):
            raise_if_cancelled()
            alone.append(one(index))
            report(index + 1)
        return alone
    records: dict[int, Record] = {}
    halt, numbers = threading.Event(), itertools.count()

    def work() -> None:
        with cancelled_by(halt):
            for index in numbers:  # one counter for all: next() on it is one step that threads cannot share
                if index >= runs or halt.is_set():
                    return
                records[index] = one(index)

    with ThreadPoolExecutor(workers) as pool:
        try:
            working = {pool.submit(work) for _ in range(workers)}
            while working:
                finished, working = wait(working, timeout=LOOK, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                report(len(records))
        finally:
            halt.set()
    return [records[index] for index in range(runs)]
