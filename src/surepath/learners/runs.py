"""The record of simulated runs: when and why each ended, and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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


def reordered(record: RunRecord, order: IntArray) -> RunRecord:
    """Return a record with its entries in this order."""
    columns: list[Any] = [column[order] for column in record]
    return RunRecord(*columns)


def joined(records: Sequence[RunRecord]) -> RunRecord:
    """Join the records of several runs, in their order."""
    return RunRecord(*(np.concatenate(columns) for columns in zip(*records)))
