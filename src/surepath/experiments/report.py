"""Pictures of an experiment, and reports on one page of HTML, with the parts that other pages share.

The page needs no other file and no network: pictures stand inside it, and everything that it shows is escaped.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surepath._checks import suggest
from surepath._optional import need
from surepath._text import shown, write_text
from surepath.errors import SettingError
from surepath.experiments.drawing import MOST_PANELS, Panel, Series, draw_panels, picture_bytes, short, short_name
from surepath.experiments.runner import Store, read
from surepath.experiments.stats import LEVEL, compare, epsilon_column, failure_rates, too_often
from surepath.simulation.simulate import Results

if TYPE_CHECKING:
    import polars


RUN_COLUMNS = ("instance", "learner", "delta", "epsilon", "epsilon_per_gap", "run", "tau", "censored", "correct")


def rows_of(source: Any) -> polars.DataFrame:
    """Return rows with the columns `RUN_COLUMNS`, runs in order.

    Args:
        source: The folder of an experiment; a polars frame with its rows; or {label: results of `simulate`}, all on
            one instance.
    """
    pl = need("polars", "data")
    if isinstance(source, (str, os.PathLike)):
        return read(Path(source))
    frame: polars.DataFrame
    if isinstance(source, Mapping) and source and all(isinstance(one, Results) for one in source.values()):
        frame = pl.concat(
            one.frame().with_columns(
                instance=pl.lit(str(one.settings["instance"])),
                learner=pl.lit(str(label)),
                delta=pl.lit(float(one.settings["learner"]["delta"])),
                epsilon_per_gap=pl.lit(None, dtype=pl.Float64),
            )
            for label, one in source.items()
        )
        return frame
    if not isinstance(source, pl.DataFrame):
        raise SettingError(
            "pictures of runs are made of an experiment's folder, its rows, or {label: results of simulate}, not of "
            f"{type(source).__name__}"
        )
    frame = source
    missing = [name for name in RUN_COLUMNS if name not in frame.columns]
    if missing:
        raise SettingError(f"rows of runs need the columns {', '.join(missing)}; experiments.store.read has them")
    return frame


def chosen(
    rows: polars.DataFrame,
    instance: str | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    learners: list[str] | None = None,
) -> polars.DataFrame:
    """Keep the rows of one instance, delta (the smallest by default), epsilon and learners.

    Epsilons are in units of Delta_min where the experiment's are.
    """
    if rows.is_empty():
        raise SettingError("there are no runs to draw")
    for column, value in (("instance", instance), ("delta", delta), (epsilon_column(rows), epsilon)):
        if value is not None:
            have = rows[column].unique().sort().to_list()
            rows = rows.filter(rows[column] == value)
            if rows.is_empty():
                words = f"{suggest(value, have)}" if isinstance(value, str) else ""
                listed = ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in have[:20])
                raise SettingError(f"no run has {column} {value}{words}; there are: {listed}")
    for label in learners or ():
        labels = rows["learner"].unique(maintain_order=True).to_list()
        if label not in labels:
            raise SettingError(f"no learner of this experiment is called {label!r}{suggest(label, labels)}")
    rows = rows.filter(rows["learner"].is_in(learners)) if learners else rows
    return rows.filter(rows["delta"] == rows["delta"].min())


def epsilon_words(column: str) -> str:
    """Return the name of an axis of epsilons."""
    return "epsilon / smallest gap" if column == "epsilon_per_gap" else "epsilon"


COST_READING = (
    "Mean number of trials until the stop, over epsilon; bands are 95 % intervals of the mean. Hollow marks are lower "
    "bounds: some of their runs were cut by the budget."
)


def cost_data(
    source: Any, instance: str | None = None, delta: float | None = None, learners: list[str] | None = None
) -> polars.DataFrame:
    """Return mean trials with an interval for every instance, learner and epsilon.

    Args:
        source: As in `rows_of`.
        instance: One instance; all by default.
        delta: One delta; by default the smallest.
        learners: Labels; all by default.

    Returns:
        Columns instance, delta, epsilon, learner, mean, low, high (infinite where runs were cut), censored (share of
        runs cut) and runs; sorted by epsilon, learners in the order of the rows. `epsilon` is in units of the smallest
        gap where the experiment's are.
    """
    rows = rows_of(source)
    column = epsilon_column(rows)
    rows = chosen(rows, instance, delta, None, learners)
    order = rows.select("instance", "learner").unique(maintain_order=True).with_row_index("order")
    return (
        compare(rows)
        .with_columns(epsilon=column)
        .join(order, on=["instance", "learner"], how="left")
        .sort("order", "epsilon")
        .select("instance", "delta", "epsilon", "learner", "mean", "low", "high", "censored", "runs")
    )


def draw_cost(data: polars.DataFrame, column: str = "epsilon") -> Any:
    """Draw mean trials over epsilon, a panel for each of the first six instances; returns a matplotlib figure."""
    return _draw(data.with_columns(value="mean", cut=data["censored"] > 0), column, "trials")


COMPARISON_READING = (
    "Trials of each learner over those of the baseline on the same instance, with 95 % intervals over paired runs: "
    "below the line is cheaper. Hollow marks are bounds: runs of one side were cut by the budget."
)


def comparison_data(
    source: Any,
    baseline: str | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
    learners: list[str] | None = None,
) -> polars.DataFrame:
    """Return the ratio of each learner's trials to those of a baseline, over paired runs.

    Args:
        source: As in `rows_of`.
        baseline: Label of the learner below the line; by default the first.
        delta: One delta; by default the smallest.
        epsilon: One epsilon; all by default.
        learners: Labels of those compared; all by default.

    Returns:
        Columns instance, delta, epsilon, learner, baseline, ratio, ratio_is ("=", "<=" or ">="), low, high and p. Rows
        whose ratio is not known, since runs of both sides were cut, are left out.
    """
    pl = need("polars", "data")
    rows = rows_of(source)
    column = epsilon_column(rows)
    base: str = rows["learner"][0] if baseline is None and len(rows) else baseline or ""
    rows = chosen(rows, None, delta, epsilon, None if learners is None else [*learners, base])
    found: polars.DataFrame = (
        compare(rows, base)
        .filter((pl.col("learner") != base) & pl.col("ratio").is_not_null())
        .with_columns(epsilon=column, baseline=pl.lit(base), low="ratio_low", high="ratio_high")
        .select("instance", "delta", "epsilon", "learner", "baseline", "ratio", "ratio_is", "low", "high", "p")
    )
    return found


def draw_comparison(data: polars.DataFrame, column: str = "epsilon") -> Any:
    """Draw ratios over epsilon, a panel for each of the first six instances; returns a matplotlib figure."""
    base = short(data["baseline"][0], 12) if data.height else ""
    return _draw(data.with_columns(value="ratio", cut=data["ratio_is"] != "="), column, f"over {base}", line_at=1.0)


def _draw(data: polars.DataFrame, column: str, y: str, line_at: float | None = None) -> Any:
    """Draw the columns value, low, high and cut over epsilon, each instance on a panel."""
    log, parts, panels = bool((data["epsilon"] > 0).all()), data.partition_by("instance", maintain_order=True), []
    for place, part in enumerate(parts, 1):
        series = []
        for own in part.partition_by("learner", maintain_order=True):
            x, value, low, high, cut = (own[name].to_list() for name in ("epsilon", "value", "low", "high", "cut"))
            series.append(Series(own["learner"][0], x, value, low, high, cut))
        x_label = epsilon_words(column) if place == min(len(parts), MOST_PANELS) else ""
        title = short(short_name(part["instance"][0]), 48)
        panels.append(Panel(title, x_label, y, series, x_log=log, line_at=line_at))
    return draw_panels(panels)


# By kind: the data, the drawing, and how to read it.
PICTURES: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "compare": (comparison_data, draw_comparison, COMPARISON_READING),
    "cost": (cost_data, draw_cost, COST_READING),
}


# Reports --------------------------------------------------------------------------------------------------------------

Cells = tuple[list[str], list[list[str]]]  # a table of texts: its head and its rows


class Report(NamedTuple):
    """The report of an experiment: `stats.compare`, `stats.failure_rates`, what they say in sentences, and the page."""

    comparison: polars.DataFrame
    rates: polars.DataFrame
    findings: list[str]
    html: str
    baseline: str | None  # the learner of its ratios


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
    judged = rates.rename({"epsilon": epsilon_words(epsilon_column(rows))})
    judged = judged.with_columns((~too_often(rates)).alias("fits delta?"))
    parts = [f"<h1>Experiment {escape(name)}</h1>", f"<p>{escape(size)}, surepath {manifest['version']}.</p>", "<ul>"]
    parts += [*(f"<li>{escape(shown(line))}</li>" for line in findings), "</ul>"]
    parts += ["<h2>Cost</h2>", f'<p class="how">{escape(ABOUT_COSTS)}</p>', table(*overview_cells(comparison, base))]
    parts += [folded(every, table(*frame_cells(comparison)))]
    parts += ["<h2>Wrong answers against delta</h2>", f'<p class="how">{escape(ABOUT_RATES)}</p>']
    parts += [table(*frame_cells(judged)), *_pictures(rows, base), "<h2>Settings</h2>"]
    parts += [settings("The spec", spec), settings("Every setting of each learner", chosen)]
    made = Report(comparison, rates, findings, page(f"Experiment {name}", parts), base)
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
        make, draw, reading = PICTURES[kind]
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


def overview_cells(comparison: polars.DataFrame, base: str | None) -> Cells:
    """Return one row per learner: geometric means over instances, deltas and epsilons, and the largest error rate.

    A cell is an instance and a delta, as in a spec. A learner whose runs were cut in some cells is marked with >=.
    """
    against = "ratio" in comparison.columns
    head = ["learner", "cells", "runs", "mean trials (geometric)", "wrong at most"]
    head += [f"ratio to {shown(base)}"] if against else []
    body = []
    for learner in comparison["learner"].unique(maintain_order=True).to_list():
        own = comparison.filter(comparison["learner"] == learner)
        cut = ">=" if (own["censored"] > 0).any() else ""
        wrong = own["wrong"].drop_nulls().to_list()
        one = own.unique(["instance", "delta"])  # a run serves every epsilon
        cells = [shown(learner), f"{one.height:,}", f"{one['runs'].sum():,}", f"{cut}{_geometric(own['mean']):,.0f}"]
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


# The parts of a page --------------------------------------------------------------------------------------------------

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
