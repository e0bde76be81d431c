"""Drawing: the style that all pictures share, figures one or two columns wide, panels of series, and saving.

Drawn with matplotlib, without a display and without its global state. Names and titles are never read as mathematics.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import whole
from surepath._optional import need
from surepath._text import shown, write_bytes
from surepath.errors import SettingError

if TYPE_CHECKING:
    import polars

# Colours that colour-blind people can distinguish (Okabe and Ito), one per learner, the same in every figure.
COLOURS = {
    "max-coverage": "#0072B2",
    "max-diameter": "#E69F00",
    "BPI-UCRL": "#666666",
    "Challenger": "#D55E00",
    "static-max-coverage": "#56B4E9",
    "WholePlan": "#009E73",
    "design, fixed in advance": "#CC79A7",
}
MORE_COLOURS = ("#882255", "#117733", "#332288", "#999933", "#44AA99", "#AA4499", "#661100")  # of Tol, for the rest
MARKERS = {"max-coverage": "o", "max-diameter": "s", "BPI-UCRL": "^", "Challenger": "D"}
DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}
GRID_COLOUR = "#dddddd"


def palette(labels: Iterable[str]) -> dict[str, str]:
    """Map each learner to its colour, and those that have none to the ones that are left, in order.

    A bound takes the colour of the learner that its name ends with, else black.

    Example:
        >>> palette(["Challenger", "mine", "lower bound"])
        {'Challenger': '#D55E00', 'mine': '#0072B2', 'lower bound': 'black'}
    """
    names = list(labels)
    found = {name: COLOURS[name] for name in names if name in COLOURS}
    for name in names:
        if "bound" in name:
            found[name] = next((colour for learner, colour in COLOURS.items() if name.endswith(learner)), "black")
    all_of_them = [*dict.fromkeys(COLOURS.values()), *MORE_COLOURS]
    free = [colour for colour in all_of_them if colour not in found.values()] or all_of_them
    others = [name for name in names if name not in found]
    return {name: found.get(name) or free[others.index(name) % len(free)] for name in names}


def short_name(name: str) -> str:
    """Shorten an instance's id for a title.

    Example:
        >>> short_name("chain-v1/n8k4/seed7"), short_name("problem.json")
        ('chain n8k4, seed 7', 'problem.json')
    """
    family, sign, rest = name.partition("-v1/")
    parts = [part for part in rest.split("/") if not part.startswith("sigma")]
    return f"{family} {', '.join(part.replace('seed', 'seed ') for part in parts)}" if sign else name


COLUMN_WIDTH, TWO_COLUMNS = 3.3, 6.9  # inches
TEXT, SMALL_TEXT = 8, 7  # points
PLAN, OTHER, OUT, WANTED, INK, FAINT = "#0b6e4f", "#5f7388", "#b9c2cc", "#8a4b08", "#17202b", "#55606e"  # the page's
BACKING = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}  # of a name that lines run under
PICTURE_ENDINGS = (".png", ".svg", ".pdf")
DOTS = 200.0
MAX_SIDE, MAX_PIXELS = 60_000, 40_000_000  # of a PNG
LONGEST_SHOWN = 24  # letters of a name in a picture
MOST_PANELS = 6  # of one picture, an instance each


def new_figure(height: float, width: float = COLUMN_WIDTH) -> Any:
    """Make an empty figure of matplotlib, or raise an error that names the missing extra; sizes in inches."""
    found = need("matplotlib.figure", "plot").Figure(figsize=(width, height), layout="constrained")
    need("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg(found)
    return found


def new_axes(figure: Any, x_label: str = "", y_label: str = "", title: str = "") -> Any:
    """Add one pair of axes in the common style."""
    axis = figure.add_subplot()
    style_axes(axis, x_label, y_label, title)
    return axis


def style_axes(axis: Any, x_label: str = "", y_label: str = "", title: str = "") -> None:
    """Set the common style and the texts of axes, which are not parsed as mathematics."""
    axis.grid(which="major", color=GRID_COLOUR, linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.tick_params(labelsize=SMALL_TEXT, length=2.5)
    for put, text in ((axis.set_xlabel, x_label), (axis.set_ylabel, y_label), (axis.set_title, title)):
        if text:
            put(shown(text), fontsize=TEXT, parse_math=False)


def short(name: object, longest: int = LONGEST_SHOWN) -> str:
    """Return a name for a picture: escaped, and not too long.

    Example:
        >>> short("a very long name of an option", 12)
        'a very lo...'
    """
    text = shown(name)
    return text if len(text) <= longest else text[: longest - 3].rstrip() + "..."


def below(figure: Any, handles: Any) -> None:
    """Put a legend below all axes, in as many columns as fit."""
    names = [handle.get_label() for handle in handles]
    room = 34 if figure.get_figwidth() < TWO_COLUMNS else 80
    columns = next((n for n in (4, 3) if sum(max(len(name), 6) for name in names[:n]) < room), 2)
    found = figure.legend(
        handles, names, loc="outside lower center", ncols=min(columns, len(names)), frameon=False, fontsize=SMALL_TEXT
    )
    for text in found.get_texts():
        text.set_parse_math(False)


def plain_ticks(axis: Any, values: Iterable[float] = ()) -> None:
    """Label a logarithmic axis with numbers such as 0.2 or 5k in place of powers of ten; these values if few."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    wanted = sorted(set(values))
    if 0 < len(wanted) <= 6:
        axis.set_major_locator(FixedLocator(wanted))
        axis.set_minor_locator(NullLocator())
    else:
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 50 else (1.0, 2.0, 5.0), numticks=9))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    axis.set_minor_formatter(NullFormatter())


def tick(value: float) -> str:
    """Write the number at a tick: plain from 0.001 to 9999, then in thousands, millions, or with an exponent.

    Example:
        >>> [tick(x) for x in (0.05, 2000, 50_000, 3e6, 1e12, 1e-6)]
        ['0.05', '2000', '50k', '3M', '1e12', '1e-6']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if max(size, 9999.5) <= value < 1000 * size:
            return f"{value / size:g}{letter}"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:g}"
    digits, power = f"{value:.3e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def picture_file(path: str | Path) -> Path:
    """Check that a file can hold a picture, by its ending."""
    file = Path(path)
    if file.suffix.lower() not in PICTURE_ENDINGS:
        raise SettingError(f"a picture ends in {', '.join(PICTURE_ENDINGS)}, not {file.suffix or 'nothing'!r}: {file}")
    return file


def save(figure: Any, path: str | Path, *, title: str = "", columns: int = 1) -> None:
    """Write a figure as PNG, SVG or PDF, by the ending of the file; whole or not at all.

    Args:
        figure: Of matplotlib.
        path: The file.
        title: Written above everything.
        columns: 2 for a picture across both columns of a paper, 6.9 inches.
    """
    file = picture_file(path)
    if whole("columns", columns, low=1, high=2) == 2:
        figure.set_figwidth(max(TWO_COLUMNS, figure.get_figwidth()))
    if title:
        figure.suptitle(shown(title), fontsize=TEXT + 1, parse_math=False)
    form = file.suffix[1:].lower()
    write_bytes(file, picture_bytes(figure, form))


def picture_bytes(figure: Any, form: str = "png") -> bytes:
    """Encode a figure as "png", "svg" or "pdf", the same bytes every time.

    A PNG has 200 dots an inch, fewer where a large figure would exceed the pixels of a picture.
    """
    stream = io.BytesIO()
    width, height = figure.get_size_inches()
    dots = min(DOTS, MAX_SIDE / max(width, height), (MAX_PIXELS / (width * height)) ** 0.5)
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with need("matplotlib", "plot").rc_context({"svg.hashsalt": "surepath"}):
        figure.savefig(stream, format=form, dpi=float(dots), metadata=metadata)
    return stream.getvalue()


# Panels of series: what the figures of the paper show, as plain numbers ----------------------------------------------

AS_LINE, AS_POINTS, AS_STRIP = "line", "points", "strip"


@dataclass(frozen=True)
class Series:
    """One set of points.

    Attributes:
        label: Name in the legend; the colour follows from it.
        x, y: Coordinates of the points.
        low, high: Ends of a band around a line, or None.
        hollow: Which points are only bounds; they are drawn hollow.
        kind: "line", "points" or "strip" (runs of one category, with a bar at their mean).
        dash: "solid", "dashed", "dotted" or "dashdot".
    """

    label: str
    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None
    hollow: list[bool] | None = None
    kind: str = AS_LINE
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
    return Series(label, rows["epsilon_per_gap"].to_list(), rows[column].to_list(), hollow=hollow, kind=AS_POINTS)


def line_with_band(label: str, rows: polars.DataFrame, x: str, y: str) -> Series:
    """Return a column of a learner's rows as a line, with the columns low and high as a band around it."""
    return Series(label, rows[x].to_list(), rows[y].to_list(), rows["low"].to_list(), rows["high"].to_list())


def draw_panels(panels: list[Panel], title: str = "", across: int = 1) -> Any:
    """Draw the first six panels, one column wide or, several across, two; returns a matplotlib figure."""
    if not panels:
        raise SettingError("there is nothing to draw: no runs are left, or none can be compared")
    drawn = panels[:MOST_PANELS]
    across = min(across, len(drawn))
    rows = -(-len(drawn) // across)
    figure = new_figure(0.6 + (1.6 if across == 1 else 2.1) * rows, COLUMN_WIDTH if across == 1 else TWO_COLUMNS)
    if title:
        figure.suptitle(shown(title), fontsize=TEXT + 1, parse_math=False)
    axes = figure.subplots(rows, across, squeeze=False).ravel()
    for axis in axes[len(drawn) :]:
        axis.remove()
    colours = palette(dict.fromkeys(series.label for panel in drawn for series in panel.series))
    handles: dict[str, Any] = {}
    for axis, panel in zip(axes, drawn):
        made = _panel(axis, panel, colours, 48 if across == 1 else 30)
        if panel.categories is None:  # else the axis names them already
            handles = {**made, **handles}
    if len(panels) > len(drawn):
        words = f"the first {len(drawn)} of {len(panels)} instances"
        axes[0].annotate(words, (0, 1.25), xycoords="axes fraction", fontsize=6)
    if handles:
        below(figure, [handles[label] for label in colours if label in handles])
    return figure


def _panel(axis: Any, panel: Panel, colours: dict[str, str], room: int) -> dict[str, Any]:
    """Draw one panel, its title in lines of so many letters; return a handle for the legend of each label."""
    style_axes(axis, panel.x_label, panel.y_label, panel.title)
    axis.set_title(textwrap.fill(axis.get_title(), room), fontsize=TEXT, parse_math=False)
    if panel.x_log:
        axis.set_xscale("log")
    if panel.y_log:
        axis.set_yscale("log")
    if panel.line_at is not None:
        axis.axhline(panel.line_at, color="black", linewidth=0.8)
    made = {series.label: _series(axis, series, colours[series.label]) for series in panel.series}
    if panel.categories is not None:
        axis.set_xticks(range(len(panel.categories)), panel.categories, rotation=20)
    elif panel.x_log:
        plain_ticks(axis.xaxis, {x for series in panel.series for x in series.x if series.kind == AS_LINE})
    if panel.y_log:
        plain_ticks(axis.yaxis)
    if panel.x_falls:
        axis.invert_xaxis()
    return made


def _series(axis: Any, series: Series, colour: str) -> Any:
    """Draw one series; return its handle for the legend."""
    x, y = np.array(series.x), np.array(series.y)
    marker, name = MARKERS.get(series.label, "o"), short(series.label, 40)
    cut = np.array(series.hollow if series.hollow is not None else [False] * len(x))
    if series.kind == AS_STRIP:
        offsets = np.linspace(-0.18, 0.18, len(x)) if len(x) > 1 else np.zeros(1)
        (handle,) = axis.plot(x + offsets, y, marker, color=colour, markersize=3, alpha=0.7, label=name)
        axis.plot([x[0] - 0.32, x[0] + 0.32], [y.mean(), y.mean()], color=colour, linewidth=1.8)
        return handle
    if series.kind == AS_POINTS:
        (handle,) = axis.plot(x[~cut], y[~cut], marker, color=colour, markersize=3, alpha=0.75, label=name)
        axis.plot(x[cut], y[cut], marker, color=colour, markersize=3.5, markerfacecolor="none")
        return handle
    marker = "" if "bound" in series.label else marker
    style = {"color": colour, "markersize": 3.5, "linewidth": 1.3}
    (handle,) = axis.plot(x, y, DASHES[series.dash], marker=marker, label=name, **style)
    if cut.any():
        axis.plot(x[cut], y[cut], marker, markerfacecolor="white", zorder=3, **style)
    if series.low is not None and series.high is not None:
        low, high = np.array(series.low, dtype=float), np.array(series.high, dtype=float)
        inside = np.isfinite(low) & np.isfinite(high) & (low > 0)
        low, high = np.where(inside, low, np.nan), np.where(inside, high, np.nan)
        if len(x) > 1:
            axis.fill_between(x, low, high, color=colour, alpha=0.16, linewidth=0)
        else:
            axis.vlines(x, low, high, color=colour, linewidth=1.3)
    return handle
