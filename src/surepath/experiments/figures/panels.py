"""What a figure shows: panels of series as plain numbers, computed and tested without drawing, and their drawing.

Drawn with matplotlib, without a display and without its global state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._optional import need
from surepath.experiments.figure_style import DASHES, MARKERS, colour_of, plain_axes

if TYPE_CHECKING:
    import polars

AS_LINE, AS_POINTS, AS_STRIP = "line", "points", "strip"
ABREAST = 4  # panels


@dataclass(frozen=True)
class Series:
    """One set of points.

    Attributes:
        label: Name in the legend; the colour follows from it.
        x, y: Coordinates of the points.
        low, high: Ends of a band around a line, or None.
        hollow: Which points are only bounds; they are drawn hollow.
        kind: "line", "points", or "strip" (runs of one category, with a bar at their mean).
        dash: "solid", "dashed", "dotted" or "dashdot".
    """

    label: str
    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None
    hollow: list[bool] | None = None
    kind: str = AS_LINE
    dash: str = "solid"


@dataclass(frozen=True)
class Panel:
    """One pair of axes with its series.

    Attributes:
        title, x_label, y_label: Texts.
        series: What is drawn, in this order.
        x_log, y_log: Whether an axis is logarithmic.
        line_at: Height of a horizontal line, or None.
        x_falls: Whether x decreases from left to right.
        categories: Names at x = 0, 1, ...; None for a numeric axis.
    """

    title: str
    x_label: str
    y_label: str
    series: list[Series] = field(default_factory=list)
    x_log: bool = True
    y_log: bool = True
    line_at: float | None = None
    x_falls: bool = False
    categories: list[str] | None = None


def points_over_epsilon(label: str, rows: polars.DataFrame, column: str, hollow: list[bool] | None = None) -> Series:
    """Return a column of a learner's rows as points over epsilon / Delta_min."""
    return Series(label, rows["epsilon_per_gap"].to_list(), rows[column].to_list(), hollow=hollow, kind=AS_POINTS)


def line_with_band(label: str, rows: polars.DataFrame, x: str, y: str) -> Series:
    """Return a column of a learner's rows as a line, with the columns low and high as a band around it."""
    return Series(label, rows[x].to_list(), rows[y].to_list(), rows["low"].to_list(), rows["high"].to_list())


def draw_panels(panels: list[Panel], title: str) -> Any:
    """Draw the panels side by side, more than ABREAST in rows of three; returns a matplotlib figure."""
    figure_class = need("matplotlib.figure", "plot").Figure
    across = len(panels) if len(panels) <= ABREAST else 3
    rows = -(-len(panels) // across)
    width = 4.6 * across if len(panels) > 1 else 6.4
    figure = figure_class(figsize=(width, 4.6 if rows == 1 else 3.8 * rows + 0.8), layout="constrained")
    figure.suptitle(title, fontsize=12)
    axes = figure.subplots(rows, across, squeeze=False).ravel()
    for axis in axes[len(panels) :]:
        axis.remove()
    for axis, panel in zip(axes, panels):
        _panel(axis, panel)
    names: dict[str, Any] = {}
    for axis, panel in zip(axes, panels):
        if panel.categories is not None:  # the axis names them already
            continue
        for handle, label in zip(*axis.get_legend_handles_labels()):
            names.setdefault(label, handle)
    if names:
        columns = min(len(names), 4 if len(panels) > 1 else 2)
        figure.legend(
            names.values(), names.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=9
        )
    return figure


def _panel(axis: Any, panel: Panel) -> None:
    axis.set_title(panel.title, fontsize=10)
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    if panel.x_log:
        axis.set_xscale("log")
    if panel.y_log:
        axis.set_yscale("log")
    if panel.line_at is not None:
        axis.axhline(panel.line_at, color="black", linewidth=0.8)
    for number, series in enumerate(panel.series):
        _series(axis, series, colour_of(series.label, number))
    if panel.categories is not None:
        axis.set_xticks(range(len(panel.categories)), panel.categories, rotation=20, fontsize=8)
    elif panel.x_log and not panel.x_falls:
        _plain_ticks(axis, panel)
    if panel.x_falls:
        axis.invert_xaxis()
    plain_axes(axis)


def _plain_ticks(axis: Any, panel: Panel) -> None:
    """Label a few sizes such as 2, 4, 8, 16 by themselves instead of by powers of ten."""
    positions = sorted({x for series in panel.series for x in series.x})
    if len(positions) <= 6:
        axis.set_xticks(positions, [f"{x:g}" for x in positions])
        axis.set_xticks([], minor=True)


def _series(axis: Any, series: Series, colour: str) -> None:
    if series.kind == AS_STRIP:
        offsets = np.linspace(-0.18, 0.18, len(series.x)) if len(series.x) > 1 else np.zeros(1)
        axis.plot(np.array(series.x) + offsets, series.y, MARKERS.get(series.label, "o"), color=colour, markersize=4,
                  alpha=0.7, label=series.label)  # fmt: skip
        middle, mean = series.x[0], float(np.mean(series.y))
        axis.plot([middle - 0.32, middle + 0.32], [mean, mean], color=colour, linewidth=2)
        return
    if series.kind == AS_POINTS:
        hollow = np.array(series.hollow if series.hollow is not None else [False] * len(series.x))
        x, y, marker = np.array(series.x), np.array(series.y), MARKERS.get(series.label, "o")
        axis.plot(x[~hollow], y[~hollow], marker, color=colour, markersize=4, alpha=0.75, label=series.label)
        axis.plot(x[hollow], y[hollow], marker, color=colour, markersize=5, markerfacecolor="none")
        return
    marker = MARKERS.get(series.label, "" if "bound" in series.label else ".")
    axis.plot(series.x, series.y, DASHES[series.dash], marker=marker, markersize=4, color=colour, label=series.label)
    if series.low is not None and series.high is not None:
        axis.fill_between(series.x, series.low, series.high, color=colour, alpha=0.15, linewidth=0)
