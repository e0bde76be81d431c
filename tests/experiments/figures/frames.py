"""Small frames shared by the tests of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surepath.experiments.figures.common import BPI, LABELS

if TYPE_CHECKING:
    import polars


def rows(tau: dict[str, list[int]], censored: bool = False, runs: int = 8) -> polars.DataFrame:
    """Rows of two instances at the smallest and the largest epsilon; odd runs take one episode more."""
    import polars as pl

    data = [
        {"instance": f"i{i}", "learner": label, "delta": 0.1, "epsilon": eps, "epsilon_per_gap": eps, "run": run,
         "tau": tau[label][k] + run % 2, "correct": True, "censored": censored and label == BPI}
        for i in range(2) for label in LABELS for k, eps in enumerate((0.05, 10.0)) for run in range(runs)
    ]  # fmt: skip
    return pl.DataFrame(data)
