"""What `simulate` gives back: one row per (run, epsilon), in columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from surepath._optional import need
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import SettingError
from surepath.learners.runs import STOP_REASONS


class Row(NamedTuple):
    """Hold one run at one epsilon."""

    run: int
    epsilon: float
    tau: int
    censored: bool
    correct: bool
    regret: float
    reason: str
    eliminated: int
    gap: float


class Results:
    """Hold simulated runs in columns, each a numpy array with one entry per (run, epsilon), runs in order.

    Attributes:
        run: Index of the run; its seed is a child of the main seed keyed by this index.
        epsilon: The epsilon of this row.
        tau: Episodes played when the stopping rule was met, or the budget.
        censored: Whether the budget ended the run first.
        correct: Whether the recommended path is within epsilon of the best.
        regret: How far the recommended path is from the best.
        reason: Why it stopped: "gap", "single", "cleared" or "budget".
        eliminated: Arcs ruled out.
        gap: Certified gap at the end.
        path: Recommended path, int [rows, H].
        settings: Of the learner, the instance and the simulation.
    """

    COLUMNS = Row._fields

    def __init__(
        self,
        *,
        run: IntArray,
        epsilon: FloatArray,
        tau: IntArray,
        reason: IntArray,
        correct: BoolArray,
        regret: FloatArray,
        eliminated: IntArray,
        gap: FloatArray,
        path: IntArray,
        settings: dict[str, Any],
    ) -> None:
        self.run, self.epsilon, self.tau = run, epsilon, tau
        self.censored: BoolArray = reason == 0
        self.correct, self.regret = correct, regret
        self.reason = np.array(STOP_REASONS)[reason]
        self.eliminated, self.gap, self.path = eliminated, gap, path
        self.settings = settings

    def __len__(self) -> int:
        return len(self.tau)

    def __iter__(self) -> Iterator[Row]:
        for values in zip(*(getattr(self, name).tolist() for name in self.COLUMNS)):
            yield Row(*values)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as plain lists."""
        return {name: getattr(self, name).tolist() for name in self.COLUMNS}

    def frame(self) -> Any:
        """Return a polars data frame; needs the `data` extra."""
        return need("polars", "data").DataFrame({name: getattr(self, name) for name in self.COLUMNS})

    def at(self, epsilon: float) -> BoolArray:
        """Select the rows of this epsilon."""
        chosen: BoolArray = self.epsilon == epsilon
        if not chosen.any():
            have = ", ".join(f"{x:g}" for x in np.unique(self.epsilon))
            raise SettingError(f"no run has epsilon {epsilon:g}; there are: {have}")
        return chosen

    def mean_tau(self, epsilon: float | None = None) -> float:
        """Average the number of episodes; censored runs count with the budget, so it is then a lower bound."""
        return float(self.tau.mean() if epsilon is None else self.tau[self.at(epsilon)].mean())

    def failure_rate(self, epsilon: float | None = None) -> float:
        """Compute the share of the runs that stopped by themselves and were wrong, among all runs."""
        wrong = ~self.correct & ~self.censored
        return float(wrong.mean() if epsilon is None else wrong[self.at(epsilon)].mean())

    def __repr__(self) -> str:
        return (
            f"Results({len(self)} rows, mean tau {self.mean_tau():.6g}, wrong {self.failure_rate():.3g}, "
            f"censored {float(self.censored.mean()):.3g})"
        )


def different_rows(path: IntArray, arcs: int) -> tuple[IntArray, IntArray]:
    """Find the first row of each path, and for each row the place of its path among these.

    What `np.unique` does over rows, which it compares byte by byte. Here a row becomes one number, digit by digit with
    `arcs` digits; the numbers are replaced by their ranks before they grow too large.
    """
    number, below = np.zeros(len(path), dtype=np.int64), 1
    for column in path.T:
        if below > 2**62 // arcs:
            number = np.unique(number, return_inverse=True)[1]
            below = len(path)
        number, below = number * arcs + column, below * arcs
    _, first, which = np.unique(number, return_index=True, return_inverse=True)
    return first, which
