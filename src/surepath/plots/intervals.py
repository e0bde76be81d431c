"""What is known of each option along the current plan: its mean score and a confidence interval."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepath._checks import whole
from surepath._types import FloatArray, IntArray
from surepath.model.costs import in_words
from surepath.plots.column_figure import OTHER, OUT, PLAN, name_rows, new_figure_of_rows, short, style_axes
from surepath.plots.evidence import known

READING = (
    "Mean score of every option where the current plan meets it, with an interval that holds for this option alone, at "
    "all times at once. The proof compares whole plans and is sharper: intervals may overlap when it is complete."
)


class StepInterval(NamedTuple):
    """One option at the state where the current plan meets its step."""

    step: str
    option: str
    mean: float  # NaN where it has no score
    low: float
    high: float
    visits: int
    chosen: bool  # the plan takes it
    open: bool  # it may still be on a best plan


def half_width(visits: IntArray, sigma: FloatArray, delta: float) -> FloatArray:
    """Return half of each arc's confidence interval; infinite where unvisited.

    Robbins' normal mixture: `P(exists n: |mean_n - m| > sigma sqrt((n + 1) log((n + 1) / delta^2)) / n) <= delta`.
    It holds for one arc alone, at all times at once; the certificate does not use it.
    """
    n = np.maximum(visits, 1)
    width = sigma * np.sqrt((n + 1) * np.log((n + 1) / delta**2)) / n
    return np.asarray(np.where(visits > 0, width, np.where(sigma > 0, np.inf, 0.0)))


def intervals_data(source: Any, most: int = 6) -> list[StepInterval]:
    """List the options that the current plan meets, step by step, best mean first: the `most` first and its own.

    Args:
        source: A study, a learner or a certificate.
        most: Options listed for each step.
    """
    found, rows = known(source), []
    mdp, count = found.mdp, whole("most", most, low=1)
    width = half_width(found.visits, found.sigma, found.delta)
    for step, own in zip(mdp.step_labels or range(mdp.horizon), found.path.tolist()):
        node = int(mdp.source[own])
        arcs = np.arange(int(mdp.first[node]), int(mdp.first[node + 1]))
        worth = np.where(np.isnan(found.means[arcs]), -np.inf, mdp.sign * found.means[arcs])
        listed = arcs[np.argsort(-worth, kind="stable")][:count]
        if own not in listed:
            listed[-1] = own
        rows += [
            StepInterval(
                step=str(step),
                option=mdp.action_label(arc),
                mean=float(found.means[arc]),
                low=float(found.means[arc] - width[arc]),
                high=float(found.means[arc] + width[arc]),
                visits=int(found.visits[arc]),
                chosen=arc == own,
                open=bool(found.active[arc]),
            )
            for arc in listed.tolist()
        ]
    return rows


def unit_of(source: Any) -> str:
    """Return what the means of a study, a learner or a certificate are of: "score", or "worth" where costs count."""
    return "worth" if in_words(known(source).mdp) else "score"


def draw_intervals(rows: list[StepInterval], unit: str = "score") -> Any:
    """Draw the mean and the interval of each option, grouped by step; returns a matplotlib figure.

    Args:
        rows: From `intervals_data`.
        unit: What the means are of: "worth" where costs count (`unit_of` says it).
    """
    figure, places, heads = new_figure_of_rows([row.step for row in rows])
    axis = figure.add_subplot()
    style_axes(axis, unit)
    for place, row in zip(places, rows):
        colour = PLAN if row.chosen else OTHER if row.open else OUT
        if np.isfinite([row.low, row.high]).all():
            axis.plot([row.low, row.high], [place, place], color=colour, linewidth=2.4 if row.chosen else 1.6)
            face = colour if row.open or row.chosen else "white"
            axis.plot([row.mean], [place], "o", color=colour, markersize=4, markerfacecolor=face)
        else:
            axis.annotate(
                "no score yet", (0.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=6, color=OTHER
            )
    name_rows(axis, places, [short(row.option) for row in rows], heads)
    axis.grid(visible=False, axis="y")
    return figure
