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
        marked: Plays of each arc that were reported late or imported, int [2, N].
        refused: Trials whose rewards the learner could not take (numbers too far apart to decide anything).
        spending: What the trials have cost; None where nothing costs anything.
    """

    def __init__(self, n_arcs: int, cost: FloatArray | None = None) -> None:
        self.spending = None if cost is None else Spending(cost)
        self.states = dict.fromkeys(sorted(SETTLED), 0)
        self.sources = dict.fromkeys(SOURCES, 0)
        self.left_out: IntArray = np.zeros((len(LEFT_OUT), n_arcs), dtype=np.int64)
        self.marked: IntArray = np.zeros((len(MARKED), n_arcs), dtype=np.int64)
        self.refused = 0

    def count(self, row: TrialRow) -> None:
        """Count one settled trial."""
        self.states[row.state] += 1
        self.sources[row.source] += 1
        if row.state not in SCORED:
            self.left_out[LEFT_OUT.index(row.state), list(row.path)] += 1
        if row.source in MARKED:
            self.marked[MARKED.index(row.source), list(row.path)] += 1
        if self.spending is not None:
            self.spending.count(row)

    def as_tree(self) -> dict[str, Any]:
        """Return everything as numbers and arrays."""
        arrays = {"left_out": self.left_out, "marked": self.marked}
        spent = {} if self.spending is None else self.spending.as_tree()
        return {"states": self.states, "sources": self.sources, "refused": self.refused, **arrays, **spent}

    def load(self, tree: dict[str, Any]) -> None:
        """Load what `as_tree` returned."""
        self.states.update(tree["states"])
        self.sources.update(tree["sources"])
        self.left_out[:], self.marked[:] = tree["left_out"], tree["marked"]
        self.refused = int(tree["refused"])
        if self.spending is not None:
            self.spending.load(tree)
