"""Pictures of simulated runs: cost over epsilon and learners compared, each a data function and a drawing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepath._checks import suggest
from surepath._optional import need
from surepath.errors import SettingError
from surepath.experiments.drawing import MOST_PANELS, Panel, Series, draw_panels, short, short_name
from surepath.experiments.stats import compare, epsilon_column
from surepath.experiments.store import read
from surepath.simulation.simulate import Results

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
    frame: polars.DataFrame
    if isinstance(source, Mapping) and source and all(isinstance(one, Results) for one in source.values()):
        frame = pl.concat(
            one.frame().with_columns(
                instance=pl.lit(str(one.settings["instance"])),
                learner=pl.lit(str(label)),
                delta=pl.lit(float(one.settings["learner"]["delta"])),
                epsilon_per_gap=pl.lit(None, dtype=pl.Float64),
            )
            for label, one in source.items()
        )
        return frame
    if not isinstance(source, pl.DataFrame):
        raise SettingError(
            "pictures of runs are made of an experiment's folder, its rows, or {label: results of simulate}, not of "
            f"{type(source).__name__}"
        )
    frame = source
    missing = [name for name in RUN_COLUMNS if name not in frame.columns]
    if missing:
        raise SettingError(f"rows of runs need the columns {', '.join(missing)}; experiments.store.read has them")
    return frame


def chosen(
    rows: polars.DataFrame,
    instance: str | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    learners: list[str] | None = None,
) -> polars.DataFrame:
    """Keep the rows of one instance, delta (the smallest by default), epsilon and learners.

    Epsilons are in units of Delta_min where the experiment's are.
    """
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
    rows = rows.filter(rows["learner"].is_in(learners)) if learners else rows
    return rows.filter(rows["delta"] == rows["delta"].min())


def epsilon_words(column: str) -> str:
    """Return the name of an axis of epsilons."""
    return "epsilon / smallest gap" if column == "epsilon_per_gap" else "epsilon"


COST_READING = (
    "Mean number of trials until the stop, over epsilon; bands are 95 % intervals of the mean. Hollow marks are lower "
    "bounds: some of their runs were cut by the budget."
)


def cost_data(
    source: Any, instance: str | None = None, delta: float | None = None, learners: list[str] | None = None
) -> polars.DataFrame:
    """Return mean trials with an interval for every instance, learner and epsilon.

    Args:
        source: As in `rows_of`.
        instance: One instance; all by default.
        delta: One delta; by default the smallest.
        learners: Labels; all by default.

    Returns:
        Columns instance, delta, epsilon, learner, mean, low, high (infinite where runs were cut), censored (share of
        runs cut) and runs; sorted by epsilon, learners in the order of the rows. `epsilon` is in units of the smallest
        gap where the experiment's are.
    """
    rows = rows_of(source)
    column = epsilon_column(rows)
    rows = chosen(rows, instance, delta, None, learners)
    order = rows.select("instance", "learner").unique(maintain_order=True).with_row_index("order")
    return (
        compare(rows)
        .with_columns(epsilon=column)
        .join(order, on=["instance", "learner"], how="left")
        .sort("order", "epsilon")
        .select("instance", "delta", "epsilon", "learner", "mean", "low", "high", "censored", "runs")
    )


def draw_cost(data: polars.DataFrame, column: str = "epsilon") -> Any:
    """Draw mean trials over epsilon, a panel for each of the first six instances; returns a matplotlib figure."""
    return _draw(data.with_columns(value="mean", cut=data["censored"] > 0), column, "trials")


COMPARISON_READING = (
    "Trials of each learner over those of the baseline on the same instance, with 95 % intervals over paired runs: "
    "below the line is cheaper. Hollow marks are bounds: runs of one side were cut by the budget."
)


def comparison_data(
    source: Any,
    baseline: str | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    learners: list[str] | None = None,
) -> polars.DataFrame:
    """Return the ratio of each learner's trials to those of a baseline, over paired runs.

    Args:
        source: As in `rows_of`.
        baseline: Label of the learner below the line; by default the first.
        delta: One delta; by default the smallest.
        epsilon: One epsilon; all by default.
        learners: Labels of those compared; all by default.

    Returns:
        Columns instance, delta, epsilon, learner, baseline, ratio, ratio_is ("=", "<=" or ">="), low, high and p. Rows
        whose ratio is not known, since runs of both sides were cut, are left out.
    """
    pl = need("polars", "data")
    rows = rows_of(source)
    column = epsilon_column(rows)
    base: str = rows["learner"][0] if baseline is None and len(rows) else baseline or ""
    rows = chosen(rows, None, delta, epsilon, None if learners is None else [*learners, base])
    found: polars.DataFrame = (
        compare(rows, base)
        .filter((pl.col("learner") != base) & pl.col("ratio").is_not_null())
        .with_columns(epsilon=column, baseline=pl.lit(base), low="ratio_low", high="ratio_high")
        .select("instance", "delta", "epsilon", "learner", "baseline", "ratio", "ratio_is", "low", "high", "p")
    )
    return found


def draw_comparison(data: polars.DataFrame, column: str = "epsilon") -> Any:
    """Draw ratios over epsilon, a panel for each of the first six instances; returns a matplotlib figure."""
    base = short(data["baseline"][0], 12) if data.height else ""
    return _draw(data.with_columns(value="ratio", cut=data["ratio_is"] != "="), column, f"over {base}", line_at=1.0)


def _draw(data: polars.DataFrame, column: str, y: str, line_at: float | None = None) -> Any:
    """Draw the columns value, low, high and cut over epsilon, each instance on a panel."""
    log, parts, panels = bool((data["epsilon"] > 0).all()), data.partition_by("instance", maintain_order=True), []
    for place, part in enumerate(parts, 1):
        series = []
        for own in part.partition_by("learner", maintain_order=True):
            x, value, low, high, cut = (own[name].to_list() for name in ("epsilon", "value", "low", "high", "cut"))
            series.append(Series(own["learner"][0], x, value, low, high, cut))
        x_label = epsilon_words(column) if place == min(len(parts), MOST_PANELS) else ""
        title = short(short_name(part["instance"][0]), 48)
        panels.append(Panel(title, x_label, y, series, x_log=log, line_at=line_at))
    return draw_panels(panels)


# By kind: the data, the drawing, and how to read it.
PICTURES: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "compare": (comparison_data, draw_comparison, COMPARISON_READING),
    "cost": (cost_data, draw_cost, COST_READING),
}
