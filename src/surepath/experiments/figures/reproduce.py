"""Reproduce the paper's figures: play their experiments, draw them, and write a report with the claims judged."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any, NamedTuple

from surepath._checks import one_of, whole
from surepath._optional import need
from surepath._text import make_folder, write_bytes, write_text
from surepath._version import __version__
from surepath.experiments.drawing import draw_panels, picture_bytes
from surepath.experiments.figures import budget, cases, cover, hard, peers, ratios
from surepath.experiments.figures.common import Claim, Found, Options
from surepath.experiments.report import page, picture
from surepath.experiments.report import settings as settings_part
from surepath.learners.per_arc.eprl import PRESETS

# By their numbers in the paper, then our own, in the order of the report. Every file has TITLE, READING,
# make(options) that plays the experiment and judges the claims, and panels(frames) with the numbers to draw.
FIGURES: dict[str, Any] = {
    "figure-1": cases,
    "figure-2": ratios,
    "figure-3": cover,
    "figure-4": hard,
    "figure-peers": peers,
    "figure-budget": budget,
}
REPORT = "report.html"
EXPERIMENTS = "experiments"
_ABOUT = {
    "theory": "Algorithm 1 of the paper: Gaussian noise with sigma 1, widths that carry the guarantee",
    "experiment": "the authors' code's settings: sigma 0.5, smaller widths without a guarantee",
}


class Section(NamedTuple):
    """One figure of the report."""

    name: str
    title: str
    reading: str
    png: bytes
    found: Found
    seconds: float


def reproduce(names: list[str], options: Options, say: Callable[[str], None] = lambda text: None) -> list[Section]:
    """Write the named figures into `options.folder`: PNG, SVG, PDF, Parquet and JSON of each, and one HTML report.

    The rows of each experiment are kept under the folder, so that a second call plays only the missing runs. Returns
    the sections of the report.
    """
    for module, extra in (("polars", "data"), ("matplotlib.figure", "plot")):
        need(module, extra)
    one_of("preset", options.preset, PRESETS)
    for name in names:
        one_of("figure", name, FIGURES)
    if options.runs is not None:
        whole("runs", options.runs, low=1)
    make_folder(options.folder)
    sections = []
    for name in names:
        say(f"{name} ...")
        sections.append(_figure(name, options))
        write_text(options.folder / REPORT, report(sections, options.preset))
    return sections


def _figure(name: str, options: Options) -> Section:
    module = FIGURES[name]
    started = time.perf_counter()
    found = module.make(replace(options, folder=options.folder / EXPERIMENTS))
    of = f" ({options.preset} settings)" if name[-1].isdigit() else ""  # our own figures have their own
    figure = draw_panels(module.panels(found.frames), module.TITLE + of, across=3)
    pictures = {form: picture_bytes(figure, form) for form in ("png", "svg", "pdf")}
    for form, content in pictures.items():
        write_bytes(options.folder / f"{name}.{form}", content)
    for part, frame in found.frames.items():
        stream = io.BytesIO()
        frame.write_parquet(stream)
        write_bytes(options.folder / f"{name}-{part}.parquet", stream.getvalue())
    seconds = time.perf_counter() - started
    about = {"title": module.TITLE, "reading": module.READING, "preset": options.preset, "version": __version__}
    stored = {**about, "claims": [claim._asdict() for claim in found.claims], "settings": found.settings}
    write_text(options.folder / f"{name}.json", json.dumps(stored, indent=1))
    return Section(name, module.TITLE, module.READING, pictures["png"], found, seconds)


def report(sections: list[Section], preset: str) -> str:
    """Render the page as text; it needs no other file and no network."""
    rows = [_row(section, claim) for section in sections for claim in section.found.claims]
    parts = [
        "<h1>The paper's experiments, played again</h1>",
        f"<p>surepath {escape(__version__)}. Preset <b>{preset}</b>: {_ABOUT[preset]}.</p>",
        "<h2>Claims</h2><table><thead><tr><th>figure</th><th>claim of the paper</th><th>what we measured</th>"
        "<th>holds?</th></tr></thead><tbody>",
        *rows,
        "</tbody></table>",
        *(_section(section) for section in sections),
    ]
    return page("surepath reproduce", parts)


def _row(section: Section, claim: Claim) -> str:
    words = {True: '<td class="yes">yes</td>', False: '<td class="no">no</td>', None: "<td>not settled</td>"}
    where = f'<a href="#{escape(section.name)}">{escape(section.title)}</a>'
    return (
        f"<tr><td>{where}</td><td>{escape(claim.paper)}</td><td>{escape(claim.measured)}</td>{words[claim.holds]}</tr>"
    )


def _section(section: Section) -> str:
    parts = [
        picture(section.title, section.reading, section.png, section.name),
        f"<p>Made in {section.seconds:.1f} s, runs stored by earlier calls not counted.</p>",
        settings_part("Settings that made it", section.found.settings),
    ]
    return "\n".join(parts)
