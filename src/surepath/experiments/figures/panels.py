"""What a figure shows, as plain numbers: panels of series, computed and tested without drawing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

LINE, POINTS, STRIP = "line", "points", "strip"


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
    kind: str = LINE
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
    return Series(label, rows["epsilon_per_gap"].to_list(), rows[column].to_list(), hollow=hollow, kind=POINTS)


def line_with_band(label: str, rows: polars.DataFrame, x: str, y: str) -> Series:
    """Return a column of a learner's rows as a line, with the columns low and high as a band around it."""
    return Series(label, rows[x].to_list(), rows[y].to_list(), rows["low"].to_list(), rows["high"].to_list())
