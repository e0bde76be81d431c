"""What a figure shows, as plain numbers: pure functions from frames to panels of series, tested without drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

    from surepath.experiments.paper.common import Found

LINE, POINTS, STRIP = "line", "points", "strip"


@dataclass(frozen=True)
class Series:
    """One set of points.

    Attributes:
        label: What it is called; the colour follows from it.
        x, y: Places of the points.
        low, high: Ends of a band around a line, or None.
        hollow: Points that are only bounds, drawn hollow.
        kind: "line", "points", or "strip" (runs of one category, with a bar at their mean).
        dash: "solid", "dashed" or "dotted".
    """

    label: str
    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None
    hollow: list[bool] | None = None
    kind: str = LINE
    dash: str = "solid"


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: list[Series] = field(default_factory=list)
    x_log: bool = True
    y_log: bool = True
    line_at: float | None = None
    x_falls: bool = False
    categories: list[str] | None = None


def panels_of(figure: str, found: Found) -> list[Panel]:
    """The panels of one of the paper's figures."""
    return _MAKERS[figure](found.frames)


Frames = dict[str, "polars.DataFrame"]
ORDER = ("max-coverage", "max-diameter", "BPI-UCRL", "Challenger")


def _learners(frame: polars.DataFrame) -> list[str]:
    found = frame["learner"].unique(maintain_order=True).to_list()
    return sorted(found, key=lambda label: (ORDER.index(label) if label in ORDER else len(ORDER), label))


def _short(instance: str) -> str:
    """'s2a2h3, seed 25' of 'paper_random-v1/s2a2h3/sigma0.5/seed25'."""
    family, _, rest = instance.partition("-v1/")
    parts = [part for part in rest.split("/") if not part.startswith("sigma")]
    return f"{family} {', '.join(part.replace('seed', 'seed ') for part in parts)}"


def cases(frames: Frames) -> list[Panel]:
    """A strip of runs per learner, a panel per instance."""
    panels = []
    for part in frames["runs"].partition_by("instance", maintain_order=True):
        labels = _learners(part)
        series = []
        for place, label in enumerate(labels):
            tau = part.filter(learner=label).sort("run")["tau"].to_list()
            series.append(Series(label, [float(place)] * len(tau), [float(t) for t in tau], kind=STRIP))
        title = f"{_short(part['instance'][0])}: epsilon = {part['epsilon'][0]:.3f}"
        panels.append(Panel(title, "", "episodes", series, x_log=False, categories=labels))
    return panels


def ratios(frames: Frames) -> list[Panel]:
    """Ratio to BPI-UCRL of every other learner; ratio of max-diameter to max-coverage."""
    means = frames["means"].sort("instance", "epsilon")
    left = []
    for label in _learners(means):
        part = means.filter(learner=label)
        if label != "BPI-UCRL":
            left.append(_points(label, part, "ratio_to_bpi", hollow=part["bound"].to_list()))
    right = [_points("max-diameter", means.filter(learner="max-diameter"), "ratio_to_coverage")]
    x = "epsilon / Delta_min"
    return [
        Panel("against BPI-UCRL", x, "mean episodes / those of BPI-UCRL", left, line_at=1.0),
        Panel("max-diameter against max-coverage", x, "mean episodes / those of max-coverage", right, line_at=1.0),
    ]


def _points(label: str, part: polars.DataFrame, column: str, hollow: list[bool] | None = None) -> Series:
    return Series(label, part["epsilon_per_gap"].to_list(), part[column].to_list(), hollow=hollow, kind=POINTS)


def hard(frames: Frames) -> list[Panel]:
    """Episodes and worst-case bounds over each size."""
    data = frames["sizes"]
    panels = []
    for part in data.partition_by("axis", maintain_order=True):
        axis = part["axis"][0]
        part = part.sort("size")
        series = []
        for label in _learners(part):
            one = part.filter(learner=label)
            spread = (one["low"].to_list(), one["high"].to_list())
            series.append(Series(label, one["size"].to_list(), one["mean"].to_list(), *spread))
        one = part.unique("size", maintain_order=True)
        series.append(Series("lower bound", one["size"].to_list(), one["lower"].to_list()))
        upper = Series("upper bound, max-coverage", one["size"].to_list(), one["upper"].to_list(), dash="dashed")
        series.append(upper)
        others = [f"{name[0].upper()} = {part[name][0]}" for name in ("states", "actions", "horizon") if name != axis]
        panels.append(Panel(", ".join(others), axis, "episodes", series))
    return panels


def cover(frames: Frames) -> list[Panel]:
    """Sizes of covers over m."""
    data = frames["covers"]
    m = [float(value) for value in data["m"].to_list()]
    series = [
        Series("shortcut closed: 2 m", m, [float(value) for value in data["closed"].to_list()]),
        Series("shortcut open: m + 1", m, [float(value) for value in data["open"].to_list()]),
    ]
    return [Panel("paths that cover all arcs but the shortcut", "m", "paths", series, x_log=False, y_log=False)]


def tree(frames: Frames) -> list[Panel]:
    """Episodes and bounds over epsilon, a panel per tree."""
    panels = []
    for part in frames["means"].partition_by("instance", maintain_order=True):
        part = part.sort("epsilon")
        series = []
        for label in _learners(part):
            one = part.filter(learner=label)
            hollow = (one["censored"] > 0).to_list()
            series.append(_points(label, one, "mean", hollow=hollow))
        one = part.unique("epsilon", maintain_order=True)
        x = one["epsilon_per_gap"].to_list()
        series.append(Series("lower bound, tree", x, one["tree_lower"].to_list()))
        series.append(Series("lower bound", x, one["lower"].to_list(), dash="dotted"))
        for label in ("max-coverage", "max-diameter"):
            series.append(Series(f"upper bound, tree, {label}", x, one[f"tree_upper {label}"].to_list(), dash="dashed"))
            series.append(Series(f"upper bound, {label}", x, one[f"upper {label}"].to_list(), dash="dotted"))
        panels.append(Panel(_short(part["instance"][0]), "epsilon / Delta_min", "episodes", series))
    return panels


def bounds(frames: Frames) -> list[Panel]:
    """Distance to the two limits as delta falls."""
    panels = []
    for name, title in (
        ("lower", "epsilon = Delta_min / 2: over the paper's lower bound"),
        ("limit", "epsilon = 0: over T* kl(delta, 1 - delta)"),
    ):
        data = frames[name].sort("delta")
        series = []
        for label in _learners(data):
            one = data.filter(learner=label)
            band = one["low"].to_list(), one["high"].to_list()
            series.append(Series(label, one["delta"].to_list(), one["ratio"].to_list(), *band))
        panels.append(Panel(title, "delta", "mean episodes / limit", series, line_at=1.0, x_falls=True))
    return panels


_MAKERS: dict[str, Callable[[Frames], list[Panel]]] = {
    "figure-cases": cases,
    "figure-ratios": ratios,
    "figure-hard": hard,
    "figure-cover": cover,
    "figure-tree": tree,
    "figure-bounds": bounds,
}
