"""How often each option of each step was tried."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepath._checks import whole
from surepath.plots.column_figure import OTHER, OUT, PLAN, name_rows, new_figure_of_rows, short, style_axes
from surepath.plots.evidence import known

READING = "How many trials each option took part in; the current plan is green, options that were ruled out are pale."


class OptionVisits(NamedTuple):
    """One option of one step, over all states in which it can be taken."""

    step: str
    option: str
    visits: int
    chosen: bool  # on the current plan
    open: bool  # may still be on a best plan, in some state


def visits_data(source: Any, most: int = 8) -> list[OptionVisits]:
    """List the options of each step by falling visits: the `most` first ones, the plan's among them.

    Args:
        source: A study, a learner or a certificate.
        most: Options listed for each step; the others are summed up in one row, "N others".
    """
    found, rows = known(source), []
    count = whole("most", most, low=1)
    mdp = found.mdp
    on = np.zeros(mdp.n_arcs, dtype=bool)
    on[found.path] = True
    for stage, step in enumerate(mdp.step_labels or range(mdp.horizon)):
        options: dict[str, list[int]] = {}
        for arc in range(int(mdp.stage_arc[stage]), int(mdp.stage_arc[stage + 1])):
            options.setdefault(mdp.action_label(arc), []).append(arc)
        each = [
            OptionVisits(str(step), name, int(found.visits[a].sum()), bool(on[a].any()), bool(found.active[a].any()))
            for name, a in options.items()
        ]
        each.sort(key=lambda row: (-row.visits, not row.chosen))
        listed = each[:count]
        if not any(row.chosen for row in listed):
            listed[-1] = next(row for row in each if row.chosen)
        left = [row for row in each if row not in listed]
        rows += listed
        if left:
            words = "1 other" if len(left) == 1 else f"{len(left):,} others"
            rows.append(
                OptionVisits(str(step), words, sum(row.visits for row in left), False, any(row.open for row in left))
            )
    return rows


def draw_visits(rows: list[OptionVisits]) -> Any:
    """Draw a bar for each option, grouped by step; returns a matplotlib figure."""
    figure, places, heads = new_figure_of_rows([row.step for row in rows])
    axis = figure.add_subplot()
    style_axes(axis, "trials")
    colours = [PLAN if row.chosen else OTHER if row.open else OUT for row in rows]
    axis.barh(places, [row.visits for row in rows], color=colours, height=0.7)
    most = max((row.visits for row in rows), default=1)
    for place, row in zip(places, rows):
        axis.annotate(
            f"{row.visits:,}", (row.visits, place), xytext=(2, 0), textcoords="offset points", va="center", fontsize=6
        )
    name_rows(axis, places, [short(row.option) for row in rows], heads)
    axis.set_xlim(0, 1.15 * max(1, most))
    axis.grid(visible=False, axis="y")
    return figure
