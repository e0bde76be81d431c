"""A study as a piece of HTML for notebooks: static, and nothing in a name is obeyed."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from surepath._numbers import rounded_up
from surepath.model.sketch import graph_svg
from surepath.study.spending import money
from surepath.study.status import Status


def html_page(status: Status, learner: Any = None) -> str:
    """Write how a study stands as HTML, with a drawing of what its learner knows."""
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
        facts.append(("workers", ", ".join(status.workers)))
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
