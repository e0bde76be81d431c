"""The trials of a study as the page lists them, newest first, a page at a time, in plain values."""

from __future__ import annotations

from typing import Any

from surepath.model.mdp import MDP
from surepath.study.fold import Fold
from surepath.study.storage import Reading, TrialRow
from surepath.study.study import Study
from surepath.study.trial import RUNNING
from surepath.web.plain import plain

SCANNED = 20_000  # trials that one request with a filter reads


def trial(mdp: MDP, row: TrialRow) -> dict[str, Any]:
    """Return a trial as a row of a table."""
    return {
        "number": row.number,
        "state": row.state,
        "source": row.source,
        "of": row.of,
        "worker": row.worker,
        "plan": {str(step): str(option) for step, option in mdp.plan(row.path).items()},
        "path": list(row.path),
        "rewards": list(row.rewards),
        "asked": row.asked,
        "lease": row.lease,
        "told": row.told,
        "note": row.note,
    }


def trials_page(
    study: Study, fold: Fold, log: Reading, before: int | None, limit: int, state: str | None, text: str
) -> dict[str, Any]:
    """Return trials, newest first, below a number; with a filter at most SCANNED of them are read."""
    mdp, last = study.mdp, log.last_number()
    top = last if before is None else min(last, before - 1)
    low, found = top, []
    wanted = text.casefold()
    if state == RUNNING:  # every running trial is in the fold's window
        rows = sorted((row for row in fold.window.values() if row.state == RUNNING and row.number <= top), reverse=True)
        hits = [row for row in rows if _matches(mdp, row, None, wanted)]
        found, low = hits[:limit], 0
        if len(hits) > limit:
            low = found[-1].number - 1
    else:
        size = limit if state is None and not wanted else 1_000
        while low > 0 and len(found) < limit and top - low < SCANNED:
            first = max(1, low - size + 1)
            for row in reversed(log.trials(first, low - first + 1)):
                low = row.number - 1
                if _matches(mdp, row, state, wanted):
                    found.append(row)
                    if len(found) == limit:
                        break
            else:
                low = first - 1
    return {
        "trials": [plain(trial(mdp, row)) for row in found],
        "total": last,
        "next": low + 1 if low > 0 else None,
        "searched": [low + 1, top] if top > low else None,
    }


def trials_asked(study: Study, log: Reading, request: str) -> dict[str, Any]:
    """Return the trials that a request asked for."""
    rows = log.trials_of_request(request)
    return {"trials": [plain(trial(study.mdp, row)) for row in rows], "total": log.last_number(), "next": None}


def _matches(mdp: MDP, row: TrialRow, state: str | None, wanted: str) -> bool:
    if state is not None and row.state != state:
        return False
    if not wanted:
        return True
    words = [row.worker, row.note, row.source, *(mdp.action_label(arc) for arc in row.path)]
    return any(wanted in word.casefold() for word in words)
