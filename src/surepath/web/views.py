"""The status of a study as the page shows it, in plain values."""

from __future__ import annotations

from collections import Counter
from math import isfinite
from typing import Any

import numpy as np

from surepath._numbers import rounded_up
from surepath._text import many, words_of_users
from surepath.learners.plays import PATIENCE
from surepath.learners.proven import proven_gap
from surepath.model.costs import in_words
from surepath.model.mdp import MDP
from surepath.model.plans import step_in_words
from surepath.plots.intervals import half_width
from surepath.study.fold import Fold
from surepath.study.status.status import NOTED, last_failure
from surepath.study.storage.contract import Reading
from surepath.study.storage.records import TrialRow
from surepath.study.study import Study
from surepath.study.trial import FAILED, PARTIAL, RUNNING, STATES, WAITING, WORST
from surepath.web.plain import plain, rounded
from surepath.web.trial_pages import trial

MOST_LISTED = 200  # running trials in a status
MOST_FINDINGS_SHOWN = 3  # that a page shows; all are in the status


@words_of_users()
def status(study: Study, fold: Fold, log: Reading) -> dict[str, Any]:
    """Return what is proven now, in numbers and in one sentence, and who works on it."""
    learner: Any = fold.view
    path, gap = learner.recommend(), proven_gap(learner)
    running = sorted(row for row in fold.window.values() if row.state == RUNNING)
    ahead = Counter(row.state for row in fold.window.values())
    waiting = len(log.queue(10_001))
    found: dict[str, Any] = plain(
        {
            "study": study.name,
            "learner": learner.name,
            "created": study.record.created,
            "version": study.record.version,
            "change": fold.change,
            "digest": fold.digest,
            "now": log.now(),
            "trials": log.last_number(),
            "settled": fold.prefix,
            "ahead": len(fold.window) - len(running),
            "enough": fold.enough(),
            "waiting": waiting,
            "states": {name: fold.tally.states.get(name, 0) + ahead[name] for name in STATES} | {WAITING: waiting},
            "evidence": fold.tally.scored,
            "sources": fold.tally.sources,
            "done": bool(learner.stopped),
            "epsilon": learner.epsilon,
            "delta": learner.delta,
            "certified_gap": gap,
            "best_path": path,
            "best_plan": plan_rows(study.mdp, learner, path),
            "estimate": float(learner.means[path].sum()),
            "direction": study.mdp.direction,
            "steps": study.mdp.horizon,
            "options": study.mdp.n_arcs,
            "plans_log": study.mdp.log_paths,
            "untried": int(((learner.visits == 0) & ~study.mdp.is_known & learner.active).sum()),
            "ruled_out": int((~learner.active).sum()),
            "on_failure": study.options.on_failure,
            "lease": study.options.lease,
            "sentence": sentence(study.mdp, learner, fold.prefix, gap, len(fold.window) - len(running)),
            "findings": [finding.message for finding in learner.findings()],
            "last_failure": last_failure(log) if any(fold.tally.states[n] + ahead[n] for n in NOTED) else "",
            "warnings": warnings(study.mdp, fold),
            "running": [trial(study.mdp, row) for row in running[:MOST_LISTED]],
            "workers": workers(running, log.now()),
            **({} if fold.spent is None else {"spent": fold.spent, "worth": in_words(study.mdp)}),
        }
    )
    return found


def plan_rows(mdp: MDP, learner: Any, path: Any) -> list[dict[str, Any]]:
    """List the steps of a plan with what is known of each."""
    width = half_width(learner.visits, learner.sigma, learner.delta)
    rows = []
    for (step, option), arc in zip(mdp.plan(path).items(), path.tolist()):
        numbers = rounded([learner.means[arc], width[arc]])
        rows.append(
            {
                "step": str(step),
                "option": str(option),
                "arc": arc,
                "mean": numbers[0],
                "width": numbers[1],
                "visits": int(learner.visits[arc]),
                "known": bool(mdp.is_known[arc]),
            }
        )
    return rows


def sentence(mdp: MDP, learner: Any, settled: int, gap: float, ahead: int = 0) -> str:
    """Return one sentence that states what is proven right now; `ahead` results wait for an earlier trial."""
    sure, proven = f"with probability at least {1 - learner.delta:.6g}", "Proven"
    if learner.findings():
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
    if learner.stopped:
        return f"{proven} after {trials}: {what}, {sure}. That is what was asked for ({learner.epsilon:g})."
    return f"{proven} so far, after {trials}: {what}, {sure}. Asked for: {learner.epsilon:g}."


@words_of_users()
def warnings(mdp: MDP, fold: Fold) -> list[str]:
    """List what people should know: noise that differs from what was declared, failures, exclusions."""
    learner: Any = fold.view
    messages = [finding.message for finding in sorted(learner.findings(), key=lambda one: one.p_value)]
    found = messages[:MOST_FINDINGS_SHOWN]
    if len(messages) > MOST_FINDINGS_SHOWN:
        found.append(f"and {many(len(messages) - MOST_FINDINGS_SHOWN, 'more finding')}")
    failing = np.flatnonzero((learner._failures.in_a_row >= PATIENCE) & learner.active)
    for arc in failing[:5].tolist():
        stage = int(np.searchsorted(mdp.stage_arc, arc, side="right")) - 1
        found.append(
            f"{mdp.action_label(arc)} at {step_in_words(mdp, stage)} failed "
            f"{int(learner._failures.in_a_row[arc])} times in a row; exclude it if it cannot be run"
        )
    if fold.enough():
        found.append(
            f"{len(fold.ahead):,} results suffice once trial {fold.prefix + 1} is settled; report it, or cancel it if "
            f"nobody runs it any more"
        )
    states, worst = fold.tally.states, fold.on_failure == WORST  # then a step that failed has its worst score
    if worst and (failed := states[FAILED] + states[PARTIAL]):
        trials = many(fold.prefix, "trial")
        found.append(f"Of {trials}, {failed:,} failed: the step at which one failed counts as its worst score")
    names = ("expired", "cancelled") if worst else ("failed", "partial", "expired", "cancelled")
    lost = {name: states[name] for name in names if states[name]}
    if lost:
        counts = ", ".join(f"{count:,} {name}" for name, count in lost.items())
        counts += (
            f" ({many(fold.tally.sources['late'], 'result')} came too late to count)"
            if fold.tally.sources["late"]
            else ""
        )
        found.append(
            f"Of {many(fold.prefix, 'trial')}, {counts}: the proof assumes that this did not depend on their scores"
        )
    if fold.tally.refused:
        found.append(f"scores of trials left out as too far apart to decide anything: {fold.tally.refused:,}")
    if learner.excluded.any():
        out = int(learner.excluded.sum())
        are = "1 option is" if out == 1 else f"{out:,} options are"
        found.append(f"{are} excluded as infeasible; the proof is over the rest")
    return found


def workers(running: list[TrialRow], now: float) -> list[dict[str, Any]]:
    """List who has running trials, and when the first of their leases ends."""
    found: dict[str, dict[str, Any]] = {}
    for row in running:
        entry = found.setdefault(
            row.worker, {"worker": row.worker, "trials": 0, "lease": row.lease, "asked": row.asked}
        )
        entry["trials"] += 1
        entry["lease"] = min(entry["lease"], row.lease)
        entry["asked"] = max(entry["asked"], row.asked)
    for entry in found.values():
        entry["left"] = entry["lease"] - now
    return sorted(found.values(), key=lambda entry: str(entry["worker"]))[:MOST_LISTED]
