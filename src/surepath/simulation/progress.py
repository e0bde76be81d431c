"""The progress of simulated runs: a bar on standard error, or calls of a function of the user's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from surepath.simulation.workers import REPORT_EVERY

Progress = Callable[[int, int], None]


class Reporter:
    """Call the user's function, or show a bar, or do nothing."""

    def __init__(self, progress: bool | Progress, runs: int) -> None:
        self.progress, self.runs = progress, runs
        self.bar: Any = None
        self.task: Any = None
        self.shown = 0.0

    def __enter__(self) -> Callable[[int], None]:
        if self.progress is True:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self.bar = Progress(*columns, console=Console(stderr=True))
            self.bar.start()
            self.task = self.bar.add_task("runs", total=self.runs)
        return self.report

    def report(self, done: int) -> None:
        """Move the bar, a few times a second at most, or call the user's function."""
        if self.bar is not None:
            now = time.monotonic()
            if done == self.runs or now >= self.shown + REPORT_EVERY:
                self.bar.update(self.task, completed=done)
                self.shown = now
        elif callable(self.progress):
            self.progress(done, self.runs)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
