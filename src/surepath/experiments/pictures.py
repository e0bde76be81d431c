"""Pictures of simulated runs: stopping times, cost over epsilon, learners compared; data functions and drawings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surepath._checks import suggest
from surepath._optional import need
from surepath.errors import SettingError
from surepath.experiments.drawing import (
    AS_STEPS,
    DASHES,
    MOST_PANELS,
    Panel,
    Series,
    draw_panels,
    short,
    short_name,
)
from surepath.experiments.stats import compare
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
    if isinstance(source, pl.DataFrame):
        missing = [name for name in RUN_COLUMNS if name not in source.columns]
        if missing:
            raise SettingError(f"rows of runs need the columns {', '.join(missing)}; experiments.store.read has them")
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


def epsilon_column(rows: polars.DataFrame) -> str:
    """Return the column of epsilons: in units of Delta_min where all rows have that."""
    return "epsilon" if rows["epsilon_per_gap"].null_count() else "epsilon_per_gap"


def epsilon_words(column: str) -> str:
    """Return the name of an axis of epsilons."""
    return "epsilon / smallest gap" if column == "epsilon_per_gap" else "epsilon"


STOPPING_READING = (
    "Share of the runs that had stopped after so many trials, a line for each learner: further left is cheaper, "
    "steeper is more even. A line that ends below 1 was cut by the budget."
)


def stopping_data(
    source: Any, instance: str | None = None, delta: float | None = None, epsilon: float | None = None
) -> polars.DataFrame:
    """Return the distribution of stopping times: one row per (instance, delta, learner, tau).

    Args:
        source: As in `rows_of`.
        instance: One instance; all by default.
        delta: One delta; by default the smallest.
        epsilon: One epsilon; by default the smallest.

    Returns:
        Columns instance, delta, epsilon, learner, tau, stopped (share of all runs that stopped by themselves after at
        most tau trials) and runs.
    """
    pl = need("polars", "data")
    rows = rows_of(source)
    column = epsilon_column(rows)
    rows = chosen(rows, instance, delta, epsilon)
    if epsilon is None:
        rows = rows.filter(pl.col(column) == pl.col(column).min())
    keys = ["instance", "delta", "learner"]
    counted = (
        rows.group_by(*keys, "tau", maintain_order=True)
        .agg(
            (~pl.col("censored")).sum().alias("ended"), pl.len().alias("here"), pl.col(column).first().alias("epsilon")
        )
        .sort("tau", maintain_order=True)
    )
    found: polars.DataFrame = (
        counted.with_columns(
            (pl.col("ended").cum_sum().over(keys) / pl.col("here").sum().over(keys)).alias("stopped"),
            pl.col("here").sum().over(keys).cast(pl.Int64).alias("runs"),
        )
        .select("instance", "delta", "epsilon", "learner", "tau", "stopped", "runs")
        .join(_order(rows), on=["instance", "learner"], how="left")
        .sort("order", "delta", "tau", maintain_order=True)
        .drop("order")
    )
    return found


def _order(rows: polars.DataFrame) -> polars.DataFrame:
    """Assign numbers to the pairs of instance and learner in the order of the rows."""
    return rows.select("instance", "learner").unique(maintain_order=True).with_row_index("order")


def draw_stopping(data: polars.DataFrame, column: str = "epsilon") -> Any:
    """Draw the distributions, a panel for each of the first six instances; returns a matplotlib figure."""

    def series(own: polars.DataFrame, number: int) -> Series:
        dash = list(DASHES)[number % len(DASHES)]
        return Series(own["learner"][0], own["tau"].to_list(), own["stopped"].to_list(), kind=AS_STEPS, dash=dash)

    epsilon = f"trials, {epsilon_words(column)} {data['epsilon'][0]:.3g}" if data.height else "trials"
    return _by_instance(data, epsilon, "runs stopped", series, x_log=True, y_log=False)


def _by_instance(
    data: polars.DataFrame,
    x: str,
    y: str,
    series: Callable[[polars.DataFrame, int], Series],
    x_log: bool,
    y_log: bool,
    line_at: float | None = None,
) -> Any:
    """Draw each learner on a panel for each instance, with one legend.

    Args:
        data: Rows with the columns instance and learner.
        x, y: Names of the axes; the former at the last panel.
        series: Makes a series of the rows of one learner, given its place in the legend too.
        x_log, y_log: Whether an axis is logarithmic.
        line_at: Height of a horizontal line.
    """
    labels = data["learner"].unique(maintain_order=True).to_list()
    parts = data.partition_by("instance", maintain_order=True)
    panels = [
        Panel(
            short(short_name(part["instance"][0]), 48),
            x if place == min(len(parts), MOST_PANELS) else "",
            y,
            [series(own, labels.index(own["learner"][0])) for own in part.partition_by("learner", maintain_order=True)],
            x_log,
            y_log,
            line_at,
        )
        for place, part in enumerate(parts, 1)
    ]
    return draw_panels(panels)


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
    pl = need("polars", "data")
    rows = rows_of(source)
    column = epsilon_column(rows)
    rows = chosen(rows, instance, delta, None, learners)
    found: polars.DataFrame = (
        compare(rows)
        .with_columns(pl.col(column).alias("epsilon"))
        .join(_order(rows), on=["instance", "learner"], how="left")
        .sort("order", "epsilon")
        .select("instance", "delta", "epsilon", "learner", "mean", "low", "high", "censored", "runs")
    )
    return found


def draw_cost(data: polars.DataFrame, column: str = "epsilon") -> Any:
    """Draw mean trials over epsilon, a panel for each of the first six instances; returns a matplotlib figure."""

    def series(own: polars.DataFrame, number: int) -> Series:
        low, high, cut = own["low"].to_list(), own["high"].to_list(), (own["censored"] > 0).to_list()
        return Series(own["learner"][0], own["epsilon"].to_list(), own["mean"].to_list(), low, high, cut)

    log = bool((data["epsilon"] > 0).all())
    return _by_instance(data, epsilon_words(column), "trials", series, x_log=log, y_log=True)


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
    rows = chosen(rows, None, delta, epsilon)
    base = rows["learner"][0] if baseline is None else baseline
    if learners is not None:
        chosen(rows, learners=[*learners, base])
        rows = rows.filter(pl.col("learner").is_in([*learners, base]))
    found: polars.DataFrame = (
        compare(rows, base)
        .filter((pl.col("learner") != base) & pl.col("ratio").is_not_null())
        .select(
            "instance",
            "delta",
            pl.col(column).alias("epsilon"),
            "learner",
            pl.lit(base).alias("baseline"),
            "ratio",
            "ratio_is",
            pl.col("ratio_low").alias("low"),
            pl.col("ratio_high").alias("high"),
            "p",
        )
    )
    return found


def draw_comparison(data: polars.DataFrame, column: str = "epsilon") -> Any:
    """Draw ratios over epsilon, a panel for each of the first six instances; returns a matplotlib figure."""

    def series(own: polars.DataFrame, number: int) -> Series:
        low, high, bound = own["low"].to_list(), own["high"].to_list(), (own["ratio_is"] != "=").to_list()
        return Series(own["learner"][0], own["epsilon"].to_list(), own["ratio"].to_list(), low, high, bound)

    base = short(data["baseline"][0], 12) if data.height else ""
    log = bool((data["epsilon"] > 0).all())
    return _by_instance(data, epsilon_words(column), f"over {base}", series, x_log=log, y_log=True, line_at=1.0)


# By kind: the data, the drawing, and how to read it.
PICTURES: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "compare": (comparison_data, draw_comparison, COMPARISON_READING),
    "cost": (cost_data, draw_cost, COST_READING),
    "stopping": (stopping_data, draw_stopping, STOPPING_READING),
}
