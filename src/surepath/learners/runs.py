"""Simulated runs: what they leave behind, why they end, and how those that nobody waits for are cancelled."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from surepath._types import FloatArray, IntArray

# Why a run ended; the names are what people see, the numbers what kernels return.
STOP_REASONS = ("budget", "gap", "single", "cleared")
GO_ON, BUDGET, GAP, SINGLE, CLEARED = range(-1, 4)  # GO_ON is not one of them


class RunRecord(NamedTuple):
    """Simulated runs, one entry per run and epsilon (largest epsilon need not come first)."""

    tau: IntArray  # [E] episodes played when this epsilon's rule was met, or the budget
    reason: IntArray  # [E] index into STOP_REASONS; BUDGET marks a censored run
    path: IntArray  # [E, H] recommended path
    eliminated: IntArray  # [E] number of arcs ruled out
    gap: FloatArray  # [E] certified gap at that time

    @classmethod
    def empty(cls, epsilons: int, horizon: int) -> RunRecord:
        """Allocate the record of a run that is still to be played."""
        wholes = [np.zeros(epsilons, dtype=np.int64) for _ in range(3)]
        return cls(wholes[0], wholes[1], np.zeros((epsilons, horizon), dtype=np.int64), wholes[2], np.zeros(epsilons))


def joined(records: Sequence[RunRecord]) -> RunRecord:
    """Join records, in their order."""
    return RunRecord(*(np.concatenate(columns) for columns in zip(*records)))


# Cancelling: a flag of each thread that long runs look at between two stretches of compiled work.
_mine = threading.local()


class Cancelled(Exception):
    """Raised inside a worker whose run nobody waits for any more."""


def raise_if_cancelled() -> None:
    """Give up here if the runs were called off; called between runs, and in long ones between stretches of kernels."""
    halt: threading.Event | None = getattr(_mine, "halt", None)
    if halt is not None and halt.is_set():
        raise Cancelled


@contextlib.contextmanager
def cancelled_by(halt: threading.Event) -> Iterator[None]:
    """Let runs on this thread end at their next `raise_if_cancelled` once the event is set."""
    before = getattr(_mine, "halt", None)
    _mine.halt = halt
    try:
        yield
    finally:
        _mine.halt = before
