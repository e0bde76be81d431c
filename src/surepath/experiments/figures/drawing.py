"""Draw panels with matplotlib, without a display and without its global state."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepath._optional import need
from surepath.experiments.figures.panels import POINTS, STRIP, Panel, Series
from surepath.experiments.look import DASHES, MARKERS, colour_of, plain_axes

ABREAST = 4


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
    if series.kind == STRIP:
        offsets = np.linspace(-0.18, 0.18, len(series.x)) if len(series.x) > 1 else np.zeros(1)
        axis.plot(np.array(series.x) + offsets, series.y, MARKERS.get(series.label, "o"), color=colour, markersize=4,
                  alpha=0.7, label=series.label)  # fmt: skip
        middle, mean = series.x[0], float(np.mean(series.y))
        axis.plot([middle - 0.32, middle + 0.32], [mean, mean], color=colour, linewidth=2)
        return
    if series.kind == POINTS:
        hollow = np.array(series.hollow if series.hollow is not None else [False] * len(series.x))
        x, y, marker = np.array(series.x), np.array(series.y), MARKERS.get(series.label, "o")
        axis.plot(x[~hollow], y[~hollow], marker, color=colour, markersize=4, alpha=0.75, label=series.label)
        axis.plot(x[hollow], y[hollow], marker, color=colour, markersize=5, markerfacecolor="none")
        return
    marker = MARKERS.get(series.label, "" if "bound" in series.label else ".")
    axis.plot(series.x, series.y, DASHES[series.dash], marker=marker, markersize=4, color=colour, label=series.label)
    if series.low is not None and series.high is not None:
        axis.fill_between(series.x, series.low, series.high, color=colour, alpha=0.15, linewidth=0)
