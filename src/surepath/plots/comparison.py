"""Learners compared: the trials each takes over those of a baseline, instance by instance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._optional import need
from surepath.experiments.figure_style import MARKERS, palette, short_name
from surepath.experiments.stats import compare
from surepath.plots.column_figure import (
    FAINT,
    INK,
    SMALL_TEXT,
    below,
    name_rows,
    new_figure_of_rows,
    plain_ticks,
    short,
    style_axes,
)
from surepath.plots.rows import at_one_delta, chosen, epsilon_column, epsilon_words, rows_of

if TYPE_CHECKING:
    import polars

READING = (
    "Trials of each learner over those of the baseline on the same instance, with 95 % intervals over paired runs: "
    "left of the line is cheaper. Hollow marks are bounds: runs of one side were cut by the budget."
)
MOST_ROWS_DRAWN = 40


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
    rows = at_one_delta(rows, None, delta, epsilon)
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
    """Draw a line of marks for each instance and epsilon, one mark a learner; returns a matplotlib figure."""
    groups = data.select("instance", "epsilon").unique(maintain_order=True).rows()[:MOST_ROWS_DRAWN]
    labels = data["learner"].unique(maintain_order=True).to_list()
    base = data["baseline"][0] if data.height else "the baseline"
    single = len({epsilon for _, epsilon in groups}) == 1
    figure, places, heads = new_figure_of_rows([short_name(one) for one, _ in groups], headed=not single)
    figure.set_figheight(figure.get_figheight() + 0.35)
    axis = figure.add_subplot()
    style_axes(axis, f"trials / trials of {short(base)}")
    axis.set_xscale("log")
    axis.axvline(1.0, color=INK, linewidth=0.8)
    handles: dict[str, Any] = {}
    colours = palette(labels)
    for place, (instance, epsilon) in zip(places, groups):
        part = data.filter((data["instance"] == instance) & (data["epsilon"] == epsilon))
        for number, label in enumerate(labels):
            own = part.filter(part["learner"] == label)
            if own.is_empty():
                continue
            beside = 0.5 * ((number + 0.5) / len(labels) - 0.5)
            handles.setdefault(label, _mark(axis, own.row(0, named=True), place + beside, label, colours[label]))
    unit = " gaps" if column == "epsilon_per_gap" else ""
    names = [short(short_name(one), 34) if single else f"epsilon {epsilon:.3g}{unit}" for one, epsilon in groups]
    name_rows(axis, places, names, heads)
    axis.grid(visible=False, axis="y")
    if groups and single:
        axis.set_title(f"{epsilon_words(column)} {groups[0][1]:.3g}", fontsize=SMALL_TEXT, color=FAINT, loc="left")
    if not groups:
        axis.annotate("nothing to compare", (0.05, 0.5), xycoords="axes fraction", fontsize=SMALL_TEXT, color=FAINT)
    low, high = axis.get_xlim()
    axis.set_xlim(min(low, 0.8), max(high, 1.25))  # 1 stays in sight
    plain_ticks(axis.xaxis)
    if handles:
        below(figure, list(handles.values()))
    return figure


def _mark(axis: Any, row: dict[str, Any], place: float, label: str, colour: str) -> Any:
    marker = MARKERS.get(label, "o")
    exact = row["ratio_is"] == "="
    low, high = row["low"], row["high"]
    if exact and low is not None and np.isfinite(low) and np.isfinite(high) and low > 0:
        axis.plot([low, high], [place, place], color=colour, linewidth=1.4)
    face = colour if exact else "white"
    (mark,) = axis.plot(
        [row["ratio"]], [place], marker, color=colour, markersize=4, markerfacecolor=face, label=short(label)
    )
    if not exact:
        sign = {"<=": "<", ">=": ">"}[row["ratio_is"]]
        axis.annotate(sign, (row["ratio"], place), xytext=(4, -2), textcoords="offset points", fontsize=6, color=colour)
    return mark
