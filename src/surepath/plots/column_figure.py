"""Figures one column wide (3.3 inches), their text, and saving them."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from surepath._optional import need
from surepath._text import shown
from surepath.errors import SettingError
from surepath.experiments.figure_style import plain_axes, svg
from surepath.model.sources.textfile import write_bytes

COLUMN_WIDTH = 3.3  # inches
TEXT, SMALL_TEXT = 8, 7  # points
PLAN, OTHER, OUT, WANTED, INK, FAINT = "#009E73", "#7d8fa3", "#c5ccd3", "#D55E00", "#1f2933", "#52606d"
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
    plain_axes(axis)
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
    columns = 3 if sum(max(len(name), 6) for name in names[:3]) < 34 else 2
    found = figure.legend(
        handles, names, loc="outside lower center", ncols=min(columns, len(names)), frameon=False, fontsize=SMALL_TEXT
    )
    for text in found.get_texts():
        text.set_parse_math(False)


def plain_ticks(axis: Any, values: Iterable[float] = ()) -> None:
    """Label a logarithmic axis with numbers such as 0.2 in place of powers of ten; these values if they are few."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    wanted = sorted(set(values))
    if 0 < len(wanted) <= 6:
        axis.set_major_locator(FixedLocator(wanted))
        axis.set_minor_locator(NullLocator())
    else:
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 50 else (1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def new_figure_of_rows(groups: list[str], headed: bool = True) -> tuple[Any, list[float], dict[float, str]]:
    """Make a figure with one line of text for each row, and a heading over each group of equal names.

    Returns the figure, the place of each row from the top, and the headings by their places.
    """
    places: list[float] = []
    heads: dict[float, str] = {}
    at = 0.0
    for i, name in enumerate(groups):
        if headed and (i == 0 or groups[i - 1] != name):
            heads[at] = name
            at += 1.0
        places.append(at)
        at += 1.0
    return new_figure(0.55 + 0.15 * max(at, 2.0)), places, heads


def name_rows(axis: Any, places: list[float], names: list[str], heads: dict[float, str]) -> None:
    """Write the name of each row at its left, and of each group over its rows."""
    axis.set_yticks([*places, *heads], [*names, *(short(head, 40) for head in heads.values())], fontsize=SMALL_TEXT)
    for label, head in zip(axis.get_yticklabels(), [False] * len(places) + [True] * len(heads)):
        label.set_parse_math(False)
        if head:
            label.set_fontweight("bold")
    axis.tick_params(axis="y", length=0)
    bottom = max([*places, *heads], default=0.0)
    axis.set_ylim(bottom + 0.6, -0.6)


def picture_file(path: str | Path) -> Path:
    """Check that a file can hold a picture, by its ending."""
    file = Path(path)
    if file.suffix.lower() not in PICTURE_ENDINGS:
        raise SettingError(f"a picture ends in {', '.join(PICTURE_ENDINGS)}, not {file.suffix or 'nothing'!r}: {file}")
    return file


def save(figure: Any, path: str | Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the ending of the file; whole or not at all."""
    file = picture_file(path)
    form = file.suffix[1:].lower()
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        content = svg(figure) if form == "svg" else picture_bytes(figure, form)
    write_bytes(file, content)
    _warn(raised)


def _warn(raised: list[warnings.WarningMessage]) -> None:
    """Pass warnings on, those about letters that the font lacks as one."""
    letters: dict[str, None] = {}
    for one in raised:
        lacking = re.match(r"Glyph (\d+) ", str(one.message))
        if lacking:
            letters[chr(int(lacking[1]))] = None
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if letters:
        warnings.warn(
            f"the font of pictures lacks letters of these names ({shown(''.join(list(letters)[:10]))}) and draws boxes "
            f"for them; name a font that has them as font.family in a file matplotlibrc",
            stacklevel=3,
        )


def picture_bytes(figure: Any, form: str = "png") -> bytes:
    """Encode a figure as PNG or PDF, the same bytes every time."""
    stream = io.BytesIO()
    metadata = {"CreationDate": None} if form == "pdf" else None
    figure.savefig(stream, format=form, dpi=_dots(*figure.get_size_inches()), metadata=metadata)
    return stream.getvalue()


def _dots(width: float, height: float) -> float:
    """Choose the dots per inch; fewer where a large figure would exceed the pixels of a picture."""
    return float(min(DOTS, MAX_SIDE / max(width, height), (MAX_PIXELS / (width * height)) ** 0.5))
