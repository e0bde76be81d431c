"""Views of a study for the page, in values that JSON can hold: the status, the graph, its trials, its challengers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import isfinite
from typing import Any

import numpy as np
from sqlalchemy import Integer, bindparam, cast, func, select

from surepath._checks import IntArray, plain, rounded_up
from surepath._text import many
from surepath.model.mdp import MDP
from surepath.model.paths import stage_of, step_names
from surepath.model.steps import state_names
from surepath.plots.studies import challengers_data, shown_widths, unit_of
from surepath.study.fold import Fold
from surepath.study.rounds import round_facts
from surepath.study.status import Status, notes, status_of
from surepath.study.storage import Reading
from surepath.study.study import Study
from surepath.study.tables import trials
from surepath.study.trial import TrialRow, options_of

MOST_FINDINGS_SHOWN = 3  # that a page shows; all are in the status
MOST_ARCS_SENT = 2_000  # drawn at once; beyond it, the plan, its challengers and what was visited most
OPEN_ARC, RULED_OUT_ARC, EXCLUDED_ARC, KNOWN_ARC = range(4)
LONGEST_DRAWN_LABEL = 200
SCANNED = 20_000  # trials that one request with a filter reads
MOST_PACE_POINTS = 200  # of the results over time
_RESULT = (trials.c.study == bindparam("the_study")) & trials.c.state.in_(("complete", "partial", "failed"))
PACE_ENDS = select(func.min(trials.c.told), func.max(trials.c.told)).where(_RESULT)
_STRETCH = cast((trials.c.told - bindparam("the_first")) / bindparam("the_stretch"), Integer)
PACE = (
    select(func.max(trials.c.told), func.count(), func.sum(trials.c.cost))
    .where(_RESULT)
    .group_by(_STRETCH)
    .order_by(func.max(trials.c.told))
)


def page_status(study: Study, fold: Fold, log: Reading) -> dict[str, Any]:
    """Return the status record, in plain values, and what the page says and shows beside it."""
    mdp, learner = study.mdp, fold.view
    now = status_of(study, fold, log)
    path = np.array(now.best_path, dtype=np.int64)
    said = ["What is proven changes at the end of a round"] if round_facts(learner) else []
    said += [f"Excluded: {'; '.join(now.excluded)}; the proof is over the rest"] if now.excluded else []
    beside = {
        "plan": plan_rows(mdp, learner, path),
        "estimate": float(learner.means[path].sum()) if mdp.scored is None else None,
        "scored": [stage in mdp.score_stages for stage in range(mdp.horizon)],
        "direction": mdp.direction,
        "options": mdp.n_arcs,
        "plans_log": mdp.log_paths,
        "ruled_out": int((~learner.active).sum()),
        "sentence": sentence(mdp, learner, now),
        "warnings": warnings(mdp, fold, now.findings),
        "notes": said + notes(fold),
    }
    record = now.as_dict()
    del record["storage"]  # the server's own affair
    found: dict[str, Any] = plain({**record, **beside})
    return found


def plan_rows(mdp: MDP, learner: Any, path: Any) -> list[dict[str, Any]]:
    """List the steps of a plan with what is known of each."""
    width = shown_widths(learner)
    rows = []
    for step, option, arc in zip(step_names(mdp), options_of(mdp, path), path.tolist()):
        numbers = rounded([learner.means[arc], width[arc]])
        rows.append(
            {
                "step": step,
                "option": option,
                "arc": arc,
                "mean": numbers[0],
                "width": numbers[1],
                "visits": int(learner.visits[arc]),
                "known": bool(mdp.is_known[arc]),
            }
        )
    return rows


def sentence(mdp: MDP, learner: Any, now: Status) -> str:
    """Return one sentence that states what is proven right now."""
    settled, gap, ahead = now.settled, now.certified_gap, now.ahead
    sure, proven = f"with probability at least {1 - learner.delta:.6g}", "Proven"
    if now.findings:
        sure += ", if what was declared of the scores holds; they contradict it"
        proven = "In doubt"
    trials = many(settled, "trial")
    if not isfinite(gap):
        if settled == 0 and ahead:
            results = "1 result waits" if ahead == 1 else f"{ahead:,} results wait"
            return f"Nothing is proven yet: {results} for trial 1, which still runs."
        if settled == 0:
            return "Nothing is proven yet: no trial has been reported."
        untried = int(((learner.visits == 0) & ~mdp.is_known & learner.active).sum())
        if untried:
            scores = "1 option has" if untried == 1 else f"{untried:,} options have"
            return f"Nothing is proven yet after {trials}: {scores} never been scored."
        return f"Nothing is proven yet after {trials}."
    if gap == 0.0:
        return f"{proven} after {trials}: this plan is the best of all, {sure}."
    what = f"this plan is within {rounded_up(gap)} of the best of all"
    what += "" if mdp.scored is None else ", if effects add up"
    if learner.stopped:
        return f"{proven} after {trials}: {what}, {sure}. That is what was asked for ({learner.epsilon:g})."
    return f"{proven} so far, after {trials}: {what}, {sure}. Asked for: {learner.epsilon:g}."


def warnings(mdp: MDP, fold: Fold, findings: Sequence[str]) -> list[str]:
    """List what needs somebody's attention: scores that contradict what was declared, options that keep failing."""
    learner: Any = fold.view
    found = list(findings[:MOST_FINDINGS_SHOWN])
    if len(findings) > MOST_FINDINGS_SHOWN:
        found.append(f"and {many(len(findings) - MOST_FINDINGS_SHOWN, 'more finding')}")
    for arc, count in learner.failing()[:5] if mdp.scored is None else ():
        found.append(
            f"{mdp.action_label(arc)} at {step_names(mdp)[stage_of(mdp, arc)]} failed {count} times in a row; "
            f"exclude it if it cannot be run"
        )
    if fold.enough() and mdp.scored is None:
        found.append(
            f"{len(fold.ahead):,} results suffice once trial {fold.prefix + 1} is settled; report it, or cancel it if "
            f"nobody runs it any more"
        )
    if fold.tally.refused:
        found.append(f"scores of trials left out as too far apart to decide anything: {fold.tally.refused:,}")
    return found


def arc_values(learner: Any, arcs: IntArray) -> dict[str, Any]:
    """Return what is known of some arcs, column by column."""
    mdp = learner.mdp
    state = np.where(learner.active, OPEN_ARC, RULED_OUT_ARC)
    state = np.where(mdp.is_known & learner.active, KNOWN_ARC, state)
    state = np.where(learner.excluded, EXCLUDED_ARC, state)
    width = shown_widths(learner)
    return {
        "arc": arcs.tolist(),
        "visits": learner.visits[arcs].tolist(),
        "mean": rounded(learner.means[arcs]),
        "width": rounded(width[arcs], 4),
        "state": state[arcs].tolist(),
        "failures": learner.failures[arcs].tolist(),
    }


def chosen_arcs(learner: Any, plans: list[list[int]], first: int, last: int) -> IntArray:
    """Choose the arcs to draw of stages first..last: all, or of each stage the plans' and those visited most."""
    mdp = learner.mdp
    low, high = int(mdp.stage_arc[first]), int(mdp.stage_arc[last + 1])
    if high - low <= MOST_ARCS_SENT:
        return np.arange(low, high)
    rank = learner.visits.astype(float) + np.where(learner.active, 0.5, 0.0)
    for plan in plans:
        rank[plan] = np.inf
    share = MOST_ARCS_SENT // (last - first + 1)
    kept = []
    for stage in range(first, last + 1):
        begin, end = int(mdp.stage_arc[stage]), int(mdp.stage_arc[stage + 1])
        kept.append(begin + np.argsort(-rank[begin:end], kind="stable")[: max(share, len(plans))])
    return np.sort(np.concatenate(kept))


def graph(mdp: MDP, arcs: IntArray) -> dict[str, Any]:
    """Return the nodes and names of the arcs to draw."""
    nodes = np.unique(np.concatenate([mdp.source[arcs], mdp.target[arcs]])).tolist()
    stage_of, names = np.searchsorted(mdp.stage_node, nodes, side="right") - 1, state_names(mdp)
    return {
        "steps": list(step_names(mdp)),
        "direction": mdp.direction,
        "unit": unit_of(mdp),
        "n_arcs": mdp.n_arcs,
        "nodes": {
            "node": nodes,
            "stage": stage_of.tolist(),
            "label": ["end" if node == mdp.n_nodes else names[node][:LONGEST_DRAWN_LABEL] for node in nodes],
        },
        "source": mdp.source[arcs].tolist(),
        "target": mdp.target[arcs].tolist(),
        "label": [mdp.action_label(int(arc))[:LONGEST_DRAWN_LABEL] for arc in arcs],
    }


def trial(mdp: MDP, row: TrialRow) -> dict[str, Any]:
    """Return a trial as a row of a table."""
    found = row._asdict()
    for name in ("attended", "request", "change"):
        del found[name]
    named = {str(step): str(option) for step, option in mdp.plan(row.path).items()}
    total = sum(row.rewards) if row.state == "complete" else None
    return {**found, "plan": named, "options": options_of(mdp, row.path), "total": total}


def trials_page(
    study: Study, fold: Fold, log: Reading, before: int | None, limit: int, state: str | None, text: str, sort: str = ""
) -> dict[str, Any]:
    """Return trials, newest first, below a number, or by their total; of the last SCANNED ones with a filter."""
    mdp, last = study.mdp, log.last_number
    top = last if before is None or sort else min(last, before - 1)
    low = max(1, top - SCANNED + 1)
    rows = newest(log, low, top)
    if state == "running":  # every running trial is in the fold's window
        rows, low = reversed([row for _, row in sorted(fold.window.items()) if row.number <= top]), 1
    matching = (row for row in rows if _matches(mdp, row, state, text))
    if sort:
        complete = [row for row in matching if row.state == "complete"]
        found = sorted(complete, key=lambda row: sum(row.rewards), reverse=sort == "total")[:limit]
    else:
        found = list(islice(matching, limit + 1))
        if len(found) > limit:
            low = found[limit - 1].number
    return {
        "trials": [plain(trial(mdp, row)) for row in found[:limit]],
        "total": last,
        "next": low if low > 1 and not sort else None,
        "searched": [low, top] if top else None,
    }


def newest(log: Reading, first: int, last: int) -> Iterator[TrialRow]:
    """Read trials, the last one first."""
    size = 64
    while first <= last:
        low = max(first, last - size + 1)
        yield from reversed(log.trials(low, last - low + 1))
        last, size = low - 1, 1_000


def scores_of(mdp: MDP, log: Reading, stage: int, option: str) -> dict[str, Any]:
    """Return the scores that an option of a step had in the last SCANNED trials."""
    last = log.last_number
    first = max(1, last - SCANNED + 1)
    scored = next((scored for scored in mdp.score_stages if scored >= stage), stage)  # whose score covers it
    rows = (row for row in newest(log, first, last) if scored < len(row.rewards))
    found = [row.rewards[scored] for row in rows if mdp.action_label(row.path[stage]) == option]
    return {"scores": rounded(found), "searched": last - first + 1, "all": first == 1}


def pace_of(log: Reading) -> list[list[float | None]]:
    """Return how many results came in by when and what they cost: [seconds, results, spent or null] each.

    The database adds up: one row for each of MOST_PACE_POINTS stretches of time.
    """
    first, last = log.run(PACE_ENDS).one()
    if first is None:
        return []
    points: list[list[float | None]] = []
    results, spent = 0, None
    for told, count, cost in log.run(PACE, the_first=first, the_stretch=(last - first) / MOST_PACE_POINTS or 1.0):
        results += count
        spent = spent if cost is None else (spent or 0.0) + cost
        points.append([told, results, spent])
    return points


def trials_asked(study: Study, log: Reading, request: str) -> dict[str, Any]:
    """Return the trials that a request asked for."""
    rows = log.trials_of_request(request)
    return {"trials": [plain(trial(study.mdp, row)) for row in rows], "total": log.last_number, "next": None}


def _matches(mdp: MDP, row: TrialRow, state: str | None, wanted: str) -> bool:
    wanted = wanted.casefold()
    if state is not None and row.state != state:
        return False
    if not wanted:
        return True
    words = [row.worker, row.note, row.source, *row.cases, *(mdp.action_label(arc) for arc in row.path)]
    return any(wanted in word.casefold() for word in words)


def explain_challengers(learner: Any, count: int) -> list[dict[str, Any]]:
    """Return the strongest challengers of the current plan, and where they differ from it."""
    rivals = challengers_data(learner, count).rivals
    return [plain({**rival._asdict(), "differs": [one._asdict() for one in rival.differs]}) for rival in rivals]


def rounded(values: Any, digits: int = 6) -> list[float | None]:
    """Return numbers as a list, to so many significant digits: what a drawing can show."""
    return [None if not isfinite(x) else float(f"{x:.{digits}g}") for x in np.asarray(values, dtype=float).tolist()]
