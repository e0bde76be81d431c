"""What passes between a learner and its compiled runs: tasks, records, cancellation."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import FloatArray, IntArray
from surepath.errors import SettingError
from surepath.model.mdp import MDP
from surepath.model.paths import every_path

# Tasks ----------------------------------------------------------------------------------------------------------------
# What the compiled entry point of a learner can be asked for: one table for all of them, read as `tasks.RUN`.
#
# Each entry point says in its docstring which tasks it takes; RUN and FINISH, of whole runs, come last.

ASK, TELL, TEST, SET_UP, ADVISE, DROP, TAKEN = range(7)
PLAN, AGAIN, REFRESH, INCUMBENT, CERTIFY, CHECK = range(7, 13)
RUN, FINISH = range(13, 15)


# Runs -----------------------------------------------------------------------------------------------------------------
# Why a run ended; the names are what people see, the numbers what kernels return.
STOP_REASONS = ("budget", "gap", "single", "cleared")
GO_ON, BUDGET, GAP, SINGLE, CLEARED = range(-1, 4)  # GO_ON is not one of them


# On a fixed budget epsilon 0 spends trials on plans that hardly differ.
BUDGET_AND_ZERO = (
    "epsilon 0 asks for the best plan itself: of {}, many go to plans that hardly differ; choose the epsilon that you "
    "can accept, such as a tenth of what plans differ by"
)


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


# Lists of plans -------------------------------------------------------------------------------------------------------


MOST_PLANS = 100_000  # that are listed


def list_plans(mdp: MDP, who: str) -> IntArray:
    """Return every plan, int [P, H], in lexicographic order of arcs; refuse a graph with too many."""
    if mdp.log_paths > np.log(MOST_PLANS) + 1e-9:
        count = mdp.n_paths if mdp.log_paths < 40 else f"about e^{mdp.log_paths:.0f}"
        raise SettingError(
            f"the graph has {count} plans and {who} lists them all, at most {MOST_PLANS}; EPRL and "
            "Challenger need no list"
        )
    return every_path(mdp)


# Cancellation ---------------------------------------------------------------------------------------------------------
_mine = threading.local()


class Cancelled(Exception):
    """The run of this worker was cancelled."""


def raise_if_cancelled() -> None:
    """Raise `Cancelled` if this thread's runs are cancelled; called between runs, in long ones between kernels too."""
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
