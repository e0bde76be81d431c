"""The report of an experiment of one's own: learners compared, wrong answers against delta, pictures, settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from surepath._optional import need
from surepath._text import shown
from surepath.errors import SettingError
from surepath.experiments import html_page
from surepath.experiments.failures import failure_rates, too_often
from surepath.experiments.results import read
from surepath.experiments.stats import compare
from surepath.experiments.store import Store
from surepath.experiments.text_tables import WRITERS, overview, table
from surepath.model.sources.textfile import write_bytes, write_text
from surepath.plots import comparison, cost, stopping
from surepath.plots.column_figure import picture_bytes
from surepath.plots.rows import epsilon_column, epsilon_words

if TYPE_CHECKING:
    import polars

CONFIDENCE = 0.95


class Picture(NamedTuple):
    """One figure of the report."""

    name: str
    title: str
    reading: str
    png: bytes


@dataclass(frozen=True)
class Report:
    """What the report is made of, and what was written.

    Attributes:
        manifest: The experiment's spec, version and cells.
        comparison: As `stats.compare` gives it.
        rates: As `failure_rates` gives it.
        findings: What they say, in sentences.
        pictures: The figures.
        settings: Full settings of each learner, by label.
        epsilon_name: What the column of epsilons is called.
        files: What was written.
    """

    manifest: dict[str, Any]
    comparison: polars.DataFrame
    rates: polars.DataFrame
    findings: list[str]
    pictures: list[Picture]
    settings: dict[str, Any]
    epsilon_name: str
    files: tuple[Path, ...] = ()


def write_report(folder: str | Path, out: str | Path, baseline: str | None = None) -> Report:
    """Write the report of an experiment's folder.

    Args:
        folder: Where the rows are.
        out: An .html file that needs no other, or an .md file with its pictures beside it.
        baseline: Label of the learner to compare the others with; by default the first of the spec.
    """
    file = Path(out)
    if file.suffix not in (".html", ".md"):
        raise SettingError(f"a report ends in .html or .md, not {file.suffix or 'nothing'!r}: {file}")
    need("matplotlib.figure", "plot")
    made = report_data(folder, baseline)
    files = [file]
    if file.suffix == ".html":
        write_text(file, html(made))
    else:
        for picture in made.pictures:
            files.append(file.with_name(f"{file.stem}-{picture.name}.png"))
            write_bytes(files[-1], picture.png)
        write_text(file, markdown(made, file.stem))
    return Report(**{**made.__dict__, "files": tuple(files)})


def report_data(folder: str | Path, baseline: str | None = None) -> Report:
    """Gather what the report says; nothing is written."""
    rows, manifest = read(folder), Store(folder).manifest()
    labels = [one.get("label", one["name"]) for one in manifest["spec"]["learners"]]
    present = rows["learner"].unique().to_list()
    base = next((label for label in labels if label in present), None) if baseline is None else baseline
    rates = failure_rates(rows, CONFIDENCE)
    stored = rows.select("cell", "run").n_unique()
    wanted = manifest["spec"]["runs"] * len(manifest["cells"])
    return Report(
        manifest=manifest,
        comparison=compare(rows, base if len(present) > 1 else None, level=CONFIDENCE),
        rates=rates,
        findings=[*_missing(stored, wanted), *_verdicts(rates)],
        pictures=_pictures(rows, base),
        settings={label: json.loads(rows.filter(rows["learner"] == label)["settings"][0]) for label in sorted(present)},
        epsilon_name=epsilon_words(epsilon_column(rows)),
    )


def _missing(stored: int, wanted: int) -> list[str]:
    if stored >= wanted:
        return []
    return [f"{stored:,} of {wanted:,} runs are stored; play the others with surepath experiment run --resume"]


def _verdicts(rates: polars.DataFrame) -> list[str]:
    """Write for each learner and delta whether its wrong answers fit what it was allowed."""
    found = []
    judged = rates.with_columns(too_often(rates).alias("refuted"))
    for part in judged.partition_by("learner", "delta", maintain_order=True):
        worst = part.sort("rate").row(-1, named=True)
        counts = f"{worst['wrong']:,} wrong of {worst['runs']:,} runs at worst"
        span = f"{100 * CONFIDENCE:g} % interval {worst['low']:.2%} to {worst['high']:.2%}"
        fits = "more often than delta allows" if part["refuted"].any() else "within what delta allows"
        found.append(f"{worst['learner']}, delta {worst['delta']:g}: {counts} ({span}), {fits}")
    return found


def _pictures(rows: polars.DataFrame, baseline: str | None) -> list[Picture]:
    """Draw what the experiment has: costs over two epsilons or more, a comparison of two learners or more."""
    column = epsilon_column(rows)
    listed: list[tuple[str, str, str, Callable[[], Any]]] = []
    if rows["learner"].n_unique() > 1:
        data = comparison.comparison_data(rows, baseline)
        if data.height:
            listed.append(("compare", "Learners compared", comparison.READING,
                           lambda: comparison.draw_comparison(data, column)))  # fmt: skip
    if rows[column].n_unique() > 1:
        listed.append(("cost", "Cost over epsilon", cost.READING, lambda: cost.draw_cost(cost.cost_data(rows), column)))
    listed.append(("stopping", "Stopping times at the smallest epsilon", stopping.READING,
                   lambda: stopping.draw_stopping(stopping.stopping_data(rows), column)))  # fmt: skip
    return [Picture(name, title, reading, picture_bytes(draw())) for name, title, reading, draw in listed]


def rate_cells(made: Report) -> tuple[list[str], list[list[str]]]:
    """Return the table of wrong answers: its head and its rows, as texts."""
    head = [
        "learner",
        "delta",
        made.epsilon_name,
        "runs",
        "stopped",
        "wrong",
        "rate",
        f"{100 * CONFIDENCE:g} % interval",
    ]
    head.append("fits delta?")
    body = []
    for row, refuted in zip(made.rates.iter_rows(named=True), too_often(made.rates).to_list()):
        span = f"{row['low']:.2%} - {row['high']:.2%}"
        counts = [f"{row[name]:,}" for name in ("runs", "stopped", "wrong")]
        name = [shown(row["learner"]), f"{row['delta']:g}", f"{row['epsilon']:.4g}"]
        body.append([*name, *counts, f"{row['rate']:.2%}", span, "no" if refuted else "yes"])
    return head, body


def _facts(made: Report) -> str:
    spec = made.manifest["spec"]
    return (
        f"{len(made.manifest['cells']):,} cells of {spec['runs']:,} runs, seed {spec['seed']}, "
        f"surepath {made.manifest['version']}."
    )


ABOUT_RATES = (
    "A run is wrong when it stopped with a plan more than epsilon from the best. Counts are over all instances; the "
    "interval is exact (Clopper and Pearson). 'no' means that so many wrong answers would have a chance below 5 % if "
    "each had probability delta, corrected for the number of rows. Settings without a guarantee may be wrong more "
    "often."
)
ABOUT_COSTS = (
    "Trials until the stop, with bootstrap intervals of the mean; ratios and p-values are over paired runs, against "
    "the first learner or the baseline. A mean with >= is a lower bound: runs were cut by the budget."
)


def html(made: Report) -> str:
    """Render the report as a page that needs no other file and no network."""
    name = shown(made.manifest["spec"]["name"])
    parts = [f"<h1>Experiment {escape(name)}</h1>", f"<p>{escape(_facts(made))}</p>", "<ul>"]
    parts += [*(f"<li>{escape(shown(line))}</li>" for line in made.findings), "</ul>"]
    parts += ["<h2>Cost</h2>", f'<p class="how">{escape(ABOUT_COSTS)}</p>', overview(made.comparison, "html")]
    rows = f"Every instance, delta and epsilon: {made.comparison.height:,} rows"
    parts += [f"<details><summary>{rows}</summary>{table(made.comparison, 'html')}</details>"]
    parts += ["<h2>Wrong answers against delta</h2>", f'<p class="how">{escape(ABOUT_RATES)}</p>']
    parts.append(html_page.table(*rate_cells(made)))
    for one in made.pictures:
        parts += [f"<h2>{escape(one.title)}</h2>", f'<p class="how"><b>How to read this.</b> {escape(one.reading)}</p>']
        parts.append(html_page.image(one.png, one.title))
    parts.append("<h2>Settings</h2>")
    for title, content in (("The spec", made.manifest["spec"]), ("Every setting of each learner", made.settings)):
        text = escape(json.dumps(content, indent=1))
        parts.append(f"<details><summary>{title}</summary><pre>{text}</pre></details>")
    return html_page.page(f"Experiment {name}", parts)


def markdown(made: Report, stem: str) -> str:
    """Render the report as Markdown; its pictures are files beside it whose names begin with `stem`."""
    name = shown(made.manifest["spec"]["name"])
    parts = [f"# Experiment {name}", _facts(made), "\n".join(f"- {shown(line)}" for line in made.findings)]
    parts += ["## Cost", ABOUT_COSTS, overview(made.comparison).rstrip(), table(made.comparison).rstrip()]
    parts += ["## Wrong answers against delta", ABOUT_RATES, WRITERS["markdown"](*rate_cells(made)).rstrip()]
    for one in made.pictures:
        parts += [f"## {one.title}", one.reading, f"![{one.title}]({stem}-{one.name}.png)"]
    parts += ["## Settings", "```json\n" + json.dumps(made.manifest["spec"], indent=1) + "\n```"]
    parts.append("```json\n" + json.dumps(made.settings, indent=1) + "\n```")
    return "\n\n".join(parts) + "\n"
