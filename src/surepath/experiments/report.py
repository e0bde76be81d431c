"""Reports on one page of HTML: of an experiment, and the parts that other pages share.

The page needs no other file and no network: pictures stand inside it, and everything that it shows is escaped.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
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
    """Write the report of an experiment's folder.

    Args:
        folder: Where the rows are.
        out: The .html file to write.
        baseline: Label of the learner to compare the others with; by default the first of the spec.
    """
    file = Path(out)
    if file.suffix != ".html":
        raise SettingError(f"a report ends in .html, not {file.suffix or 'nothing'!r}: {file}")
    need("matplotlib.figure", "plot")
    made = report_of(folder, baseline)
    write_text(file, made.html)
    return made


def report_of(folder: str | Path, baseline: str | None = None) -> Report:
    """Make the report; nothing is written."""
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
    epsilon = pictures.epsilon_words(epsilon_column(rows))
    parts = [f"<h1>Experiment {escape(name)}</h1>", f"<p>{escape(size)}, surepath {manifest['version']}.</p>", "<ul>"]
    parts += [*(f"<li>{escape(shown(line))}</li>" for line in findings), "</ul>"]
    parts += ["<h2>Cost</h2>", f'<p class="how">{escape(ABOUT_COSTS)}</p>', table(*overview_cells(comparison))]
    parts += [folded(every, table(*comparison_cells(comparison)))]
    parts += ["<h2>Wrong answers against delta</h2>", f'<p class="how">{escape(ABOUT_RATES)}</p>']
    parts += [table(*rate_cells(rates, epsilon)), *_pictures(rows, base), "<h2>Settings</h2>"]
    parts += [settings("The spec", spec), settings("Every setting of each learner", chosen)]
    return Report(comparison, rates, findings, page(f"Experiment {name}", parts))


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


def rate_cells(rates: polars.DataFrame, epsilon: str) -> Cells:
    """Return the table of wrong answers; `epsilon` is what the column of epsilons is called."""
    head = ["learner", "delta", epsilon, "runs", "stopped", "wrong", "rate"]
    head += [f"{100 * LEVEL:g} % interval", "fits delta?"]
    body = []
    for row, refuted in zip(rates.iter_rows(named=True), too_often(rates).to_list()):
        counts = [f"{row[name]:,}" for name in ("runs", "stopped", "wrong")]
        name = [shown(row["learner"]), f"{row['delta']:g}", f"{row['epsilon']:.4g}"]
        span = f"{row['low']:.2%} - {row['high']:.2%}"
        body.append([*name, *counts, f"{row['rate']:.2%}", span, "no" if refuted else "yes"])
    return head, body


def comparison_cells(comparison: polars.DataFrame) -> Cells:
    """Return the table of `stats.compare`, a row for every instance, delta, epsilon and learner."""
    per_gap = comparison["epsilon_per_gap"].null_count() == 0
    against = "ratio" in comparison.columns
    head = ["instance", "delta", "epsilon / Delta_min" if per_gap else "epsilon", "learner", "runs"]
    head += ["mean trials", f"{100 * LEVEL:g} % interval", "wrong", *(["ratio", "p"] if against else [])]
    return head, [_cells(row, per_gap, against) for row in comparison.iter_rows(named=True)]


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


def _cells(row: dict[str, Any], per_gap: bool, against: bool) -> list[str]:
    cells = [
        shown(row["instance"]),
        f"{row['delta']:g}",
        f"{row['epsilon_per_gap']:.4g}" if per_gap else f"{row['epsilon']:.4g}",
        shown(row["learner"]),
        f"{row['runs']:,}",
        f"{'>=' if row['censored'] > 0 else ''}{row['mean']:,.0f}",
        _span(row["low"], row["high"], ",.0f"),
        "" if row["wrong"] is None else f"{row['wrong']:.2%}",
    ]
    if against:
        cells.append(_ratio(row))
        cells.append("" if row["p"] is None else f"{row['p']:.2g}")
    return cells


def _ratio(row: dict[str, Any]) -> str:
    if row["ratio"] is None:
        return ""
    sign = "" if row["ratio_is"] == "=" else row["ratio_is"]
    span = "" if row["ratio_low"] is None else _span(row["ratio_low"], row["ratio_high"], ".3g")
    return f"{sign}{row['ratio']:.3g}" + (f" ({span})" if span else "")


def _span(low: float, high: float, form: str) -> str:
    """Write an interval as '3 - 5', as one end where the other is infinite, or as nothing."""
    if np.isfinite(low) and np.isfinite(high):
        return f"{low:{form}} - {high:{form}}"
    return f">={low:{form}}" if np.isfinite(low) else ""


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


def page(title: str, parts: Iterable[str]) -> str:
    """Put the parts of a page, which are HTML, into a document with this title, which is text."""
    head = f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    style = f"<style>{STYLE}</style></head><body>"
    return "\n".join(["<!doctype html>", head, style, *parts, "</body></html>"]) + "\n"


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


def table(head: list[str], body: list[list[str]]) -> str:
    """Return a table of texts, which are escaped."""
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    rows = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body]
    return "\n".join([f"<table><thead><tr>{heads}</tr></thead><tbody>", *rows, "</tbody></table>"]) + "\n"
