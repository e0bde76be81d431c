"""What figures share: learners, presets, experiments, claims; and reproduction: play, draw, judge, write a report."""

from __future__ import annotations

import importlib
import io
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepath._checks import one_of, whole
from surepath._optional import need
from surepath._text import make_folder, write_bytes, write_text
from surepath._version import __version__
from surepath.experiments.drawing import draw_panels, picture_bytes
from surepath.experiments.report import page, picture
from surepath.experiments.report import settings as settings_part
from surepath.experiments.runner import run, scan
from surepath.experiments.spec import Spec
from surepath.experiments.stats import failure_rates, permutation_test, too_often
from surepath.learners.per_arc.eprl import PRESETS

if TYPE_CHECKING:
    import polars

EPRL_COVERAGE, EPRL_DIAMETER, BPI, CHALLENGER = "max-coverage", "max-diameter", "BPI-UCRL", "Challenger"
OF_THE_PAPER = (EPRL_COVERAGE, EPRL_DIAMETER, BPI)
LABELS = (*OF_THE_PAPER, CHALLENGER)
DELTA = 0.1

# Sigma of the instances under each preset: theory, Algorithm 1 with its proven widths; experiment, what the authors'
# code ran. Only the first has a guarantee.
PRESET_SIGMA = {"theory": 1.0, "experiment": 0.5}

Frames = dict[str, "polars.DataFrame"]


class Claim(NamedTuple):
    """One line of the table "claim / measured / holds?"; `holds` is None where the runs do not settle it."""

    paper: str
    measured: str
    holds: bool | None


@dataclass(frozen=True)
class Found:
    """Outcome of a figure's experiments: the frames behind the picture, the claims, and the settings that made it."""

    frames: Frames
    claims: list[Claim]
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """Options of a reproduction.

    Attributes:
        folder: Where the rows of its experiments are kept; a second call plays only the missing runs.
        preset: "theory" or "experiment".
        runs: Runs per cell; None for the figure's own number.
        workers: Threads.
        seed: Main seed.
        progress: As in `runner.run`.
    """

    folder: Path
    preset: str = "experiment"
    runs: int | None = None
    workers: int | None = None
    seed: int = 2022
    progress: bool | Callable[[int, int], None] = False


def learners(preset: str) -> list[dict[str, Any]]:
    """List the paper's three learners and Challenger, which has one setting, with a proof, under every preset."""
    return [
        {"name": "EPRL", "label": EPRL_COVERAGE, "sampling": "max-coverage", "preset": preset},
        {"name": "EPRL", "label": EPRL_DIAMETER, "sampling": "max-diameter", "preset": preset},
        {"name": "BPIUCRL", "label": BPI, "preset": preset},
        {"name": "Challenger", "label": CHALLENGER},
    ]


def play(options: Options, name: str, values: dict[str, Any]) -> tuple[polars.DataFrame, Spec]:
    """Play the missing runs of an experiment; return what `summary` makes of all its rows, and the spec."""
    spec = Spec.from_dict({"name": name, "seed": options.seed, **values})
    run(spec, options.folder / name, workers=options.workers, resume=True, progress=options.progress)
    return summary(scan(options.folder / name)), spec


def summary(rows: polars.DataFrame | polars.LazyFrame) -> polars.DataFrame:
    """Aggregate stopping times by (instance, learner, delta, epsilon), in memory independent of the runs.

    Its columns are mean, low and high of tau, runs and censored (share of runs cut).
    """
    import polars as pl

    tau = pl.col("tau")
    return (
        rows.lazy()
        .group_by("instance", "learner", "delta", "epsilon", "epsilon_per_gap")
        .agg(
            tau.mean().alias("mean"),
            tau.min().alias("low"),
            tau.max().alias("high"),
            pl.len().alias("runs"),
            pl.col("censored").mean().alias("censored"),
        )
        .sort("instance", "learner", "delta", "epsilon")
        .collect(engine="streaming")
    )


def ends(series: polars.Series) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    values = series.to_numpy()
    return float(values.min()), float(values.max())


def labels_of(frame: polars.DataFrame) -> list[str]:
    """List the learners of a frame in the order in which all figures show them."""
    found = frame["learner"].unique(maintain_order=True).to_list()
    return sorted(found, key=lambda label: (LABELS.index(label) if label in LABELS else len(LABELS), label))


SIGNIFICANCE = 0.05
ENOUGH_RUNS = 6  # runs: with fewer no exchange of pairs has a probability below SIGNIFICANCE, so nothing can be settled


def error_claims(rows: polars.DataFrame | polars.LazyFrame, preset: str) -> list[Claim]:
    """Judge the guarantee, a wrong answer with probability at most delta, for the paper's learners and for Challenger.

    Each (learner, delta, epsilon) is tested on each instance and over all of them: a claim is refuted when so many
    wrong answers in so many runs would have a chance below 5 % even if each had probability delta, corrected for the
    number of tests.
    """
    words = "EPRL and BPI-UCRL are (epsilon, delta)-PAC with the widths of Algorithm 1"
    if preset != "theory":
        words = "the smaller widths of the experiments are 'still empirically correct'"
    return [
        errors_of(words, rows, OF_THE_PAPER),
        errors_of("(ours) Challenger is (epsilon, delta)-PAC", rows, [CHALLENGER]),
    ]


def errors_of(claim: str, rows: polars.DataFrame | polars.LazyFrame, labels: Iterable[str]) -> Claim:
    """Judge the guarantee of these learners."""
    import polars as pl

    own = rows.lazy().filter(pl.col("learner").is_in(list(labels)))
    tests = pl.concat([failure_rates(own, by).drop(by).filter(pl.col("stopped") > 0) for by in ([], ["instance"])])
    if not tests.height:
        return Claim(claim, "no run stopped before the budget", None)
    errors, answers = (int(tests[name].sum()) // 2 for name in ("wrong", "stopped"))  # every run is counted twice
    worst = tests.sort(pl.col("rate") / pl.col("delta")).row(-1, named=True)
    measured = f"{errors:,} wrong of {answers:,} answers ({errors / answers:.2%})"
    if errors:
        measured += f"; at worst {worst['wrong']} of {worst['runs']} for {worst['learner']} at delta {worst['delta']:g}"
    return Claim(claim, measured, not too_often(tests).any())


def settled(holds: bool, runs: int) -> bool | None:
    """Return a verdict that rests on means of runs, or None where there are too few of them."""
    return holds if runs >= ENOUGH_RUNS else None


def compared(rows: polars.DataFrame | polars.LazyFrame, first: str, second: str) -> polars.DataFrame:
    """Compare two learners on each (instance, delta): columns instance, delta, runs, factor and p.

    Of each run the logarithm of the episodes is averaged over the epsilons; factor is the geometric mean over the runs
    of the second learner's episodes over the first's, above 1 where the first is cheaper, and p the probability of a
    difference as large if the two were exchangeable.
    """
    import polars as pl

    keys = ["instance", "delta", "run"]
    logs = (
        rows.lazy()
        .filter(pl.col("learner").is_in([first, second]))
        .group_by(*keys, "learner")
        .agg(pl.col("tau").log().mean())
        .sort(*keys, "learner")
        .collect(engine="streaming")
    )
    one, other = (logs.filter(learner=label).drop("learner") for label in (first, second))
    pairs = one.join(other.rename({"tau": "other"}), on=keys, maintain_order="left")
    found = []
    for part in pairs.partition_by("instance", "delta", maintain_order=True):
        factor = float(np.exp((part["other"] - part["tau"]).to_numpy().mean()))
        p = permutation_test(part["tau"], part["other"])
        found.append(
            {"instance": part["instance"][0], "delta": part["delta"][0], "runs": len(part), "factor": factor, "p": p}
        )
    return pl.DataFrame(found)


def cheaper_everywhere(parts: list[polars.DataFrame]) -> bool | None:
    """Judge whether the first learner of every comparison is cheaper on every instance.

    True needs a factor above 1 and p below SIGNIFICANCE in each (all must be so, hence no correction); False one
    factor below 1 that is sure even among so many tests; anything else is not settled.
    """
    tests = [(row["factor"], row["p"]) for part in parts for row in part.iter_rows(named=True)]
    if any(factor < 1 and p * len(tests) < SIGNIFICANCE for factor, p in tests):
        return False
    return True if all(factor > 1 and p < SIGNIFICANCE for factor, p in tests) else None


# Reproduction ---------------------------------------------------------------------------------------------------------

# Files by their numbers in the paper, then our own, in the order of the report. Every file has TITLE, READING,
# make(options) that plays the experiment and judges the claims, and panels(frames) with the numbers to draw.
FIGURES = {
    "figure-1": "cases",
    "figure-2": "ratios",
    "figure-3": "cover",
    "figure-4": "hard",
    "figure-peers": "peers",
    "figure-budget": "budget",
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


def file_of(name: str) -> Any:
    """Import the file of a figure."""
    return importlib.import_module(f"surepath.experiments.figures.{FIGURES[name]}")


def _figure(name: str, options: Options) -> Section:
    module = file_of(name)
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
