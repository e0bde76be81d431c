"""What a fold counts beside the evidence: trials by state and source, and those left out, arc by arc."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.study.spending import Spending
from surepath.study.storage import TrialRow
from surepath.study.trial import CANCELLED, EXPIRED, FAILED, IMPORTED, LATE, SCORED, SETTLED, SOURCES

LEFT_OUT = (FAILED, EXPIRED, CANCELLED)
MARKED = (LATE, IMPORTED)


class Tally:
    """Counts over the settled prefix of a log.

    Attributes:
        states: Trials of each settled state.
        sources: Trials of each source.
        left_out: Plays of each arc that were failed, expired or cancelled, int [3, N].
        marked: Plays of each arc that were reported too late to count, or imported, int [2, N].
        refused: Trials whose rewards the learner could not take, in logs of earlier versions or changed by hand.
        outlived: Results that came after the lease of their trial, which counted as lost by then.
        spending: What the trials have cost; None where nothing costs anything.
    """

    def __init__(self, n_arcs: int, cost: FloatArray | None = None) -> None:
        self.spending = None if cost is None else Spending(cost)
        self.states = dict.fromkeys(sorted(SETTLED), 0)
        self.sources = dict.fromkeys(SOURCES, 0)
        self.left_out: IntArray = np.zeros((len(LEFT_OUT), n_arcs), dtype=np.int64)
        self.marked: IntArray = np.zeros((len(MARKED), n_arcs), dtype=np.int64)
        self.refused = self.outlived = 0
        self._expired: set[int] = set()  # numbers

    @property
    def scored(self) -> int:
        """Return how many trials have scores that count."""
        return sum(self.states[state] for state in SCORED) - self.sources[LATE]

    def count(self, row: TrialRow) -> None:
        """Count one settled trial."""
        self.states[row.state] += 1
        self.sources[row.source] += 1
        if row.state not in SCORED:
            self.left_out[LEFT_OUT.index(row.state), list(row.path)] += 1
        if row.state == EXPIRED:
            self._expired.add(row.number)
        self.outlived += row.source == LATE and row.of in self._expired
        if row.source in MARKED:
            self.marked[MARKED.index(row.source), list(row.path)] += 1
        if self.spending is not None:
            self.spending.count(row)

    def as_tree(self) -> dict[str, Any]:
        """Return everything as numbers and arrays."""
        expired = np.array(sorted(self._expired), dtype=np.int64)
        arrays = {"left_out": self.left_out, "marked": self.marked, "expired": expired}
        spent = {} if self.spending is None else self.spending.as_tree()
        return {
            "states": self.states,
            "sources": self.sources,
            "refused": self.refused,
            "outlived": self.outlived,
            **arrays,
            **spent,
        }

    def load(self, tree: dict[str, Any]) -> None:
        """Load what `as_tree` returned."""
        self.states.update(tree["states"])
        self.sources.update(tree["sources"])
        self.left_out[:], self.marked[:] = tree["left_out"], tree["marked"]
        self.refused, self.outlived = int(tree["refused"]), int(tree["outlived"])
        self._expired = set(np.asarray(tree["expired"]).tolist())
        if self.spending is not None:
            self.spending.load(tree)
