"""Pictures of studies: the gap over trials; intervals and challengers, of a learner too; and a page to hand on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import textwrap
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import BoolArray, FloatArray, IntArray, whole
from surepath._text import shown, write_bytes, write_text
from surepath.errors import MissingExtraError, SettingError
from surepath.experiments.drawing import (
    BACKING,
    FAINT,
    INK,
    OTHER,
    OUT,
    PLAN,
    SMALL_TEXT,
    WANTED,
    below,
    new_axes,
    new_figure,
    picture_bytes,
    plain_ticks,
    short,
)
from surepath.experiments.report import page, table
from surepath.learners.base import Learner
from surepath.model.mdp import MDP
from surepath.model.paths import in_words, plan_in_words, step_names
from surepath.study.fold import money
from surepath.study.rounds import StudyRounds
from surepath.study.status import gap_history
from surepath.study.study import Study
from surepath.verify.file import moment


def learner_of(source: Any) -> Any:
    """Return the learner of a study, or the learner itself."""
    if not isinstance(source, (Study, Learner)):
        raise SettingError(f"a picture is made of a study or a learner, not of {type(source).__name__}")
    return source.learner if isinstance(source, Study) else source


def unit_of(mdp: MDP) -> str:
    """Return what the means of a problem's options are: scores, worth where costs count, effects on one score."""
    return "worth" if in_words(mdp) else "score" if mdp.scored is None else "effect"


GAP_READING = (
    "How far the current plan could still be from the best, proven, after each trial; the search ends where the line "
    "falls below what was asked for."
)


class GapCurve(NamedTuple):
    """The proven gap after each number of trials."""

    trials: IntArray
    gap: FloatArray  # infinite while nothing was proven
    epsilon: FloatArray  # what was asked for at that time
    changed: BoolArray  # whether the plan is another than at the point before


def gap_data(study: Study) -> GapCurve:
    """Return what a study had proven over its settled trials."""
    if not isinstance(study, Study):
        raise SettingError(
            f"the gap over trials is read from the log of a study; a {type(study).__name__} knows one moment only"
        )
    points = gap_history(study)
    if not points:
        raise SettingError(f"study {study.name!r} has no settled trial yet")
    trials, gap, epsilon, plan = (np.array(column) for column in zip(*points))
    return GapCurve(trials, gap, epsilon, np.r_[False, plan[1:] != plan[:-1]] & (trials > 1))


def draw_gap(data: GapCurve) -> Any:
    """Draw the gap over trials, with what was asked for; returns a matplotlib figure."""
    figure = new_figure(2.2)
    axis = new_axes(figure, "trials", "distance from the best")
    seen = np.isfinite(data.gap) & (data.gap > 0)
    handles = []
    if seen.any():
        line = np.where(seen, data.gap, np.nan)  # broken where nothing was proven of the plan of that moment
        handles += axis.step(data.trials, line, where="post", color=PLAN, linewidth=1.6, label="proven gap")
        axis.plot(data.trials[seen][-1:], data.gap[seen][-1:], "o", color=PLAN, markersize=4)
    rises = seen & data.changed & (data.gap > 1.02 * np.r_[np.inf, data.gap[:-1]])
    if rises.any():
        marks = axis.plot(data.trials[rises], 1.12 * data.gap[rises], "v", color=WANTED, markersize=4)
        marks[0].set_label("the plan changed")
        handles += marks
    if (data.epsilon > 0).any():
        handles += axis.step(
            data.trials, data.epsilon, where="post", color=WANTED, linestyle="--", linewidth=1.2, label="asked for"
        )
    unproven = ~np.isfinite(np.r_[data.gap[:1], data.gap[:-1]])  # from each point to the next
    if handles:
        axis.set_yscale("log")
        plain_ticks(axis.yaxis)
    if unproven.any():
        style: dict[str, Any] = {"fill": True, "color": OUT, "alpha": 0.4, "linewidth": 0, "label": "nothing proven"}
        edges = np.r_[0, data.trials]
        handles.append(axis.stairs(unproven, edges, transform=axis.get_xaxis_transform(), **style))
    if (data.gap == 0).any():
        first = int(data.trials[data.gap == 0][0])
        axis.axvline(first, color=PLAN, linewidth=1.0, linestyle=":")
        axis.annotate(
            "proven best of all", (first, 0.5), xycoords=("data", "axes fraction"), fontsize=SMALL_TEXT, color=PLAN
        )
    axis.set_xlim(0, max(1.0, 1.02 * float(data.trials[-1])))
    below(figure, handles)
    return figure


INTERVALS_READING = (
    "Mean score of every option where the current plan meets it, with an interval that holds for this option alone, at "
    "all times at once. The proof compares whole plans and is sharper: intervals may overlap when it is complete."
)


class StepInterval(NamedTuple):
    """One option at the state where the current plan meets its step."""

    step: str
    option: str
    mean: float  # NaN where it has no score
    low: float
    high: float
    visits: int
    chosen: bool  # the plan takes it
    open: bool  # it may still be on a best plan


def half_width(visits: IntArray, sigma: FloatArray, delta: float) -> FloatArray:
    """Return half of each arc's confidence interval; infinite where unvisited.

    Robbins' normal mixture: `P(exists n: |mean_n - m| > sigma sqrt((n + 1) log((n + 1) / delta^2)) / n) <= delta`.
    It holds for one arc alone, at all times at once; the certificate does not use it.
    """
    n = np.maximum(visits, 1)
    width = sigma * np.sqrt((n + 1) * np.log((n + 1) / delta**2)) / n
    return np.asarray(np.where(visits > 0, width, np.where(sigma > 0, np.inf, 0.0)))


def shown_widths(learner: Any) -> FloatArray:
    """Return half an interval of each option, float [N]; in rounds, of what it would change in the plan."""
    rounds = isinstance(learner, StudyRounds)
    return np.asarray(learner.widths() if rounds else half_width(learner.visits, learner.sigma, learner.delta))


def intervals_data(source: Any, most: int = 6) -> list[StepInterval]:
    """List the options that the current plan meets, step by step, best mean first: the `most` first and its own.

    Args:
        source: A study or a learner.
        most: Options listed for each step.
    """
    learner, rows = learner_of(source), []
    mdp, means, count = learner.mdp, learner.means, whole("most", most, low=1)
    width = shown_widths(learner)
    for step, own in zip(step_names(mdp), learner.recommend().tolist()):
        node = int(mdp.source[own])
        arcs = np.arange(int(mdp.first[node]), int(mdp.first[node + 1]))
        worth = np.where(np.isnan(means[arcs]), -np.inf, mdp.sign * means[arcs])
        listed = arcs[np.argsort(-worth, kind="stable")][:count]
        if own not in listed:
            listed[-1] = own
        rows += [
            StepInterval(
                step=str(step),
                option=mdp.action_label(arc),
                mean=float(means[arc]),
                low=float(means[arc] - width[arc]),
                high=float(means[arc] + width[arc]),
                visits=int(learner.visits[arc]),
                chosen=arc == own,
                open=bool(learner.active[arc]),
            )
            for arc in listed.tolist()
        ]
    return rows


def draw_intervals(rows: list[StepInterval], unit: str = "score") -> Any:
    """Draw the mean and the interval of each option, grouped by step; returns a matplotlib figure.

    Args:
        rows: From `intervals_data`.
        unit: What the means are: `unit_of` says it.
    """
    lines: list[StepInterval | str] = []  # from the top: a heading over each step, and its rows
    for i, row in enumerate(rows):
        lines += [row] if i and rows[i - 1].step == row.step else [row.step, row]
    figure = new_figure(0.55 + 0.15 * max(len(lines), 2))
    axis = new_axes(figure, unit)
    for place, row in ((i, line) for i, line in enumerate(lines) if isinstance(line, StepInterval)):
        colour = PLAN if row.chosen else OTHER if row.open else OUT
        if np.isfinite([row.low, row.high]).all():
            axis.plot([row.low, row.high], [place, place], color=colour, linewidth=2.4 if row.chosen else 1.6)
            face = colour if row.open or row.chosen else "white"
            axis.plot([row.mean], [place], "o", color=colour, markersize=4, markerfacecolor=face)
        else:
            axis.annotate(
                "no score yet", (0.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=6, color=OTHER
            )
    names = [short(line, 40) if isinstance(line, str) else short(line.option) for line in lines]
    axis.set_yticks(range(len(lines)), names, fontsize=SMALL_TEXT)
    for label, line in zip(axis.get_yticklabels(), lines):
        label.set(parse_math=False, fontweight="bold" if isinstance(line, str) else "normal")
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(len(lines) - 0.4, -0.6)
    axis.grid(visible=False, axis="y")
    return figure


CHALLENGERS_READING = (
    "Each line is another plan: the dot says by how much its estimate is below that of the current plan, the right end "
    "how much better it may still be. The search ends when no line goes beyond what was asked for."
)


class Difference(NamedTuple):
    """One step at which a challenger differs from the current plan."""

    step: str
    option: str
    instead_of: str
    visits: int
    current_visits: int
    same_option: bool  # the same option, met in another state


class Challenge(NamedTuple):
    """One challenger of the current plan: where it differs, and how much better it may be."""

    path: list[int]
    differs: list[Difference]
    estimate: float  # its estimate minus that of the current plan; at most 0
    bound: float  # how much better it may be

    @property
    def words(self) -> str:
        """Return the options at which it differs: 'model=small, prompt=long'."""
        return plan_in_words({one.step: one.option for one in self._own})

    @property
    def options(self) -> str:
        """Return the options at which it differs without their steps, short enough for a picture."""
        return ", ".join(one.option for one in self._own)

    @property
    def _own(self) -> list[Difference]:
        return [one for one in self.differs if not one.same_option] or self.differs


class Challenges(NamedTuple):
    """The current plan against its challengers."""

    rivals: list[Challenge]
    gap: float
    epsilon: float


def challengers_data(source: Any, count: int = 6) -> Challenges:
    """Return the strongest challengers of a study or of a learner that has them.

    Args:
        source: A study or a learner.
        count: How many.
    """
    learner = learner_of(source)
    if not hasattr(learner, "explain"):
        raise SettingError(f"{learner.name} bounds each option by itself and has no challengers to name")
    said = learner.explain(count)
    rivals = [
        Challenge(
            rival.path,
            _differences(learner, said.incumbent, rival.path),
            -abs(float(rival.estimate)),
            float(rival.bound),
        )
        for rival in said.rivals
    ]
    return Challenges(rivals, float(learner.certified_gap()), float(learner.epsilon))


def _differences(learner: Any, incumbent: list[int], path: list[int]) -> list[Difference]:
    mdp, visits = learner.mdp, learner.visits
    return [
        Difference(
            step=step,
            option=mdp.action_label(theirs),
            instead_of=mdp.action_label(ours),
            visits=int(visits[theirs]),
            current_visits=int(visits[ours]),
            same_option=bool(mdp.action[theirs] == mdp.action[ours]),
        )
        for step, theirs, ours in zip(step_names(mdp), path, incumbent)
        if theirs != ours
    ]


def draw_challengers(data: Challenges) -> Any:
    """Draw a line for each challenger, from its estimate to its upper bound; returns a matplotlib figure."""
    rows = len(data.rivals)
    figure = new_figure(0.95 + 0.42 * max(1, rows))
    axis = new_axes(figure, "better than the current plan by")
    axis.axvline(0.0, color=INK, linewidth=0.8)
    handles = [axis.axvline(data.epsilon, color=WANTED, linestyle="--", linewidth=1.2, label="asked for")]
    for row, rival in enumerate(data.rivals):
        colour = OTHER if rival.bound > data.epsilon else PLAN
        axis.plot([rival.estimate, rival.bound], [row, row], color=colour, linewidth=1.8, zorder=4)
        axis.plot([rival.estimate], [row], "o", color=colour, markersize=4, zorder=4)
        axis.plot([rival.bound], [row], "|", color=colour, markersize=8, markeredgewidth=1.8)
        text = "\n".join(textwrap.wrap(shown(rival.options), 66, max_lines=2, placeholder="..."))
        axis.annotate(
            text, (0.0, row), xycoords=("axes fraction", "data"), xytext=(2, 5), textcoords="offset points",
            fontsize=6, color=FAINT, parse_math=False, zorder=3, bbox=BACKING,
        )  # fmt: skip
    if not rows:
        axis.annotate("no challengers to name", (0.05, 0.5), xycoords="axes fraction", fontsize=SMALL_TEXT, color=OTHER)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.set_ylim(rows - 0.5, -0.9)
    axis.grid(visible=False, axis="y")
    below(figure, handles)
    return figure


# A page to hand on ----------------------------------------------------------------------------------------------------

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
