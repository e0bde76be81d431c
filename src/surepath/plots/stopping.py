"""Stopping times: how many of the runs had stopped after so many trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surepath._optional import need
from surepath.experiments.figure_style import palette, short_name
from surepath.plots.column_figure import MOST_PANELS, below, new_figure, short, style_axes
from surepath.plots.rows import at_one_delta, epsilon_column, epsilon_words, rows_of

if TYPE_CHECKING:
    import polars

READING = (
    "Share of the runs that had stopped after so many trials, a line for each learner: further left is cheaper, "
    "steeper is more even. A line that ends below 1 was cut by the budget."
)
DASHES_IN_TURN = ("-", "--", "-.", ":")


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
    rows = at_one_delta(rows, instance, delta, epsilon)
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
    instances = data["instance"].unique(maintain_order=True).to_list()
    shown = instances[:MOST_PANELS]
    figure = new_figure(0.55 + 1.35 * len(shown))
    axes = figure.subplots(len(shown), 1, squeeze=False).ravel()
    labels = data["learner"].unique(maintain_order=True).to_list()
    handles: dict[str, Any] = {}
    colours = palette(labels)
    for axis, instance in zip(axes, shown):
        part = data.filter(data["instance"] == instance)
        words = f"trials, {epsilon_words(column)} {part['epsilon'][0]:.3g}" if instance == shown[-1] else ""
        style_axes(axis, words, "runs stopped", short(short_name(instance), 48))
        axis.set_xscale("log")
        for number, label in enumerate(labels):
            own = part.filter(part["learner"] == label)
            if own.is_empty():
                continue
            tau, share = own["tau"].to_list(), own["stopped"].to_list()
            (line,) = axis.step(
                [tau[0], *tau], [0.0, *share], where="post", color=colours[label],
                linestyle=DASHES_IN_TURN[number % len(DASHES_IN_TURN)], linewidth=1.5, label=short(label),
            )  # fmt: skip
            handles.setdefault(label, line)
        axis.set_ylim(-0.03, 1.05)
        axis.set_yticks([0, 0.5, 1])
    if len(instances) > len(shown):
        axes[0].annotate(
            f"the first {len(shown)} of {len(instances)} instances", (0, 1.25), xycoords="axes fraction", fontsize=6
        )
    below(figure, list(handles.values()))
    return figure
