"""A picture of a problem's graph: the positions of nodes and arcs (pure), and the drawing."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray
from surepath._text import shown
from surepath.errors import ProblemError
from surepath.experiments.drawing import COLUMN_WIDTH, FAINT, INK, OTHER, OUT, PLAN, new_figure, short
from surepath.model.mdp import MDP
from surepath.model.paths import fan, node_places, step_names

READING = (
    "Steps from left to right; a line is an option, drawn thicker the more often it was tried. The current plan is "
    "green; pale lines are ruled out; dashed ones have a known score."
)
MOST_ARCS_DRAWN = 3_000
NAMED = 60  # arcs up to which every option has its name


class GraphLayout(NamedTuple):
    """Positions of nodes and what to draw of each arc."""

    x: FloatArray  # [n_nodes + 1] the stage; the sink is at the right
    y: FloatArray  # [n_nodes + 1] centred around 0 at every stage
    source: IntArray  # [N]
    target: IntArray  # [N]
    bend: FloatArray  # [N] how far an arc is bent, so that parallel arcs do not overlap
    known: BoolArray  # [N]
    chosen: BoolArray  # [N] arcs of the marked plan
    share: FloatArray  # [N] visits over the largest number of visits; 0 where nothing is known of them
    open: BoolArray  # [N] arcs that may still be on a best plan


def graph_layout(
    mdp: MDP,
    best: Sequence[int] | IntArray | None = None,
    visits: IntArray | None = None,
    active: BoolArray | None = None,
) -> GraphLayout:
    """Compute the layout: stages from left to right, states of a stage one above the other, parallel arcs fanned out.

    Args:
        mdp: The graph.
        best: Arcs of a plan to mark.
        visits: How often each arc was played, int [N].
        active: Arcs that may still be on a best path, bool [N].

    Example:
        >>> graph_layout(MDP.from_arrays([[[0, 0]]])).bend.tolist()
        [-0.5, 0.5]
    """
    x, down = node_places(mdp)
    chosen = np.zeros(mdp.n_arcs, dtype=bool)
    if best is not None:
        chosen[np.asarray(best)] = True
    share = np.zeros(mdp.n_arcs) if visits is None else visits / max(1, int(visits.max()))
    still = np.ones(mdp.n_arcs, dtype=bool) if active is None else np.asarray(active)
    return GraphLayout(x, -down, mdp.source, mdp.target, fan(mdp)[0], mdp.is_known, chosen, share, still)


def draw_graph(
    mdp: MDP,
    best: Sequence[int] | IntArray | None = None,
    visits: IntArray | None = None,
    active: BoolArray | None = None,
) -> Any:
    """Draw the graph; returns a matplotlib figure. The arguments are those of `graph_layout`, at most 3,000 arcs."""
    if mdp.n_arcs > MOST_ARCS_DRAWN:
        raise ProblemError(f"a picture of {mdp.n_arcs:,} options shows nothing; up to {MOST_ARCS_DRAWN:,} are drawn")
    layout = graph_layout(mdp, best, visits, active)
    tallest = int(np.diff(mdp.stage_node).max())
    widest = float(np.abs(layout.bend).max())
    height = 1.0 + max(0.42 * (tallest - 1), 0.22 * widest, 0.5)
    figure = new_figure(height, max(COLUMN_WIDTH, 0.7 * mdp.horizon + 0.5))
    axes = figure.add_subplot()
    _draw_arcs(axes, layout)
    _draw_labels(axes, mdp, layout)
    axes.set_axis_off()
    return figure


def _curve(layout: GraphLayout, arc: int) -> FloatArray:
    """Return the points of an arc: a parabola between its nodes, lifted by its bend."""
    u, v = int(layout.source[arc]), int(layout.target[arc])
    t = np.linspace(0.0, 1.0, 17 if layout.bend[arc] else 2)
    ease = t * t * (3 - 2 * t) if layout.bend[arc] == 0 else t
    y = layout.y[u] + (layout.y[v] - layout.y[u]) * ease - 4 * t * (1 - t) * _lift(layout, arc)
    return np.column_stack([layout.x[u] + (layout.x[v] - layout.x[u]) * t, y])


def _lift(layout: GraphLayout, arc: int) -> float:
    """Return how far an arc's middle is off the straight line; less where states are one above the other."""
    return (0.5 if not layout.y.any() else 0.25) * float(layout.bend[arc])


def _draw_arcs(axes: Any, layout: GraphLayout) -> None:
    from matplotlib.collections import LineCollection

    order = np.lexsort((layout.share, layout.open, layout.chosen)).tolist()  # the plan last, on top
    width = 0.5 + 2.2 * layout.share
    style = {
        "linewidths": [max(2.2, width[a]) if layout.chosen[a] else width[a] if layout.open[a] else 0.5 for a in order],
        "colors": [PLAN if layout.chosen[a] else OTHER if layout.open[a] else OUT for a in order],
        "linestyles": ["--" if layout.known[a] else "-" for a in order],
    }
    axes.add_collection(LineCollection([_curve(layout, arc) for arc in order], zorder=1, **style))


def _draw_labels(axes: Any, mdp: MDP, layout: GraphLayout) -> None:
    on = set(layout.source[layout.chosen].tolist())
    axes.scatter(layout.x, layout.y, s=14, color=[PLAN if n in on else INK for n in range(len(layout.x))], zorder=3)
    style = {"textcoords": "offset points", "ha": "center", "zorder": 4, "parse_math": False}
    backing = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    single = (np.diff(mdp.stage_node) == 1).all()  # states that are alone at their step need no name
    if not single:
        names = [*(mdp.state_label(node) for node in range(mdp.n_nodes)), "end"]
        for name, x, y in zip(names, layout.x, layout.y):
            axes.annotate(short(name, 14), (x, y), xytext=(0, 5), fontsize=6, bbox=backing, **style)
    if single and mdp.n_arcs <= NAMED:
        for arc in range(mdp.n_arcs):
            u = int(layout.source[arc])
            y = layout.y[u] - _lift(layout, arc)
            colour = PLAN if layout.chosen[arc] else FAINT
            label = short(mdp.action_label(arc), 14)
            axes.annotate(
                label, (layout.x[u] + 0.5, y), xytext=(0, 0), va="center", fontsize=6, color=colour, bbox=backing,
                **style,
            )  # fmt: skip
    lifts = max(abs(_lift(layout, arc)) for arc in range(mdp.n_arcs)) if single else 0.0
    bottom = min(float(layout.y.min()), -lifts) - 0.45
    top = max(float(layout.y.max()), lifts) + 0.45
    for h in range(mdp.horizon):
        words = "\n".join(textwrap.wrap(shown(step_names(mdp)[h]), 11, max_lines=3, placeholder="..."))
        axes.text(h + 0.5, bottom, words, ha="center", va="top", fontsize=6, color=FAINT, fontweight="bold",
                  parse_math=False)  # fmt: skip
    axes.set_xlim(-0.25, mdp.horizon + 0.25)
    axes.set_ylim(bottom - 0.55, top)
