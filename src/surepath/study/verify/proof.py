"""Whether the evidence of a certificate proves its gap."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._types import BoolArray
from surepath.study.certificate.claim import LOG, MOMENTS, NOTHING, REPLAY, SCORES, SUMS
from surepath.study.certificate.replay import PlainLog, moments, walk
from surepath.study.fold import Fold
from surepath.study.plain_bound.checker import UNCHECKED, Checker, checker_of
from surepath.study.plain_bound.evidence import Sums
from surepath.study.verify.consistency import check_scores
from surepath.study.verify.facts import Facts, arcs_of, sums_of, whole
from surepath.study.verify.log import Log

if TYPE_CHECKING:
    from surepath.study.verify.verdict import Verdict

EARLIER = "it was written by a version that checked learned noise by a replay of the log"


def check_proof(content: Mapping[str, Any], facts: Facts, logged: Log | None, verdict: Verdict) -> None:
    """Check that the evidence proves the gap, by computing the bound again."""
    gap, proof = content["certified_gap"], content["proof"]
    by, wrong = proof["by"], verdict.differences
    if gap is None or by == NOTHING:
        if gap is not None or by != NOTHING:
            wrong.append(
                "a certificate with nothing proven must state no gap, and one with a gap must say what proves it"
            )
        verdict.notes.append("nothing is claimed to be proven yet")
        return
    checker, why = checker_of(facts.mdp, content["settings"], facts.feasible)
    if checker is None or by == REPLAY:
        if checker is not None and checker.needs_scores:
            _check_by_replay(content, facts, logged, verdict, EARLIER)
        elif not why:
            wrong.append("this gap needs no replay, but the certificate does not say that the sums prove it")
        elif why.startswith(UNCHECKED):
            wrong.append(why)
        else:
            _check_by_replay(content, facts, logged, verdict, why)
        return
    from_what = "scores" if checker.needs_scores else "sums"
    if by not in ((SCORES if checker.needs_scores else SUMS), MOMENTS, LOG):
        wrong.append(f"this version does not know a proof by {by!r} for these settings")
        return
    if checker.needs_scores and facts.seen.scores is None and logged is None and by == LOG:
        verdict.answer = "open"
        wrong.append(f"the scores were too many for a file; {_needs_log(content, facts)}")
        return
    if checker.needs_scores != (facts.seen.scores is not None):
        wrong.append("the scores are evidence where noise is learned, and there alone")
        return
    alive = facts.feasible
    if by == MOMENTS:
        alive = _check_moments(content, facts, checker, wrong)
    elif by == LOG:
        claimed = np.zeros(facts.mdp.n_arcs, dtype=bool)
        claimed[arcs_of(proof["ruled_out"], facts.mdp)] = True
        if logged is None:
            alive = facts.feasible & ~claimed
            verdict.answer = "open"
            wrong.append(
                f"the {from_what} alone do not prove it: {int(claimed.sum())} options are said to have been ruled out "
                f"earlier, which the trials themselves must show; {_needs_log(content, facts)}"
            )
        elif claimed.any():
            alive = _check_ruled_out(facts, logged, checker, content, claimed, wrong)
    if not checker.proves(facts.seen, facts.path, alive, gap):
        verdict.answer = "no"
        verdict.recomputed_gap = checker.gap(facts.seen, facts.path, alive)
        said = "prove nothing" if verdict.recomputed_gap == np.inf else f"prove a gap of {verdict.recomputed_gap:.6g}"
        wrong.append(f"certified_gap is {gap!r}, but the {from_what} {said}")
    elif by in (SUMS, SCORES):
        verdict.notes.append(f"the bound was computed again: the {from_what} alone prove the gap")
    elif by == MOMENTS and not wrong:
        verdict.notes.append(
            f"the bound was computed again: the {from_what} prove the gap, {int((facts.feasible & ~alive).sum())} "
            f"options being ruled out by those of {len(proof['moments'])} earlier moments"
        )


def _needs_log(content: Mapping[str, Any], facts: Facts) -> str:
    file, name = shlex.quote(facts.file), shlex.quote(str(content["study"]["name"]))
    return f"surepath verify {file} --storage URL --name {name}, or --log FILE with an exported log, checks that"


def _check_moments(content: Mapping[str, Any], facts: Facts, checker: Checker, wrong: list[str]) -> BoolArray:
    """Check each step of what was ruled out, from the sums of its moment."""
    zeros = np.zeros(facts.mdp.n_arcs)
    alive, before = facts.feasible.copy(), Sums(zeros.astype(np.int64), zeros, zeros)
    last = max([a.after for a in facts.actions if a.kind == "exclude"], default=0)
    for step in content["proof"]["moments"]:
        path = facts.mdp.check_path([whole(arc) for arc in step["path"]])
        seen = sums_of(step, facts.mdp, facts.seen.scores)
        _check_growth(before, seen, wrong)
        if seen.scores is not None and (seen.visits <= facts.seen.visits).all():
            check_scores(facts.mdp, seen, wrong)
        if wrong:
            return alive
        if not last <= whole(step["trials"]) <= facts.prefix or facts.excluded[path].any():
            wrong.append(f"the moment after trial {step['trials']} does not belong to this proof")
        claimed = np.zeros(facts.mdp.n_arcs, dtype=bool)
        claimed[arcs_of(step["ruled_out"], facts.mdp)] = True
        extra = claimed & ~checker.ruled_out(seen, path, alive)
        if extra.any():
            where = facts.mdp.describe_arc(int(np.flatnonzero(extra)[0]))
            wrong.append(f"after trial {step['trials']} the sums do not rule out {where}")
        alive, before = alive & ~claimed, seen
    _check_growth(before, facts.seen, wrong)
    return alive


def _check_growth(before: Sums, after: Sums, wrong: list[str]) -> None:
    """Check that sums of a later moment can follow from those of an earlier one."""
    seen = before.visits > 0
    same = seen & (before.visits == after.visits)
    if (
        (after.visits < before.visits).any()
        or (after.origin[seen] != before.origin[seen]).any()
        or (after.sums[same] != before.sums[same]).any()
    ):
        wrong.append("the sums of an earlier moment cannot have grown into those of a later one")


def _fold(content: Mapping[str, Any], facts: Facts) -> Fold:
    return Fold(facts.mdp, dict(content["settings"]), facts.on_failure, facts.seed)


def _check_ruled_out(
    facts: Facts, logged: Log, checker: Checker, content: Mapping[str, Any], claimed: BoolArray, wrong: list[str]
) -> BoolArray:
    """Replay the log, and let the plain implementation confirm what was ruled out on the way."""
    actions = facts.actions[: whole(content["log"]["actions"])]
    alive = facts.feasible.copy()
    for step in moments(_fold(content, facts), logged.rows(facts.prefix), actions, checker):
        alive[step["ruled_out"]] = False
    if (claimed & alive).any():
        wrong.append(f"the log does not rule out {facts.mdp.describe_arc(int(np.flatnonzero(claimed & alive)[0]))}")
    return alive


def _check_by_replay(content: Mapping[str, Any], facts: Facts, logged: Log | None, verdict: Verdict, why: str) -> None:
    """Replay the log with the learner itself, where nothing else can check it."""
    wrong = verdict.differences
    if logged is None:
        verdict.answer = "open"
        wrong.append(f"{why}; {_needs_log(content, facts)}")
        return
    fold, plain = (
        _fold(content, facts),
        PlainLog(facts.mdp, facts.seed, facts.on_failure, float(content["settings"]["epsilon"])),
    )
    for _ in walk(plain, fold, logged.rows(facts.prefix), facts.actions[: whole(content["log"]["actions"])]):
        pass
    learner = fold.learner
    if not np.array_equal(learner.recommend(), facts.path):
        wrong.append("a replay of the log recommends another plan")
    elif not learner.certified_gap() <= content["certified_gap"]:
        wrong.append(f"a replay of the log proves a gap of {learner.certified_gap():.6g} only")
    else:
        verdict.notes.append("the log was replayed with the learner itself: it proves this plan and this gap")
