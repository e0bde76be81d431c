"""The columns of a stored row; whoever changes them raises `cells.FORMAT`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._optional import need
from surepath._version import __version__
from surepath.experiments.cells import Task
from surepath.experiments.instance_sources import name_of
from surepath.experiments.worker import Columns

if TYPE_CHECKING:
    import polars


def frame_of(task: Task, columns: Columns) -> polars.DataFrame:
    """Build one row per (run, epsilon), with everything that made it."""
    pl = need("polars", "data")
    cell, size = task.cell, len(columns["tau"])
    per_gap = None if cell.multiples is None else np.tile(cell.multiples, task.count)
    head = {
        "experiment": cell.experiment,
        "cell": cell.id,
        "instance": name_of(cell.source),
        "learner": cell.label,
        "delta": cell.delta,
    }
    frame = pl.DataFrame({name: pl.Series(columns[name]) for name in ("run", "epsilon")})
    frame = frame.with_columns(
        pl.Series("epsilon_per_gap", per_gap if per_gap is not None else [None] * size, dtype=pl.Float64),
        *(pl.Series(name, columns[name]) for name in ("tau", "censored", "correct", "regret", "reason")),
        *(pl.Series(name, columns[name]) for name in ("eliminated", "gap")),
        pl.Series("path", columns["path"], dtype=pl.List(pl.Int64)),
    )
    tail = {"seed": cell.seed, "budget": cell.budget, "settings": columns["settings"], "version": __version__}
    ends = [[_constant(value).alias(name) for name, value in part.items()] for part in (head, tail)]
    found: polars.DataFrame = frame.select(*ends[0], pl.all(), *ends[1])
    return found


def _constant(value: Any) -> polars.Expr:
    """Return an expression with one value for the whole column."""
    pl = need("polars", "data")
    found: polars.Expr = pl.lit(value, dtype=pl.Int64 if isinstance(value, int) else None)
    return found
