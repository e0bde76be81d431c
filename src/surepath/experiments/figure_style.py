"""The style that all figures share: colours, markers and axes, and bytes made without matplotlib's global state."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from surepath._optional import need

# Colours that colour-blind people can distinguish (Okabe and Ito), one per learner, the same in every figure.
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
MARKERS = {"max-coverage": "o", "max-diameter": "s", "BPI-UCRL": "^", "Challenger": "D"}
DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}
GRID_COLOUR = "#dddddd"


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


def plain_axes(axis: Any) -> None:
    """Draw a light grid behind the data, and no frame at the top and the right."""
    axis.grid(which="major", color=GRID_COLOUR, linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def colour_of(label: str, number: int) -> str:
    """Choose the colour of a learner; a bound takes that of the learner it names, else black; others in turn."""
    if "bound" in label:
        return next((colour for name, colour in COLOURS.items() if label.endswith(name)), "black")
    return COLOURS.get(label) or list(COLOURS.values())[number % len(COLOURS)]


def palette(labels: Iterable[str]) -> dict[str, str]:
    """Map each learner to its colour, and those that have none to the ones that are left, in order.

    Example:
        >>> palette(["Challenger", "mine"])
        {'Challenger': '#D55E00', 'mine': '#0072B2'}
    """
    names = list(labels)
    taken = {COLOURS[name] for name in names if name in COLOURS}
    all_of_them = list(dict.fromkeys(COLOURS.values()))
    free = [colour for colour in all_of_them if colour not in taken] or all_of_them
    others = [name for name in names if name not in COLOURS]
    return {name: COLOURS.get(name) or free[others.index(name) % len(free)] for name in names}


def short_name(name: str) -> str:
    """Shorten an instance's id for a title.

    Example:
        >>> short_name("chain-v1/n8k4/seed7"), short_name("problem.json")
        ('chain n8k4, seed 7', 'problem.json')
    """
    family, sign, rest = name.partition("-v1/")
    parts = [part for part in rest.split("/") if not part.startswith("sigma")]
    return f"{family} {', '.join(part.replace('seed', 'seed ') for part in parts)}" if sign else name
