"""A comparison as a table ready for a Markdown page, a LaTeX paper or an HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import one_of
from surepath._text import shown
from surepath.experiments import html_page

if TYPE_CHECKING:
    import polars

TABLE_FORMATS = ("markdown", "latex", "html")
_TEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}"}


def table(comparison: polars.DataFrame, form: str = "markdown") -> str:
    """Render the rows of `stats.compare` as text.

    Args:
        comparison: The frame of `stats.compare`.
        form: "markdown", "latex" (needs the booktabs package), or "html".
    """
    one_of("format", form, TABLE_FORMATS)
    per_gap = comparison["epsilon_per_gap"].null_count() == 0
    against = "ratio" in comparison.columns
    head = ["instance", "delta", "epsilon / Delta_min" if per_gap else "epsilon", "learner", "runs"]
    level = 100 * comparison["level"][0]
    head += ["mean episodes", f"{level:g} % interval", "wrong", *(["ratio", "p"] if against else [])]
    body = [_cells(row, per_gap, against) for row in comparison.iter_rows(named=True)]
    return WRITERS[form](head, body)


def overview(comparison: polars.DataFrame, form: str = "markdown") -> str:
    """Render one row per learner: geometric means over instances, deltas and epsilons, and the largest error rate.

    A learner whose runs were cut in some cells is marked with >=.
    """
    one_of("format", form, TABLE_FORMATS)
    against = "ratio" in comparison.columns
    head = ["learner", "cells", "runs", "mean episodes (geometric)", "wrong at most", *(["ratio"] if against else [])]
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
    return WRITERS[form](head, body)


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


def markdown(head: list[str], body: list[list[str]]) -> str:
    """Write a table of texts in Markdown."""

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    return "\n".join([line(head), "|" + "---|" * len(head), *(line(row) for row in body)]) + "\n"


def _latex(head: list[str], body: list[list[str]]) -> str:
    def line(cells: list[str]) -> str:
        return " & ".join(_escape(cell) for cell in cells) + r" \\"

    columns = "l" + "r" * (len(head) - 1) if head[0] == "learner" else "lrrlr" + "r" * (len(head) - 5)
    rows = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", line(head), r"\midrule", *(line(row) for row in body)]
    return "\n".join([*rows, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _escape(text: str) -> str:
    special = {"Delta_min": r"$\Delta_{\min}$", "epsilon": r"$\varepsilon$", "delta": r"$\delta$"}
    for word in ("epsilon / Delta_min", "epsilon", "delta"):
        if text == word:
            return " / ".join(special[part] for part in word.split(" / "))
    plain = "".join(_TEX.get(letter, r"\textbackslash{}" if letter == "\\" else letter) for letter in text)
    return plain.replace(">=", r"$\geq$ ").replace("<=", r"$\leq$ ").replace(" - ", "--")


WRITERS = {"markdown": markdown, "latex": _latex, "html": html_page.table}
