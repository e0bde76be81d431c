"""A study on the screen: a piece of HTML for notebooks, and a view that is renewed in place while trials run."""

from __future__ import annotations

import importlib
import math
import time
from html import escape
from typing import TYPE_CHECKING, Any

from surepath._checks import real
from surepath._numbers import rounded_up
from surepath.errors import SettingError
from surepath.model.sketch import graph_svg
from surepath.study.spending import money
from surepath.study.status import Status
from surepath.study.status.progress import Progress

if TYPE_CHECKING:
    from surepath.study.study import Study


def html_page(status: Status, learner: Any = None) -> str:
    """Write the status of a study as HTML, with a drawing of what its learner knows; names are escaped."""
    picture = "" if learner is None else graph_svg(learner.mdp, learner.recommend(), learner.visits, learner.active)
    gap = rounded_up(status.certified_gap) if math.isfinite(status.certified_gap) else "nothing yet"
    counts = ", ".join(f"{count:,} {state}" for state, count in status.states.items() if count) or "none"
    facts = [
        ("trials", counts),
        ("proven gap", f"{gap} (wanted {status.epsilon:.4g}, with probability {1 - status.delta:.4g})"),
        ("answer", status.answer),
    ]
    if status.spent is not None:
        facts.append(("spent", money(status.spent)))
    if status.worth:
        facts.append(("counted", status.worth))
    if status.workers:
        facts.append(("workers", ", ".join(one.name for one in status.workers)))
    facts += [("finding", text) for text in status.findings]
    rows = "".join(_row("th", name, text) for name, text in facts)
    plan = "".join(_row("td", str(step), str(option)) for step, option in status.best_plan.items())
    return (
        f"<div><p><b>{escape(status.name)}</b> in {escape(status.storage)}</p>"
        f"<table>{rows}</table>{picture}"
        f"<table><thead><tr><th>step</th><th>best plan so far</th></tr></thead><tbody>{plan}</tbody></table></div>"
    )


def _row(tag: str, name: str, text: str) -> str:
    return (
        f'<tr><{tag} style="text-align:left">{escape(name)}</{tag}><td style="text-align:left">{escape(text)}</td></tr>'
    )


def watch(study: Study, every: float = 1.0) -> None:
    """Show the study until it is done, in a notebook as a drawing, elsewhere as lines; an interrupt ends the watch."""
    pause = real("every", every)
    if pause <= 0:
        raise SettingError(f"every must be more than 0 seconds, not {every!r}")
    show = _shower(study)
    try:
        while not study.done:
            show()
            time.sleep(pause)
    except KeyboardInterrupt:
        pass
    show()


def _shower(study: Study) -> Any:
    """Return the function that shows the study: a drawing that is replaced, or a line where something has changed."""
    try:
        shell = importlib.import_module("IPython")
        notebook = shell.get_ipython() is not None
    except ImportError:
        notebook = False
    if notebook:
        handle = importlib.import_module("IPython.display").display(study, display_id=True)
        return lambda: handle.update(study)
    progress, last = Progress(study, show=False), [""]

    def line() -> None:
        text = progress.text(len(study.status().running))
        if text != last[0]:
            print(text, flush=True)
            last[0] = text

    return line
