"""Play runs over threads: each worker takes the next runs from one counter, so none waits while runs are left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from surepath.learners.cancellation import cancelled_by, raise_if_cancelled

Record = TypeVar("Record")

REPORT_EVERY = 0.2  # seconds between two reports
STRETCH = 0.05  # seconds that a worker plays before it takes the next runs, where runs are short


class Counter:
    """Assign runs: few at first, then as many as a worker plays in a STRETCH, fewer again towards the end."""

    def __init__(self, runs: int, workers: int) -> None:
        self.runs, self.workers = runs, workers
        self.next = 0
        self.lock = threading.Lock()

    def take(self, wish: int) -> tuple[int, int]:
        """Return the first of the next runs and their number, 0 when none is left."""
        with self.lock:
            first = self.next
            left = self.runs - first
            share = left if self.workers == 1 else max(left // (2 * self.workers), wish // 16, 1)
            count = min(left, wish, share)
            self.next += count
            return first, count


def wish_after(count: int, seconds: float) -> int:
    """Choose how many runs a worker takes next, after `count` of them took so many seconds."""
    return max(1, min(64 * count, int(count * STRETCH / max(seconds, 1e-6))))


def play_all(
    some: Callable[[int, int], Record], runs: int, workers: int, report: Callable[[int], None]
) -> list[Record]:
    """Return the records of runs 0, 1, ... in their order, whoever played them.

    Args:
        some: Plays the runs first .. first + count - 1, given (first, count), and returns one record of all of them.
        runs: How many.
        workers: Threads; with one, the runs are played here.
        report: Called with the number of runs done: after each with one worker, else about five times a second, and at
            the end.

    An error in a run, or Ctrl-C, cancels the others: runs under way end at their next `raise_if_cancelled`.
    """
    counter = Counter(runs, workers)
    records: dict[int, Record] = {}
    if workers == 1:
        wish = 1
        while True:
            raise_if_cancelled()
            first, count = counter.take(wish)
            if count == 0:
                return list(records.values())
            begun = time.monotonic()
            records[first] = some(first, count)
            wish = wish_after(count, time.monotonic() - begun)
            for done in range(first, first + count):
                report(done + 1)
    halt, played = threading.Event(), [0] * workers

    def work(worker: int) -> None:
        wish = 1
        with cancelled_by(halt):
            while not halt.is_set():
                first, count = counter.take(wish)
                if count == 0:
                    return
                begun = time.monotonic()
                records[first] = some(first, count)
                played[worker] += count
                wish = wish_after(count, time.monotonic() - begun)

    with ThreadPoolExecutor(workers) as pool:
        try:
            working = {pool.submit(work, worker) for worker in range(workers)}
            while working:
                finished, working = wait(working, timeout=REPORT_EVERY, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                report(sum(played))
        finally:
            halt.set()
    return [records[first] for first in sorted(records)]
