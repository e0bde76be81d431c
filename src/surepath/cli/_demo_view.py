"""The display of the demo while trials come in: a live table on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from surepath.learners.watch import headline

if TYPE_CHECKING:
    from surepath.learners.challenger import Challenger

STEPS = (
    "clean the ticket",
    "find the intent",
    "search for help",
    "choose the context",
    "draft the reply",
    "check the facts",
    "set the tone",
    "decide to send",
)
BAR = 28  # characters of the bar
TERMINAL_PACE = 0.035  # seconds a trial on a terminal: about four seconds in all
TRIALS_A_LINE = 10  # trials between two plain lines


class View:
    """Shows a learner after each trial; a context manager."""

    def __init__(self, console: Console, learner: Challenger, *, pause: bool) -> None:
        self.console, self.learner, self.pause = console, learner, pause and console.is_terminal
        self.first = 0.0  # the first certified gap: the full length of the bar
        self.live: Live | None = None
        self.due = time.monotonic()

    def __enter__(self) -> View:
        if self.console.is_terminal:
            self.live = Live(console=self.console, auto_refresh=False)
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, gap: float) -> None:
        """Show the learner after a trial, with the certified gap of the current plan."""
        if isfinite(gap) and self.first == 0.0:
            self.first = gap
        if self.live is not None:
            self.live.update(self.picture(gap), refresh=True)
            self.due = max(self.due + TERMINAL_PACE, time.monotonic() - TERMINAL_PACE)
            if self.pause:
                time.sleep(max(0.0, self.due - time.monotonic()))
        elif self.learner.episodes % TRIALS_A_LINE == 0 or self.learner.stopped:
            self.console.print(self.line(gap), markup=False)

    def line(self, gap: float) -> str:
        """Return one plain line about the trials so far."""
        head = f"trial {self.learner.episodes:>4}: "
        if not isfinite(gap):
            untried = int((self.learner.visits == 0).sum())
            return head + f"{untried} of {self.learner.mdp.n_arcs} scores never seen, nothing proven yet"
        done = "; that is enough" if self.learner.stopped else ""
        return head + f"the current plan is proven within {gap:.3f} of the best{done}{self.warning('; but ')}"

    def warning(self, before: str) -> str:
        """Return what the scores say against what was declared, after `before`; nothing where they say nothing."""
        said = headline(self.learner.findings())
        return "" if said is None else before + said

    def picture(self, gap: float) -> Group:
        """Return the current plan step by step, and the bar."""
        learner = self.learner
        plan = learner.recommend()
        means, visits = learner.means, learner.visits
        title = "the plan chosen" if learner.stopped else "the current plan"
        table = Table(title=f"{title} after {learner.episodes} trials", title_justify="left", box=None, pad_edge=False)
        table.add_column("step", style="dim", min_width=20)
        table.add_column("option", style="bold green" if learner.stopped else "bold", min_width=27)
        table.add_column("score", justify="right", min_width=6)
        table.add_column("times tried", justify="right")
        for step, arc in zip(STEPS, plan.tolist()):
            tried = int(visits[arc])
            score = f"{means[arc]:.2f}" if tried else "-"
            table.add_row(step, Text(learner.mdp.action_label(arc)), score, str(tried))
        warning = self.warning("")
        return Group(table, Text(), self.bar(gap), *([Text(warning, "bold red")] if warning else []))

    def bar(self, gap: float) -> Text:
        """Return the certified gap, full length at the first one known, with a mark at epsilon."""
        if not isfinite(gap):
            untried = int((self.learner.visits == 0).sum())
            return Text(f"nothing proven yet: {untried} of {self.learner.mdp.n_arcs} scores never seen", "dim")
        text = Text("proven within  ")
        epsilon = self.learner.epsilon
        mark = round(BAR * min(1.0, epsilon / self.first))
        length = max(1, round(BAR * min(1.0, gap / self.first)))
        done = gap <= epsilon
        for i in range(BAR):
            if i == mark:
                text.append("│", "bold")
            text.append("█" if i < length else "·", ("green" if done else "yellow") if i < length else "dim")
        return text.append(f"  {gap:.3f} of the best", "bold green" if done else "bold").append(
            f" (wanted {epsilon:g})", "dim"
        )


def cost_table(rows: list[tuple[str, float, str]], ours: float) -> Table:
    """Return the trials by method, with a bar on a logarithmic scale and the ratio to ours."""
    from math import log

    table = Table("method", "trials", "", "", "", box=None, pad_edge=False)
    table.columns[1].justify = table.columns[2].justify = "right"
    top = max(trials for _, trials, _ in rows)
    for name, trials, remark in rows:
        mine = trials == ours
        bar = "█" * max(1, round(12 * log(max(2.0, trials)) / log(top)))
        ratio = f"{trials / ours:,.0f}x" if trials > ours else ""
        style: Any = "bold green" if mine else ""
        table.add_row(Text(name, style), Text(f"{trials:,.0f}", style), ratio, Text(bar, style or "dim"), remark)
    return table
