"""Reproduce figures of the paper: play their experiments, draw them, and write the report."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from surepath._checks import one_of, whole
from surepath._optional import need
from surepath.errors import SettingError
from surepath.experiments.figures import FIGURES, PRESETS, Options
from surepath.experiments.figures.report import Section, report
from surepath.experiments.look import png, svg
from surepath.model.sources.textfile import make_folder, write_bytes, write_text

REPORT = "report.html"
EXPERIMENTS = "experiments"


def reproduce(names: list[str], options: Options, say: Callable[[str], None] = lambda text: None) -> list[Section]:
    """Write the named figures into `options.folder`: PNG, SVG, Parquet and JSON of each, and one HTML report.

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
    figure = module.draw(found, options.preset)
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
    """List the names of the files in the folder of a reproduction, without its experiments."""
    return sorted(path.name for path in folder.iterdir() if path.is_file())
