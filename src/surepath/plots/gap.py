"""The proven gap over trials."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepath._types import FloatArray, IntArray
from surepath.errors import SettingError
from surepath.plots.column_figure import OUT, PLAN, SMALL_TEXT, WANTED, below, new_axes, new_figure, plain_ticks
from surepath.study.status.gap_history import MOST_POINTS, gap_history
from surepath.study.study import Study

READING = (
    "How far the current plan could still be from the best, proven, after each trial; the search ends where the line "
    "falls below what was asked for."
)


class GapCurve(NamedTuple):
    """What was proven after each number of trials."""

    trials: IntArray
    gap: FloatArray  # infinite while nothing was proven
    epsilon: FloatArray  # what was asked for at that time


def gap_data(study: Study, most: int = MOST_POINTS) -> GapCurve:
    """Return what a study had proven after each number of settled trials, at about `most` of them."""
    if not isinstance(study, Study):
        raise SettingError(
            f"the gap over trials is read from the log of a study, not from a {type(study).__name__}: a learner or a "
            "certificate knows one moment only"
        )
    points = gap_history(study, most)
    if not points:
        raise SettingError(f"study {study.name!r} has no settled trial yet")
    columns = np.array(points, dtype=float).reshape(-1, 3)
    return GapCurve(columns[:, 0].astype(np.int64), columns[:, 1], columns[:, 2])


def draw_gap(data: GapCurve) -> Any:
    """Draw the gap over trials, with what was asked for; returns a matplotlib figure."""
    figure = new_figure(2.2)
    axis = new_axes(figure, "trials", "distance from the best")
    seen = np.isfinite(data.gap) & (data.gap > 0)
    handles = []
    if seen.any():
        line = np.where(seen, data.gap, np.nan)  # broken where nothing was proven of the plan of that moment
        handles += axis.step(data.trials, line, where="post", color=PLAN, linewidth=1.6, label="proven gap")
        axis.plot(data.trials[seen][-1:], data.gap[seen][-1:], "o", color=PLAN, markersize=4)
    if (data.epsilon > 0).any():
        handles += axis.step(
            data.trials, data.epsilon, where="post", color=WANTED, linestyle="--", linewidth=1.2, label="asked for"
        )
    spans = [axis.axvspan(*span, color=OUT, alpha=0.4, linewidth=0) for span in _unproven(data)]
    if spans:
        spans[0].set_label("nothing proven")
    if len(handles):
        axis.set_yscale("log")
        plain_ticks(axis.yaxis)
    if (data.gap == 0).any():
        first = int(data.trials[data.gap == 0][0])
        axis.axvline(first, color=PLAN, linewidth=1.0, linestyle=":")
        axis.annotate(
            "proven best of all", (first, 0.5), xycoords=("data", "axes fraction"), fontsize=SMALL_TEXT, color=PLAN
        )
    axis.set_xlim(0, max(1.0, 1.02 * float(data.trials[-1])))
    below(figure, [*handles, *spans[:1]])
    return figure


def _unproven(data: GapCurve) -> list[tuple[int, int]]:
    """List from where to where nothing was proven: a new plan may have no proof where the one before had one."""
    spans: list[tuple[int, int]] = []
    for i in np.flatnonzero(~np.isfinite(data.gap)).tolist():
        start = int(data.trials[i]) if i else 0
        end = int(data.trials[min(i + 1, len(data.trials) - 1)])
        if spans and spans[-1][1] >= start:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans
