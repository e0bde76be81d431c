"""Reports on one page of HTML: of an experiment, and the parts that other pages share.

The page needs no other file and no network: pictures stand inside it, and everything that it shows is escaped.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepath._optional import need
from surepath._text import shown
from surepath.errors import SettingError
from surepath.experiments import pictures
from surepath.experiments.drawing import picture_bytes
from surepath.experiments.stats import LEVEL, compare, epsilon_column, failure_rates, too_often
from surepath.experiments.store import Store, read
from surepath.model.text_files import write_text

if TYPE_CHECKING:
    import polars

Cells = tuple[list[str], list[list[str]]]  # a table of texts: its head and its rows


class Report(NamedTuple):
    """The report of an experiment: `stats.compare`, `stats.failure_rates`, what they say in sentences, and the page."""

    comparison: polars.DataFrame
    rates: polars.DataFrame
    findings: list[str]
    html: str


def write_report(folder: str | Path, out: str | Path, baseline: str | None = None) -> Report:
    """Write the report of an experiment's folder, and return it.

    Args:
        folder: Where the rows are.
        out: The .html file to write.
        baseline: Label of the learner to compare the others with; by default the first of the spec.
    """
    file = Path(out)
    if file.suffix != ".html":
        raise SettingError(f"a report ends in .html, not {file.suffix or 'nothing'!r}: {file}")
    need("matplotlib.figure", "plot")
    rows, manifest = read(folder), Store(folder).manifest()
    spec = manifest["spec"]
    labels = [one.get("label", one["name"]) for one in spec["learners"]]
    present = rows["learner"].unique().to_list()
    base = next((label for label in labels if label in present), None) if baseline is None else baseline
    comparison = compare(rows, base if len(present) > 1 else None)
    rates = failure_rates(rows)
    stored, wanted = rows.select("cell", "run").n_unique(), spec["runs"] * len(manifest["cells"])
    missing = f"{stored:,} of {wanted:,} runs are stored; play the others with surepath experiment run --resume"
    findings = [*([missing] if stored < wanted else []), *_verdicts(rates)]
    chosen = {label: json.loads(rows.filter(rows["learner"] == label)["settings"][0]) for label in sorted(present)}
    name, size = shown(spec["name"]), f"{len(manifest['cells']):,} cells of {spec['runs']:,} runs, seed {spec['seed']}"
    every = f"Every instance, delta and epsilon: {comparison.height:,} rows"
    judged = rates.rename({"epsilon": pictures.epsilon_words(epsilon_column(rows))})
    judged = judged.with_columns((~too_often(rates)).alias("fits delta?"))
    parts = [f"<h1>Experiment {escape(name)}</h1>", f"<p>{escape(size)}, surepath {manifest['version']}.</p>", "<ul>"]
    parts += [*(f"<li>{escape(shown(line))}</li>" for line in findings), "</ul>"]
    parts += ["<h2>Cost</h2>", f'<p class="how">{escape(ABOUT_COSTS)}</p>', table(*overview_cells(comparison))]
    parts += [folded(every, table(*frame_cells(comparison)))]
    parts += ["<h2>Wrong answers against delta</h2>", f'<p class="how">{escape(ABOUT_RATES)}</p>']
    parts += [table(*frame_cells(judged)), *_pictures(rows, base), "<h2>Settings</h2>"]
    parts += [settings("The spec", spec), settings("Every setting of each learner", chosen)]
    made = Report(comparison, rates, findings, page(f"Experiment {name}", parts))
    write_text(file, made.html)
    return made


ABOUT_RATES = (
    "A run is wrong when it stopped with a plan more than epsilon from the best. Counts are over all instances; low "
    f"and high are the ends of an exact {100 * LEVEL:g} % interval (Clopper and Pearson), chance the probability of so "
    "many were each as likely as delta. 'no' means that so many wrong answers would have a chance below 5 % if "
    "each had probability delta, corrected for the number of rows. Settings without a guarantee may be wrong more "
    "often."
)
ABOUT_COSTS = (
    f"Trials until the stop, with {100 * LEVEL:g} % bootstrap intervals of the mean; ratios and p-values are over "
    "paired runs, against the first learner or the baseline. A mean with >=, or without an end of its interval, is a "
    "lower bound: runs were cut by the budget."
)


def _verdicts(rates: polars.DataFrame) -> list[str]:
    """Write for each learner and delta whether its wrong answers fit what it was allowed."""
    found = []
    judged = rates.with_columns(too_often(rates).alias("refuted"))
    for part in judged.partition_by("learner", "delta", maintain_order=True):
        worst = part.sort("rate").row(-1, named=True)
        counts = f"{worst['wrong']:,} wrong of {worst['runs']:,} runs at worst"
        span = f"{100 * LEVEL:g} % interval {worst['low']:.2%} to {worst['high']:.2%}"
        fits = "more often than delta allows" if part["refuted"].any() else "within what delta allows"
        found.append(f"{worst['learner']}, delta {worst['delta']:g}: {counts} ({span}), {fits}")
    return found


def _pictures(rows: polars.DataFrame, baseline: str | None) -> list[str]:
    """Draw the costs and, of two learners or more, a comparison."""
    column, titles, found = epsilon_column(rows), {"cost": "Cost over epsilon"}, []
    if rows["learner"].n_unique() > 1:
        titles = {"compare": "Learners compared", **titles}
    for kind, title in titles.items():
        make, draw, reading = pictures.PICTURES[kind]
        data = make(rows, baseline) if kind == "compare" else make(rows)
        if data.height:
            found.append(picture(title, reading, picture_bytes(draw(data, column))))
    return found


def frame_cells(frame: polars.DataFrame) -> Cells:
    """Return a frame as a table of texts; a number that is not there is left out."""
    return frame.columns, [[_cell(value) for value in row] for row in frame.iter_rows()]


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, str):
        return shown(value)
    return f"{value:,.0f}" if isinstance(value, int) or 1000 <= value < np.inf else f"{value:.4g}"


def overview_cells(comparison: polars.DataFrame) -> Cells:
    """Return one row per learner: geometric means over instances, deltas and epsilons, and the largest error rate.

    A learner whose runs were cut in some cells is marked with >=.
    """
    against = "ratio" in comparison.columns
    head = ["learner", "cells", "runs", "mean trials (geometric)", "wrong at most", *(["ratio"] if against else [])]
    body = []
    for learner in comparison["learner"].unique(maintain_order=True).to_list():
        own = comparison.filter(comparison["learner"] == learner)
        cut = ">=" if (own["censored"] > 0).any() else ""
        wrong = own["wrong"].drop_nulls().to_list()
        cells = [shown(learner), f"{own.height:,}", f"{own['runs'].sum():,}", f"{cut}{_geometric(own['mean']):,.0f}"]
        cells.append(f"{max(wrong):.2%}" if wrong else "")
        if against:
            ratios = own["ratio"].drop_nulls()
            cells.append(f"{_geometric(ratios):.3g}" if len(ratios) else "")
        body.append(cells)
    return head, body


def _geometric(values: polars.Series) -> float:
    return float(np.exp(np.log(np.maximum(values.to_numpy(), 1e-300)).mean()))


def markdown_table(head: list[str], body: list[list[str]]) -> str:
    """Write a table of texts in Markdown, which a terminal can show as well."""

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    return "\n".join([line(head), "|" + "---|" * len(head), *(line(row) for row in body)]) + "\n"


# The parts of a page ------------------------------------------------------------------------------------------------

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
img { max-width: 100%; } table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid #ccc; padding: .4rem .6rem; text-align: left; vertical-align: top; }
.yes { color: #00603f; font-weight: bold; } .no { color: #a30000; font-weight: bold; }
.how { background: #f3f3f3; padding: .6rem 1rem; } summary { cursor: pointer; }
pre { overflow-x: auto; font-size: 13px; }
"""


def page(title: str, parts: Iterable[str], style: str = STYLE) -> str:
    """Put the parts of a page, which are HTML, into a document with this title, which is text."""
    head = f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    return "\n".join(["<!doctype html>", head, f"<style>{style}</style></head><body>", *parts, "</body></html>"]) + "\n"


def picture(title: str, reading: str, png: bytes, name: str | None = None) -> str:
    """Return a picture under its title, with how to read it; `name` is the anchor of the title."""
    anchor = "" if name is None else f' id="{escape(name)}"'
    return (
        f"<h2{anchor}>{escape(title)}</h2>\n"
        f'<p class="how"><b>How to read this.</b> {escape(reading)}</p>\n'
        f'<img alt="{escape(title)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
    )


def settings(title: str, content: Any) -> str:
    """Return settings as JSON that opens at a click."""
    return folded(title, f"<pre>{escape(json.dumps(content, indent=1))}</pre>")


def folded(title: str, content: str) -> str:
    """Return content, which is HTML, that opens at a click on the title, which is text."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def table(head: Iterable[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table of texts, which are escaped; the first of each row is its heading."""
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rows = [
        f"<tr><th scope='row'>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>"
        for row in body
    ]
    return "\n".join(
        [f"<table><thead><tr>{heads}</tr></thead><tbody>" if heads else "<table><tbody>", *rows, "</tbody></table>"]
    )
