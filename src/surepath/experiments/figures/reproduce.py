"""Reproduce the paper's figures: play their experiments, draw them, and write a report with the claims judged."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from surepath._checks import one_of, whole
from surepath._optional import need
from surepath._version import __version__
from surepath.errors import SettingError
from surepath.experiments.drawing import draw_panels, picture_bytes
from surepath.experiments.figures import budget, cases, cover, hard, peers, ratios
from surepath.experiments.figures.common import Claim, Options
from surepath.experiments.report import page, picture
from surepath.experiments.report import settings as settings_part
from surepath.learners.per_arc.eprl import PRESETS
from surepath.model.text_files import make_folder, write_bytes, write_text

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


@dataclass(frozen=True)
class Section:
    """One figure of the report; its claims and settings are stored beside the picture for later reports."""

    name: str
    title: str
    reading: str
    png: bytes
    claims: list[Claim]
    settings: dict[str, Any]
    seconds: float
    preset: str
    version: str = __version__

    def save(self, folder: Path) -> None:
        """Write the picture, and its claims and settings as JSON."""
        stored = {key: value for key, value in asdict(self).items() if key != "png"}
        stored["claims"] = [claim._asdict() for claim in self.claims]
        write_bytes(folder / f"{self.name}.png", self.png)
        write_text(folder / f"{self.name}.json", json.dumps(stored, indent=1))

    @classmethod
    def load(cls, folder: Path, name: str) -> Section | None:
        """Read what `save` wrote; None where it is missing or damaged."""
        try:
            stored = json.loads((folder / f"{name}.json").read_text("utf-8"))
            claims = [Claim(**claim) for claim in stored.pop("claims")]
            return cls(**stored, claims=claims, png=(folder / f"{name}.png").read_bytes())
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None


def reproduce(names: list[str], options: Options, say: Callable[[str], None] = lambda text: None) -> list[Section]:
    """Write the named figures into `options.folder`: PNG, SVG, PDF, Parquet and JSON of each, and one HTML report.

    The rows of each experiment are kept under the folder, so that a second call plays only the missing runs; the report
    shows every figure that the folder has, those of earlier calls too. Returns the sections of the figures made now.
    """
    for module, extra in (("polars", "data"), ("matplotlib.figure", "plot")):
        need(module, extra)
    one_of("preset", options.preset, PRESETS)
    for name in names:
        one_of("figure", name, FIGURES)
    if options.runs is not None:
        whole("runs", options.runs, low=1)
    for section in _stored(options.folder):
        if section.preset != options.preset:
            raise SettingError(
                f"{options.folder} holds figures made with --preset {section.preset}; choose another folder for "
                f"{options.preset}"
            )
    make_folder(options.folder)
    sections = []
    for name in names:
        say(f"{name} ...")
        sections.append(_figure(name, options))
        write_text(options.folder / REPORT, report(_stored(options.folder)))
    return sections


def _stored(folder: Path) -> list[Section]:
    """Load the sections of all figures that the folder has."""
    return [section for name in FIGURES if (section := Section.load(folder, name)) is not None]


def _figure(name: str, options: Options) -> Section:
    module = FIGURES[name]
    started = time.perf_counter()
    found = module.make(replace(options, folder=options.folder / EXPERIMENTS))
    of = f" ({options.preset} settings)" if name[-1].isdigit() else ""  # our own figures have their own
    figure = draw_panels(module.panels(found.frames), module.TITLE + of, across=3)
    for form in ("svg", "pdf"):
        write_bytes(options.folder / f"{name}.{form}", picture_bytes(figure, form))
    for part, frame in found.frames.items():
        stream = io.BytesIO()
        frame.write_parquet(stream)
        write_bytes(options.folder / f"{name}-{part}.parquet", stream.getvalue())
    seconds = time.perf_counter() - started
    png, about = picture_bytes(figure), (module.TITLE, module.READING)
    made = Section(name, *about, png, found.claims, found.settings, seconds, options.preset)
    made.save(options.folder)
    return made


def files_of(folder: Path) -> list[str]:
    """List the names of the files in the folder of a reproduction, without its experiments."""
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def report(sections: list[Section]) -> str:
    """Render the page as text; it needs no other file and no network."""
    presets = [f"<b>{name}</b>: {about}" for name, about in _ABOUT.items() if any(s.preset == name for s in sections)]
    rows = [_row(section, claim) for section in sections for claim in section.claims]
    parts = [
        "<h1>The paper's experiments, played again</h1>",
        f"<p>surepath {escape(__version__)}. Preset {'; preset '.join(presets)}.</p>",
        "<h2>Claims</h2><table><thead><tr><th>figure</th><th>claim of the paper</th><th>what we measured</th>"
        "<th>holds?</th></tr></thead><tbody>",
        *rows,
        "</tbody></table>",
        *(_section(section) for section in sections),
    ]
    return page("surepath reproduce", parts)


def _row(section: Section, claim: Claim) -> str:
    word = {True: '<td class="yes">yes</td>', False: '<td class="no">no</td>', None: "<td>not settled</td>"}[
        claim.holds
    ]
    where = f'<a href="#{escape(section.name)}">{escape(section.title)}</a>'
    return f"<tr><td>{where}</td><td>{escape(claim.paper)}</td><td>{escape(claim.measured)}</td>{word}</tr>"


def _section(section: Section) -> str:
    return "\n".join(
        [
            picture(section.title, section.reading, section.png, section.name),
            f"<p>Preset {escape(section.preset)}, surepath {escape(section.version)}; made in {section.seconds:.1f} s, "
            "runs stored by earlier calls not counted.</p>",
            settings_part("Settings that made it", section.settings),
        ]
    )
