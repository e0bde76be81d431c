"""Draw panels with matplotlib and encode them as PNG and SVG, without a display and without its global state."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from surepath._optional import need
from surepath.experiments.figures.panels import POINTS, STRIP, Panel, Series

# Colours that colour-blind people tell apart (Okabe and Ito), one per learner, the same in every figure.
COLOURS = {
    "max-coverage": "#0072B2",
    "max-diameter": "#E69F00",
    "BPI-UCRL": "#666666",
    "Challenger": "#D55E00",
    "static-max-coverage": "#56B4E9",
    "WholePlan": "#009E73",
    "Uniform": "#CC79A7",
    "design, fixed in advance": "#CC79A7",
}
ABREAST = 4
MARKERS = {"max-coverage": "o", "max-diameter": "s", "BPI-UCRL": "^", "Challenger": "D"}
DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}


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


def png(figure: Any, dots: int = 120) -> bytes:
    """Encode a matplotlib figure as PNG."""
    return _bytes(figure, "png", dpi=dots)


def svg(figure: Any) -> bytes:
    """Encode a matplotlib figure as SVG, the same bytes every time."""
    matplotlib = need("matplotlib", "plot")
    with matplotlib.rc_context({"svg.hashsalt": "surepath"}):
        return _bytes(figure, "svg", metadata={"Date": None})


def _bytes(figure: Any, form: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=form, **options)
    return stream.getvalue()


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
        _series(axis, series, _colour(series.label, number))
    if panel.categories is not None:
        axis.set_xticks(range(len(panel.categories)), panel.categories, rotation=20, fontsize=8)
    elif panel.x_log and not panel.x_falls:
        _plain_ticks(axis, panel)
    if panel.x_falls:
        axis.invert_xaxis()
    axis.grid(which="major", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


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


def _colour(label: str, number: int) -> str:
    """Choose the colour of a learner; a bound takes that of the learner it names, else black; others in turn."""
    if "bound" in label:
        return next((colour for name, colour in COLOURS.items() if label.endswith(name)), "black")
    return COLOURS.get(label) or list(COLOURS.values())[number % len(COLOURS)]
