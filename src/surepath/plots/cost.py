"""What each learner costs as epsilon falls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._optional import need
from surepath.experiments.figure_style import MARKERS, palette, short_name
from surepath.experiments.stats import compare
from surepath.plots.column_figure import MOST_PANELS, below, new_figure, plain_ticks, short, style_axes
from surepath.plots.rows import at_one_delta, epsilon_column, epsilon_words, rows_of

if TYPE_CHECKING:
    import polars

READING = (
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
    rows = at_one_delta(rows, instance, delta, None, learners)
    order = rows.select("instance", "learner").unique(maintain_order=True).with_row_index("order")
    found: polars.DataFrame = (
        compare(rows)
        .with_columns(pl.col(column).alias("epsilon"))
        .join(order, on=["instance", "learner"], how="left")
        .sort("order", "epsilon")
        .select("instance", "delta", "epsilon", "learner", "mean", "low", "high", "censored", "runs")
    )
    return found


def draw_cost(data: polars.DataFrame, column: str = "epsilon") -> Any:
    """Draw mean trials over epsilon, a panel for each of the first six instances; returns a matplotlib figure."""
    instances = data["instance"].unique(maintain_order=True).to_list()
    shown = instances[:MOST_PANELS]
    labels = data["learner"].unique(maintain_order=True).to_list()
    figure = new_figure(0.6 + 1.6 * len(shown))
    axes = figure.subplots(len(shown), 1, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    colours = palette(labels)
    for axis, instance in zip(axes, shown):
        part = data.filter(data["instance"] == instance)
        last = instance == shown[-1]
        style_axes(axis, epsilon_words(column) if last else "", "trials", short(short_name(instance), 48))
        for label in labels:
            own = part.filter(part["learner"] == label)
            if not own.is_empty():
                handles.setdefault(label, _line(axis, own, label, colours[label]))
        axis.set_yscale("log")
        if (part["epsilon"] > 0).all():
            axis.set_xscale("log")
            plain_ticks(axis.xaxis, part["epsilon"].to_list())
    if len(instances) > len(shown):
        axes[0].annotate(
            f"the first {len(shown)} of {len(instances)} instances", (0, 1.25), xycoords="axes fraction", fontsize=6
        )
    below(figure, list(handles.values()))
    return figure


def _line(axis: Any, own: polars.DataFrame, label: str, colour: str) -> Any:
    """Draw one learner's means, its band where it has one, and hollow marks where runs were cut."""
    marker = MARKERS.get(label, "o")
    x, y = own["epsilon"].to_numpy(), own["mean"].to_numpy()
    cut = own["censored"].to_numpy() > 0
    (line,) = axis.plot(x, y, "-", marker=marker, color=colour, markersize=3.5, linewidth=1.4, label=short(label))
    axis.plot(x[cut], y[cut], marker, color=colour, markersize=3.5, markerfacecolor="white", zorder=3)
    low, high = own["low"].to_numpy(), own["high"].to_numpy()
    inside = np.isfinite(low) & np.isfinite(high) & (low > 0)
    if inside.sum() > 1:
        axis.fill_between(
            x, np.where(inside, low, np.nan), np.where(inside, high, np.nan), color=colour, alpha=0.18, lw=0
        )
    return line
