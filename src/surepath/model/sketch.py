"""A static SVG of a layered graph, for notebooks: no script, no style sheet, and nothing in a name is obeyed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from surepath._types import BoolArray, FloatArray, IntArray
from surepath.model.layout import fan, node_places

if TYPE_CHECKING:
    from surepath.model.mdp import MDP

MOST_ARCS = 2_000
MOST_LABELS = 300  # arcs beyond which nodes go without names
SIDE, HEAD, COLUMN, ROW, FAN = 30, 40, 120, 40, 22
# Colours that can be seen on white and on black.
PLAN_COLOUR, OPEN_COLOUR, OUT_COLOUR = "#12936a", "#7d8fa3", "#aab4bf"


def graph_svg(
    mdp: MDP, plan: IntArray | None = None, visits: IntArray | None = None, active: BoolArray | None = None
) -> str:
    """Draw the graph: a plan bold, arcs that are not active grey, width by visits.

    Args:
        mdp: The graph; of one with more than 2,000 arcs a sentence is returned.
        plan: Arcs of a plan to mark.
        visits: How often each arc was played, int [N].
        active: Arcs that may still be on a best path, bool [N].
    """
    if mdp.n_arcs > MOST_ARCS:
        return f"<p>{mdp.n_arcs:,} options are too many to draw.</p>"
    x, y = _places(mdp)
    marked = np.zeros(mdp.n_arcs, dtype=bool)
    if plan is not None:
        marked[plan] = True
    alive = np.ones(mdp.n_arcs, dtype=bool) if active is None else active
    most = 1 if visits is None else max(1, int(visits.max()))
    width = np.full(mdp.n_arcs, 1.2) if visits is None else 0.8 + 5.0 * np.sqrt(visits / most)
    bend = _bends(mdp)
    arcs = []
    for arc in np.lexsort((marked, alive)).tolist():  # the plan is drawn last, on top
        u, v = int(mdp.source[arc]), int(mdp.target[arc])
        third, lift = 0.4 * (x[v] - x[u]), 4 / 3 * bend[arc]
        curve = (
            f"M{x[u]:.0f} {y[u]:.1f}C{x[u] + third:.1f} {y[u] + lift:.1f} {x[v] - third:.1f} {y[v] + lift:.1f} "
            f"{x[v]:.0f} {y[v]:.1f}"
        )
        colour, opacity = (PLAN_COLOUR, 1.0) if marked[arc] else (OPEN_COLOUR, 0.7) if alive[arc] else (OUT_COLOUR, 0.5)
        thick = max(3.0, width[arc]) if marked[arc] else width[arc] if alive[arc] else min(1.0, width[arc])
        arcs.append(
            f'<path d="{curve}" fill="none" stroke="{colour}" stroke-opacity="{opacity}" stroke-width="{thick:.1f}">'
            f"<title>{escape(mdp.action_label(arc))}</title></path>"
        )
    high = float(y.max()) + SIDE
    wide = float(x.max()) + SIDE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" '
        f'style="max-width:100%;height:auto" role="img" aria-label="graph of {mdp.horizon} steps">'
        f'{"".join(arcs)}<g font-family="sans-serif" font-size="11" text-anchor="middle" fill="currentColor">'
        f"{_labels(mdp, x, y, marked)}</g></svg>"
    )


def graph_html(mdp: MDP) -> str:
    """Return a graph as a notebook shows it: its sizes in words, and the drawing."""
    count = f"{mdp.n_paths:,}" if mdp.log_paths < 40 else f"about 10^{mdp.log_paths / np.log(10):.0f}"
    words = f"{mdp.horizon:,} steps, {mdp.n_arcs:,} options, {count} plans; {mdp.direction}"
    return f"<div><p>{words}</p>{graph_svg(mdp)}</div>"


def _places(mdp: MDP) -> tuple[FloatArray, FloatArray]:
    """Return where each node goes: stages from left to right, states of a stage one above the other."""
    x, y = node_places(mdp)
    inner = max((int(np.diff(mdp.stage_node).max()) - 1) * ROW, 100)
    return SIDE + COLUMN * x, HEAD + inner / 2 + ROW * y


def _bends(mdp: MDP) -> FloatArray:
    """Return how far each arc is bent, so that parallel arcs do not overlap."""
    bend, size = fan(mdp)
    return bend * np.minimum(FAN, 100 / np.maximum(1, size - 1))


def _labels(mdp: MDP, x: FloatArray, y: FloatArray, marked: BoolArray) -> str:
    parts = []
    for h in range(mdp.horizon):
        name = mdp.step_labels[h] if mdp.step_labels is not None else f"step {h}"
        parts.append(f'<text x="{SIDE + (h + 0.5) * COLUMN}" y="14" font-weight="bold">{_short(name)}</text>')
    on = {int(node) for node in mdp.source[marked]}
    for node in range(mdp.n_nodes):
        colour = PLAN_COLOUR if node in on else OPEN_COLOUR
        parts.append(f'<circle cx="{x[node]:.0f}" cy="{y[node]:.1f}" r="3.5" fill="{colour}"/>')
        if mdp.n_arcs <= MOST_LABELS:
            name = _short(mdp.state_label(node))
            parts.append(f'<text x="{x[node]:.0f}" y="{y[node] - 8:.1f}">{name}</text>')
    return "".join(parts)


def _short(name: str) -> str:
    return escape(name if len(name) <= 18 else name[:17] + "…")
