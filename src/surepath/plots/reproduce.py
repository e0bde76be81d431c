"""Make figures of the paper: play their studies, draw them, and write the report."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from surepath._checks import one_of, whole
from surepath._optional import need
from surepath.errors import SettingError
from surepath.experiments.paper import FIGURES, PRESETS, Options
from surepath.model.sources.textfile import make_folder, write_bytes, write_text
from surepath.plots.data import panels_of
from surepath.plots.draw import draw, png, svg
from surepath.plots.report import Section, report

REPORT = "report.html"


def reproduce(names: list[str], options: Options, say: Callable[[str], None] = lambda text: None) -> list[Section]:
    """Make the named figures in `options.folder`: PNG, SVG, Parquet and JSON of each, and one HTML report.

    The rows of each study are kept under the folder, so that a second call plays only what is missing; the report shows
    every figure that the folder has, those of earlier calls too. Returns the sections of the figures made now.
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
    """The sections of all figures that the folder has."""
    return [section for name in FIGURES if (section := Section.load(folder, name)) is not None]


def _figure(name: str, options: Options) -> Section:
    module = FIGURES[name]
    started = time.perf_counter()
    found = module.make(replace(options, folder=options.folder / "studies"))
    figure = draw(panels_of(name, found), f"{module.TITLE} ({options.preset} settings)")
    write_bytes(options.folder / f"{name}.svg", svg(figure))
    for part, frame in found.frames.items():
        stream = io.BytesIO()
        frame.write_parquet(stream)
        write_bytes(options.folder / f"{name}-{part}.parquet", stream.getvalue())
    seconds = time.perf_counter() - started
    made = Section(
        name, module.TITLE, module.READING, png(figure), found.claims, found.settings, seconds, options.preset
    )
    made.save(options.folder)
    return made


def files_of(folder: Path) -> list[str]:
    """Names of what stands in the folder of a reproduction, studies aside."""
    return sorted(path.name for path in folder.iterdir() if path.is_file())
