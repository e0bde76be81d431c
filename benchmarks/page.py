"""A page of the newest figure of every benchmark, with the command, the date and the machine behind it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from surepath.experiments.report import page, table

PAGE = "index.html"


def newest(runs: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the newest (run, part) of every benchmark, in the order of their names; runs come oldest first."""
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    for run in runs:
        for part in run["parts"]:
            found[part["name"]] = run, part
    return [found[name] for name in sorted(found)]


def earlier(runs: list[dict[str, Any]], name: str, figure: str) -> list[float]:
    """Return all values of one figure, oldest first."""
    return [
        one["value"]
        for run in runs
        for part in run["parts"]
        if part["name"] == name
        for one in part["figures"]
        if one["name"] == figure
    ]


def in_words(value: float, unit: str) -> str:
    """Write a figure with three digits or more: 12.3x, 4,560 us."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text}x" if unit == "x" else f"{text} {unit}".rstrip()


def about_machine(machine: dict[str, Any]) -> str:
    """Describe a machine in one line."""
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory']}; "
        f"{machine['system']}; Python {machine['python']}, Numba {machine['numba']}, NumPy {machine['numpy']}, "
        f"surepath {machine['surepath']}"
    )


def render(runs: list[dict[str, Any]]) -> str:
    """Render the page as text; it needs no other file and no network."""
    parts = [
        "<h1>Benchmarks of surepath</h1>",
        f'<p class="how">The newest figures of every benchmark, out of {len(runs):,} kept runs. Ratios (x) are taken '
        "within one run on one machine; times are of that machine. Every section has the command that measures it "
        "again.</p>",
    ]
    for run, part in newest(runs):
        parts.append(f'<h2 id="{escape(part["name"])}">{escape(part["name"])}</h2>')
        parts.append(f"<p>{escape(part['about'])}</p>")
        parts.append(
            f"<p><code>{escape(part['command'])}</code>, {escape(part['begun'])}, {part['seconds']:.0f} s, load "
            f"{part['load']:.1f} when it began; "
            f"{escape(about_machine(run['machine']))}</p>"
        )
        rows = [_row(runs, part["name"], figure) for figure in part["figures"]]
        if rows:
            parts.append(table(["figure", "value", "target", "earlier runs"], rows))
        text = escape(part["printed"].strip())
        parts.append(f"<details><summary>Everything it printed</summary><pre>{text}</pre></details>")
    return page("Benchmarks of surepath", parts)


def _row(runs: list[dict[str, Any]], name: str, figure: dict[str, Any]) -> list[str]:
    before = earlier(runs, name, figure["name"])[:-1][-3:]
    words = ", ".join(in_words(value, figure["unit"]) for value in before)
    return [figure["name"], in_words(figure["value"], figure["unit"]), figure["target"], words]


def write(runs: list[dict[str, Any]], folder: Path) -> Path:
    """Write the page beside the runs."""
    file = folder / PAGE
    file.write_text(render(runs), encoding="utf-8")
    return file
