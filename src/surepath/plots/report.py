"""A report of a study to hand on: one self-contained page, or a PDF of it where a browser is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from surepath.errors import MissingExtraError, SettingError
from surepath.experiments.drawing import picture_bytes
from surepath.experiments.report import page, table
from surepath.model.text_files import write_bytes, write_text
from surepath.plots.studies import draw_gap, draw_intervals, gap_data, intervals_data, unit_of
from surepath.study.fold import money
from surepath.study.study import Study
from surepath.verify.file import moment

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PRINT_SECONDS = 120
MOST_CASES_LISTED = 10
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { margin-top: 2rem; } .muted { color: #666; } .proven { font-size: 1.15rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .2rem .8rem .2rem 0; }
tr { border-bottom: 1px solid #ddd; break-inside: avoid; } figure svg { width: 100%; height: auto; }
code { overflow-wrap: anywhere; } figure { margin: 1rem 0; break-inside: avoid; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } h2 { break-after: avoid; } a { color: inherit; } }
@page { margin: 18mm; }
"""


def write_report(study: Study, path: str | Path) -> None:
    """Write what is proven, the plan, pictures, assumptions and spending as one file: .html, or .pdf by a browser."""
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".html", ".pdf"):
        raise SettingError(
            f"a report ends in .html or .pdf, not {file.name!r}; surepath study certificate writes .json"
        )
    if kind == ".html":
        write_text(file, report_html(study))
        return
    browser = next((found for name in BROWSERS if (found := shutil.which(name)) is not None), None)
    if browser is None:
        raise MissingExtraError("a report in PDF is printed by a browser, and Chromium is not installed; write .html")
    with tempfile.TemporaryDirectory(prefix="surepath-report-") as folder:
        page, printed = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(report_html(study), encoding="utf-8")
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        words = [browser, "--headless", "--disable-gpu", f"--user-data-dir={folder}/profile", *root]
        words += ["--no-pdf-header-footer", f"--print-to-pdf={printed}", page.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PRINT_SECONDS, check=False)
        if not printed.exists():
            raise SettingError(f"{browser} printed nothing ({done.stderr.strip()[-200:]}); write .html")
        write_bytes(file, printed.read_bytes())


def report_html(study: Study) -> str:
    """Return the report as a page that needs no other file; every name is escaped."""
    certificate, status = study.certificate(), study.status()
    counts = ", ".join(f"{count:,} {state}" for state, count in status.states.items() if count) or "none"
    parts = [
        f"<h1>{escape(study.name)}</h1><p class='muted'>Created {moment(study.record.created)}, "
        f"reported {moment(status.now)}</p>",
        f"<h2>What is proven</h2><p class='proven'>{escape(str(certificate))}</p>",
        "<h2>The plan</h2>" + _plan(study),
    ]
    if status.settled:
        parts += ["<h2>The options</h2>" + _picture(draw_intervals(intervals_data(study), unit_of(study.mdp)))]
        parts += ["<p class='muted'>Mean and interval of each option that the plan meets; its own are green.</p>"]
        parts += ["<h2>The gap over trials</h2>" + _picture(draw_gap(gap_data(study)))]
    parts += ["<h2>What was assumed</h2>" + _list(certificate["assumptions"])]
    checked = [found["message"] for found in certificate["warnings"]]
    parts += ["<h2>What was checked</h2>" + _list(checked or ["No score contradicts what was declared."])]
    facts = [("Trials", counts), ("Asked for", f"within {status.epsilon:g}, wrong with probability {status.delta:g}")]
    if status.spent is not None:
        each = money(status.spent / status.settled) if status.settled else "0"
        facts.append(("Spent", f"{money(status.spent)}, {each} a trial"))
    parts += ["<h2>Trials and spending</h2>" + table((), facts)]
    if cases := study.cases[:MOST_CASES_LISTED]:
        rows = [
            (
                one.case,
                f"{one.trials:,}",
                f"{one.mean:.3g}",
                "" if one.trials == 1 else f"{one.spread:.2g}",
                f"{one.beside:+.3g}",
            )
            for one in cases
        ]
        heads = ("Case", "Trials", "Mean total", "Spread", "Beside the plans' average")
        parts += ["<h2>Hard cases</h2>" + table(heads, rows)]
    parts += [
        f"<h2>Certificate</h2><p>SHA-256 <code>{certificate['sha256']}</code>; log <code>{certificate['log']['digest']}"
        f"</code>. <code>surepath study certificate</code> writes it, <code>surepath verify</code> computes its bound "
        f"again.</p>"
    ]
    return page(study.name, parts, STYLE)


def _plan(study: Study) -> str:
    learner, path = study.learner, study.best_path
    rows = [
        (str(step), str(option), f"{learner.means[arc]:.4g}", f"{int(learner.visits[arc]):,}")
        for (step, option), arc in zip(study.mdp.plan(path).items(), path.tolist())
    ]
    return table(("Step", "Option", "Mean", "Trials"), rows)


def _picture(figure: Any) -> str:
    svg = picture_bytes(figure, "svg").decode()
    return f"<figure>{svg[svg.index('<svg') :]}</figure>"


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
