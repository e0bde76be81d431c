"""The rows that pictures of simulated runs are made of: an experiment's folder, a frame, or results of `simulate`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepath._checks import suggest
from surepath._optional import need
from surepath.errors import SettingError
from surepath.experiments.results import read
from surepath.simulation.results import Results

if TYPE_CHECKING:
    import polars

RUN_COLUMNS = ("instance", "learner", "delta", "epsilon", "epsilon_per_gap", "run", "tau", "censored", "correct")


def rows_of(source: Any) -> polars.DataFrame:
    """Return rows with the columns `RUN_COLUMNS`, runs in order.

    Args:
        source: The folder of an experiment; a polars frame with its rows; or {label: results of `simulate`}, all on
            one instance.
    """
    pl = need("polars", "data")
    if isinstance(source, (str, os.PathLike)):
        return read(Path(source))
    if isinstance(source, pl.DataFrame):
        missing = [name for name in RUN_COLUMNS if name not in source.columns]
        if missing:
            raise SettingError(f"rows of runs need the columns {', '.join(missing)}; experiments.results.read has them")
        frame: polars.DataFrame = source
        return frame
    if isinstance(source, Mapping) and source and all(isinstance(one, Results) for one in source.values()):
        found: polars.DataFrame = pl.concat([_of_results(str(label), one) for label, one in source.items()])
        return found
    raise SettingError(
        "pictures of runs are made of an experiment's folder, its rows, or {label: results of simulate}, not of "
        f"{type(source).__name__}"
    )


def _of_results(label: str, results: Results) -> polars.DataFrame:
    pl = need("polars", "data")
    settings = results.settings
    instance, delta = settings.get("instance"), settings["learner"]["delta"]
    frame: polars.DataFrame = results.frame().select("run", "epsilon", "tau", "censored", "correct")
    return frame.with_columns(
        pl.lit(str(instance)).alias("instance"),
        pl.lit(label).alias("learner"),
        pl.lit(float(delta)).alias("delta"),
        pl.lit(None, dtype=pl.Float64).alias("epsilon_per_gap"),
    ).select(RUN_COLUMNS)


def chosen(
    rows: polars.DataFrame,
    instance: str | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    learners: list[str] | None = None,
) -> polars.DataFrame:
    """Keep the rows of one instance, delta, epsilon (in units of Delta_min where the experiment's are) and learners."""
    if rows.is_empty():
        raise SettingError("there are no runs to draw")
    for column, value in (("instance", instance), ("delta", delta), (epsilon_column(rows), epsilon)):
        if value is not None:
            have = rows[column].unique().sort().to_list()
            rows = rows.filter(rows[column] == value)
            if rows.is_empty():
                words = f"{suggest(value, have)}" if isinstance(value, str) else ""
                listed = ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in have[:20])
                raise SettingError(f"no run has {column} {value}{words}; there are: {listed}")
    for label in learners or ():
        labels = rows["learner"].unique(maintain_order=True).to_list()
        if label not in labels:
            raise SettingError(f"no learner of this experiment is called {label!r}{suggest(label, labels)}")
    return rows.filter(rows["learner"].is_in(learners)) if learners else rows


def at_one_delta(
    rows: polars.DataFrame,
    instance: str | None,
    delta: float | None,
    epsilon: float | None = None,
    learners: list[str] | None = None,
) -> polars.DataFrame:
    """Keep what `chosen` keeps, at one delta: the smallest by default."""
    rows = chosen(rows, instance, delta, epsilon, learners)
    return rows.filter(rows["delta"] == rows["delta"].min())


def epsilon_column(rows: polars.DataFrame) -> str:
    """Return the column of epsilons: in units of Delta_min where all rows have that."""
    return "epsilon" if rows["epsilon_per_gap"].null_count() else "epsilon_per_gap"


def epsilon_words(column: str) -> str:
    """Return the name of an axis of epsilons."""
    return "epsilon / smallest gap" if column == "epsilon_per_gap" else "epsilon"
