"""One line that says how far a study is, on a terminal; nothing anywhere else."""

from __future__ import annotations

import logging
import math
import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING

from surepath._numbers import rounded_up
from surepath._text import many, shown
from surepath.model.plans import plan_in_words
from surepath.study.spending import money
from surepath.study.trial import FAILED

if TYPE_CHECKING:
    from surepath.study.study import Study

log = logging.getLogger("surepath.study")

REDRAWN_EVERY = 0.2  # seconds
MOST_PLAN = 48  # characters of the current plan


def rough_trials_left(trials: int, gap: float, epsilon: float) -> int | None:
    """Guess how many more trials the proof needs at most: the gap falls at least with the root of the trials.

    Example:
        >>> rough_trials_left(100, 0.2, 0.1), rough_trials_left(100, 0.05, 0.1), rough_trials_left(3, math.inf, 0.1)
        (300, 0, None)
    """
    if trials < 1 or not math.isfinite(gap) or epsilon <= 0.0:
        return None
    more = trials * max((gap / epsilon) ** 2 - 1.0, 0.0)
    if more > 1e12:
        return None
    digits = max(len(str(int(more))) - 2, 0)  # two figures are all that such a guess is worth
    return round(more / 10.0**digits) * int(10**digits)


def at_most(left: int) -> str:
    """Describe a rough guess of the trials left, as a condition and not as a forecast."""
    return f"at most about {left:,} more if the gap falls with the root of the trials"


def gap_in_words(gap: float, epsilon: float) -> str:
    """Describe how far the current plan can be from the best, beside what is wanted."""
    return f"proven gap {rounded_up(gap)}, wanted {epsilon:.3g}" if math.isfinite(gap) else "nothing proven yet"


def one_line(text: str) -> str:
    """Cut a text to the width of the terminal: a longer one would go on in lines that cannot be written over."""
    most = shutil.get_terminal_size().columns - 1
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"


class Progress:
    """The line itself; with show=None only where standard error is a terminal."""

    def __init__(self, study: Study, show: bool | None = None, budget: float | None = None) -> None:
        self._study, self._budget = study, budget
        self.shown = sys.stderr.isatty() if show is None else show
        self._next, self._used = 0.0, False
        self._lock = threading.Lock()

    def show(self, running: int) -> None:
        """Write the line anew, five times a second at most."""
        if not self.shown or time.monotonic() < self._next or not self._lock.acquire(blocking=False):
            return
        try:
            self._next = time.monotonic() + REDRAWN_EVERY
            sys.stderr.write(f"\r{one_line(self.text(running))}\x1b[K")
            sys.stderr.flush()
            self._used = True
        finally:
            self._lock.release()

    def text(self, running: int) -> str:
        """Return the state of the study as one line."""
        study = self._study
        status = study.status()
        trials, gap, epsilon, failed = status.evidence, status.certified_gap, status.epsilon, status.states[FAILED]
        left = rough_trials_left(trials, gap, epsilon)
        more = ", done" if status.done else "" if left is None else f", {at_most(left)}"
        more += ", in doubt" if status.findings else ""
        lost = f", {failed:,} failed" if failed else ""
        plan = plan_in_words(status.best_plan) if math.isfinite(gap) else ""
        plan = f" ({plan if len(plan) <= MOST_PLAN else plan[: MOST_PLAN - 1] + '…'})" if plan else ""
        paid = "" if status.spent is None else f", {money(status.spent)} spent"
        paid += f" of {money(self._budget)}" if paid and self._budget is not None else ""
        counted = f"{many(trials, 'trial')}{lost}{paid}"
        return f"{counted}, {running} running: {gap_in_words(gap, epsilon)}{more}{shown(plan)}"

    def say(self, words: str) -> None:
        """Write a separate line where the progress is shown, and to the log everywhere."""
        log.info(words)
        if self.shown:
            sys.stderr.write(f"{shown(words)}\n")

    def close(self) -> None:
        """End the line of progress."""
        if self._used:
            sys.stderr.write(f"\r{self.text(0)}\x1b[K\n")
            sys.stderr.flush()
            self._used = False
