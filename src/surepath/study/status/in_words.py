"""The status of a study in words, as `surepath study status` and `print(study.status())` write it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from surepath._text import many, shown
from surepath.model.plans import plan_in_words
from surepath.study.lease import in_words
from surepath.study.spending import money
from surepath.study.status.progress import at_most, gap_in_words

if TYPE_CHECKING:
    from surepath.study.status.status import Status

MOST_SHOWN = 6  # running trials, each on a line of its own
MOST_WORKERS_LISTED = 10


def status_in_words(now: Status, *, brief: bool = False, forecast: bool = False) -> str:
    """Describe a status; brief gives one line, and where a forecast follows, no rough guess is made."""
    counts = ", ".join(f"{count:,} {state}" for state, count in now.states.items() if count) or "none yet"
    gap = gap_in_words(now.certified_gap, now.epsilon)
    left = "" if now.rough_trials_left is None or now.done or forecast else f", {at_most(now.rough_trials_left)}"
    spent = "" if now.spent is None else f"; spent {money(now.spent)}"
    if brief:
        return f"trials: {counts}{spent}; {gap}{left}{'; in doubt' if now.findings else ''}"
    proven = math.isfinite(now.certified_gap)
    lines = [
        f"{shown(now.name)} in {shown(now.storage)}",
        f"trials: {counts}{spent}",
        f"best plan{'' if now.done else ' so far'}: {shown(plan_in_words(now.best_plan))}",
        f"{gap}{', wrong with probability ' + format(now.delta, 'g') + ' at most' if proven else ''}"
        f"{': done' if now.done and not now.findings else left}",
    ]
    lines += [f"counted: {now.worth}"] if now.worth else []
    lines += [shown(now.doubt)] if now.doubt else []
    lines += [waiting] if (waiting := waiting_in_words(now)) else []
    lines += [f"{many(now.late, 'result')} came too late to count"] if now.late else []
    lines += [f"running: {line}" for line in _running(now)]
    lines += [f"last failure: {shown(now.last_failure)}"] if now.last_failure else []
    lines += [f"finding: {shown(one)}" for one in now.findings[1:]]
    return "\n".join(lines)


def waiting_in_words(now: Status) -> str:
    """Say which trial the reported ones wait for; "" where none do."""
    if not now.ahead or not (now.running or now.overdue):
        return ""
    results, first = (
        ("1 result counts" if now.ahead == 1 else f"{now.ahead:,} results count"),
        min(now.running + now.overdue),
    )
    left = in_words(max(first.lease_until - now.now, 0.0))
    until = f"its lease has ended; it is given up in {left}" if first in now.overdue else f"lease {left}"
    return f"{results} once trial {first.number} by {shown(first.worker)} is reported or cancelled ({until})" + (
        "; that is then enough" if now.enough else ""
    )


def _running(now: Status) -> list[str]:
    """Write one line per running trial, or per worker where there are many."""

    def lease(end: float) -> str:
        return in_words(max(end - now.now, 0.0))

    if len(now.running) <= MOST_SHOWN:
        return [f"trial {one.number} by {shown(one.worker)}, lease {lease(one.lease_until)}" for one in now.running]
    lines = [f"{one.trials:,} by {shown(one.name)}, lease {lease(one.lease_until)}" for one in now.workers]
    if len(lines) > MOST_WORKERS_LISTED:
        more = sum(one.trials for one in now.workers[MOST_WORKERS_LISTED:])
        lines[MOST_WORKERS_LISTED:] = [f"{more:,} by {len(lines) - MOST_WORKERS_LISTED:,} other workers"]
    return lines
