"""A picture of a problem's graph: the positions of nodes and arcs (pure), and the drawing."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath._text import shown
from surepath.errors import ProblemError
from surepath.experiments.drawing import BACKING, FAINT, INK, OTHER, OUT, PLAN, new_figure, short
from surepath.model.mdp import MDP
from surepath.model.paths import step_names
from surepath.model.steps import state_names

READING = (
    "Steps from left to right; a line is an option, drawn thicker the more often it was tried. The current plan is "
    "green; pale lines are ruled out; dashed ones have a known score."
)
MOST_ARCS_DRAWN = 3_000
MOST_ENDS = 16  # options of the last step that each lead to an end of their own, which bears their name
NAMED = 60  # arcs up to which every option has its name
STEPS_IN_A_ROW = 4  # a longer graph goes on in the next row


class GraphLayout(NamedTuple):
    """Where nodes and arcs go, and their names."""

    x: FloatArray  # [nodes] the stage
    y: FloatArray  # [nodes] centred around 0 at every stage
    name: list[str]  # of each node; "" where it is alone at its stage
    target: IntArray  # [N] the node that each arc leads to: the sink, or one of the ends by option
    bend: FloatArray  # [N] how far an arc is bent, so that parallel arcs do not overlap


def graph_layout(mdp: MDP) -> GraphLayout:
    """Compute the layout: stages from left to right, states of a stage one above the other, parallel arcs fanned out.

    Where states are told apart, the options of the last step lead to ends of their own, as far as that is legible.

    Example:
        >>> graph_layout(MDP.from_arrays([[[0, 0]]])).bend.tolist()
        [-0.5, 0.5]
    """
    sizes = np.diff(mdp.stage_node).tolist()
    begin = int(mdp.stage_arc[-2])
    options = [mdp.action_label(arc) for arc in range(begin, mdp.n_arcs)]
    ends = list(dict.fromkeys(options)) if max(sizes) > 1 else [""]
    ends = ends if len(ends) <= MOST_ENDS else ["end"]
    target = mdp.target.copy()
    if len(ends) > 1:
        target[begin:] = mdp.n_nodes + np.array([ends.index(option) for option in options])
    sizes.append(len(ends))
    names = [
        "" if sizes[stage] == 1 else name
        for name, stage in zip(state_names(mdp), np.repeat(np.arange(mdp.horizon), sizes[:-1]).tolist())
    ]
    y = np.concatenate([(size - 1) / 2 - np.arange(size) for size in sizes])
    bend = np.zeros(mdp.n_arcs)
    pair = mdp.source * len(y) + target
    order = np.argsort(pair, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
        bend[group] = np.arange(len(group)) - (len(group) - 1) / 2
    return GraphLayout(np.repeat(np.arange(mdp.horizon + 1), sizes).astype(float), y, [*names, *ends], target, bend)


def draw_graph(
    mdp: MDP,
    best: Sequence[int] | IntArray | None = None,
    visits: IntArray | None = None,
    active: BoolArray | None = None,
) -> Any:
    """Draw the graph, a few steps in a row; returns a matplotlib figure.

    Args:
        mdp: The graph, at most 3,000 arcs.
        best: Arcs of a plan to mark.
        visits: How often each arc was played, int [N].
        active: Arcs that may still be on a best path, bool [N].
    """
    if mdp.n_arcs > MOST_ARCS_DRAWN:
        raise ProblemError(f"a picture of {mdp.n_arcs:,} options shows nothing; up to {MOST_ARCS_DRAWN:,} are drawn")
    layout = graph_layout(mdp)
    chosen = np.isin(np.arange(mdp.n_arcs), [] if best is None else np.asarray(best))
    still = np.ones(mdp.n_arcs, dtype=bool) if active is None else np.asarray(active)
    width = 0.5 + (0.0 if visits is None else 2.2 * visits / max(1, int(visits.max())))
    width = np.where(chosen, np.maximum(2.2, width), np.where(still, width, 0.5))
    colour = np.where(chosen, PLAN, np.where(still, OTHER, OUT))
    rows = -(-mdp.horizon // STEPS_IN_A_ROW)
    across = -(-mdp.horizon // rows)
    lifts = _lift(layout, slice(None))
    top = max(float(layout.y.max()), float(np.abs(lifts).max())) + 0.45
    figure = new_figure(rows * (0.5 + 0.42 * (2 * top - 0.9)))
    for row in range(rows):
        first, last = row * across, min((row + 1) * across, mdp.horizon)
        arcs = np.arange(int(mdp.stage_arc[first]), int(mdp.stage_arc[last]))
        axes = figure.add_subplot(rows, 1, row + 1)
        _draw_arcs(axes, mdp, layout, arcs[np.lexsort((width[arcs], still[arcs], chosen[arcs]))], width, colour)
        _draw_names(axes, mdp, layout, arcs, set(mdp.source[chosen].tolist()), chosen)
        for step in range(first, last):
            words = "\n".join(textwrap.wrap(shown(step_names(mdp)[step]), 12, max_lines=2, placeholder="..."))
            style = {"fontsize": 6, "color": FAINT, "fontweight": "bold", "parse_math": False}
            axes.text(step + (1.0 if layout.y.any() else 0.5), top, words, ha="center", va="bottom", **style)
        axes.set_axis_off()
        axes.set_xlim(first - 0.2, first + across + 0.2)
        axes.set_ylim(0.3 - top, top + 0.6)
    return figure


def _lift(layout: GraphLayout, arc: Any) -> Any:
    """Return how far an arc's middle is off the straight line; less where states are one above the other."""
    return (0.25 if layout.y.any() else 0.6) * layout.bend[arc]


def _point(mdp: MDP, layout: GraphLayout, arc: int, t: Any) -> tuple[Any, Any]:
    """Return where an arc is, t of the way: a parabola between its nodes where it is bent, else level at both ends."""
    u, v = int(mdp.source[arc]), int(layout.target[arc])
    ease = t * t * (3 - 2 * t) if layout.bend[arc] == 0 else t
    y = layout.y[u] + (layout.y[v] - layout.y[u]) * ease - 4 * t * (1 - t) * _lift(layout, arc)
    return layout.x[u] + (layout.x[v] - layout.x[u]) * t, y


def _draw_arcs(axes: Any, mdp: MDP, layout: GraphLayout, arcs: IntArray, width: FloatArray, colour: Any) -> None:
    from matplotlib.collections import LineCollection

    t = np.linspace(0.0, 1.0, 17)
    lines = [np.column_stack(_point(mdp, layout, arc, t)) for arc in arcs.tolist()]
    dashes = ["--" if known else "-" for known in mdp.is_known[arcs]]
    axes.add_collection(LineCollection(lines, linewidths=width[arcs], colors=colour[arcs], linestyles=dashes, zorder=1))


def _draw_names(axes: Any, mdp: MDP, layout: GraphLayout, arcs: IntArray, on: set[int], chosen: BoolArray) -> None:
    """Draw the nodes of some arcs and their names, and the names of options that no node bears."""
    on = on | set(layout.target[chosen].tolist())
    style: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "zorder": 4, "parse_math": False}
    style |= {"fontsize": 6, "bbox": BACKING}
    for node in np.union1d(mdp.source[arcs], layout.target[arcs]).tolist():
        colour = PLAN if node in on else INK
        axes.plot(layout.x[node], layout.y[node], "o", markersize=3.5, color=colour, zorder=3)
        axes.annotate(short(layout.name[node], 14), (layout.x[node], layout.y[node]), (0, 5), color=colour, **style)
    for arc in arcs.tolist() if mdp.n_arcs <= NAMED else ():
        label = mdp.action_label(arc)
        if label != layout.name[layout.target[arc]]:
            place = _point(mdp, layout, arc, 0.5 if layout.y[mdp.source[arc]] == layout.y[layout.target[arc]] else 0.3)
            axes.annotate(short(label, 16), place, (0, 0), va="center", color=PLAN if chosen[arc] else FAINT, **style)
