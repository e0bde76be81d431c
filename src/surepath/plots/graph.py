"""A picture of a problem's graph: the positions of nodes and arcs (pure), and the drawing."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surepath._optional import need
from surepath._text import shown
from surepath._types import BoolArray, FloatArray, IntArray
from surepath.errors import ProblemError
from surepath.model.mdp import MDP
from surepath.model.sources.textfile import write_bytes

MAX_ARCS = 3_000
FORMATS = (".png", ".svg", ".pdf")
MAX_SIDE, MAX_PIXELS = 60_000, 40_000_000


class GraphLayout(NamedTuple):
    """Positions of nodes and what to draw of each arc."""

    x: FloatArray  # [n_nodes + 1] the stage; the sink is at the right
    y: FloatArray  # [n_nodes + 1] centred around 0 at every stage
    source: IntArray  # [N]
    target: IntArray  # [N]
    bend: FloatArray  # [N] how far an arc is bent, so that parallel arcs do not overlap
    known: BoolArray  # [N]
    chosen: BoolArray  # [N] arcs of the marked plan


def graph_layout(mdp: MDP, best: Sequence[int] | IntArray | None = None) -> GraphLayout:
    """Place stages from left to right, states of a stage one above the other, and fan out parallel arcs.

    Example:
        >>> graph_layout(MDP.from_arrays([[[0, 0]]])).bend.tolist()
        [-0.5, 0.5]
    """
    x = np.append(np.repeat(np.arange(mdp.horizon), np.diff(mdp.stage_node)), mdp.horizon).astype(float)
    y = np.zeros(mdp.n_nodes + 1)
    for h in range(mdp.horizon):
        low, high = int(mdp.stage_node[h]), int(mdp.stage_node[h + 1])
        y[low:high] = (high - low - 1) / 2 - np.arange(high - low)
    bend = np.zeros(mdp.n_arcs)
    pair = mdp.source * (mdp.n_nodes + 1) + mdp.target
    order = np.argsort(pair, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
        bend[group] = np.arange(len(group)) - (len(group) - 1) / 2
    chosen = np.zeros(mdp.n_arcs, dtype=bool)
    if best is not None:
        chosen[np.asarray(best)] = True
    return GraphLayout(x, y, mdp.source, mdp.target, bend, mdp.is_known, chosen)


def draw_graph(mdp: MDP, out: Path | str, *, best: Sequence[int] | IntArray | None = None) -> None:
    """Draw the graph into a file; dashed arcs have a known reward, a marked plan is bold.

    Args:
        mdp: The graph, of at most 3,000 arcs.
        out: The file: .png, .svg or .pdf.
        best: Arcs of a plan to mark.
    """
    file = Path(out)
    if file.suffix.lower() not in FORMATS:
        raise ProblemError(f"a picture ends in {', '.join(FORMATS)}, not {file.suffix or 'nothing'!r}: {file}")
    if mdp.n_arcs > MAX_ARCS:
        raise ProblemError(f"a picture of {mdp.n_arcs:,} arcs shows nothing; up to {MAX_ARCS:,} are drawn")
    need("matplotlib", "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    layout = graph_layout(mdp, best)
    tallest = int(np.diff(mdp.stage_node).max())
    figure = Figure(figsize=(2.0 + 1.6 * mdp.horizon, 1.5 + 0.6 * tallest), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw_arcs(axes, layout)
    _draw_labels(axes, mdp, layout)
    axes.set_axis_off()
    stream = io.BytesIO()
    figure.savefig(stream, format=file.suffix[1:].lower(), dpi=_dots(*figure.get_size_inches()))
    write_bytes(file, stream.getvalue())


def _dots(width: float, height: float) -> float:
    """Choose the dots per inch; fewer where a long or wide graph would exceed the pixels of a picture."""
    return float(min(120.0, MAX_SIDE / max(width, height), np.sqrt(MAX_PIXELS / (width * height))))


def _draw_arcs(axes: Any, layout: GraphLayout) -> None:
    from matplotlib.patches import FancyArrowPatch

    for arc in np.argsort(layout.chosen, kind="stable").tolist():
        u, v = int(layout.source[arc]), int(layout.target[arc])
        marked = bool(layout.chosen[arc])
        axes.add_patch(
            FancyArrowPatch(
                (layout.x[u], layout.y[u]),
                (layout.x[v], layout.y[v]),
                connectionstyle=f"arc3,rad={0.18 * layout.bend[arc]:.4f}",
                arrowstyle="-",
                linestyle="--" if layout.known[arc] else "-",
                linewidth=2.2 if marked else 0.8,
                color="#0b6e4f" if marked else "#9aa5b1",
                zorder=2 if marked else 1,
            )
        )


def _draw_labels(axes: Any, mdp: MDP, layout: GraphLayout) -> None:
    axes.scatter(layout.x, layout.y, s=36, color="#1f2933", zorder=3)
    names = [*(mdp.state_label(node) for node in range(mdp.n_nodes)), "end"]
    style = {"textcoords": "offset points", "ha": "center", "fontsize": 7, "zorder": 4}
    backing = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    for name, x, y in zip(names, layout.x, layout.y):
        short = name if len(name) <= 24 else name[:22] + ".."
        axes.annotate(shown(short), (x, y), xytext=(0, 7), bbox=backing, parse_math=False, **style)
    bottom = float(layout.y.min()) - 0.7
    for h in range(mdp.horizon):
        axes.text(h + 0.5, bottom, f"stage {h}", ha="center", va="top", fontsize=7, color="#52606d")
    axes.set_xlim(-0.6, mdp.horizon + 0.6)
    axes.set_ylim(bottom - 0.4, float(layout.y.max()) + 0.8)
