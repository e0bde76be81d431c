"""Whether the sums of a certificate prove its gap, and whether the log gives these sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._types import BoolArray
from surepath.study.certificate_proof import LOG, MOMENTS, NOTHING, REPLAY, SUMS
from surepath.study.fold import Fold
from surepath.study.plain_bound_entries import Sums
from surepath.study.plain_bound_of import UNCHECKED, Checker, checker_of
from surepath.study.replay import PlainLog, moments, walk
from surepath.study.tally import LEFT_OUT, MARKED
from surepath.study.verify_file import Facts, arcs_of, sums_of, whole
from surepath.study.verify_log import Log

if TYPE_CHECKING:
    from surepath.study.verify import Verdict

NEEDS_LOG = "surepath verify {file} --storage URL --name {name}, or --log FILE with an exported log, checks that"


def check_proof(content: Mapping[str, Any], facts: Facts, told: Log | None, verdict: Verdict) -> None:
    """Compute the bound again."""
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
        if not why:
            wrong.append("this gap needs no replay, but the certificate does not say that the sums prove it")
        elif why.startswith(UNCHECKED):
            wrong.append(why)
        else:
            _check_by_replay(content, facts, told, verdict, why)
        return
    alive = facts.feasible
    if by == MOMENTS:
        alive = _check_moments(content, facts, checker, wrong)
    elif by == LOG:
        claimed = np.zeros(facts.mdp.n_arcs, dtype=bool)
        claimed[arcs_of(proof["ruled_out"], facts.mdp)] = True
        if told is None:
            alive = facts.feasible & ~claimed
            verdict.answer = "open"
            wrong.append(
                f"the sums alone do not prove it: {int(claimed.sum())} options are said to have been ruled out "
                "earlier, which the trials themselves must show; "
                + NEEDS_LOG.format(file="certificate.json", name=content["study"]["name"])
            )
        else:
            alive = _check_ruled_out(facts, told, checker, content, claimed, wrong)
    elif by != SUMS:
        wrong.append(f"this version does not know a proof by {by!r}")
        return
    if not checker.proves(facts.seen, facts.path, alive, gap):
        verdict.answer = "no"
        verdict.recomputed_gap = checker.gap(facts.seen, facts.path, alive)
        said = "prove nothing" if verdict.recomputed_gap == np.inf else f"prove a gap of {verdict.recomputed_gap:.6g}"
        wrong.append(f"certified_gap is {gap!r}, but the sums {said}")
    elif by == SUMS:
        verdict.notes.append("the bound was computed again: the sums alone prove the gap")
    elif by == MOMENTS and not wrong:
        verdict.notes.append(
            f"the bound was computed again: the sums prove the gap, {int((facts.feasible & ~alive).sum())} options "
            f"being ruled out by the sums of {len(proof['moments'])} earlier moments"
        )


def _check_moments(content: Mapping[str, Any], facts: Facts, checker: Checker, wrong: list[str]) -> BoolArray:
    """Check each step of what was ruled out, from the sums of its moment."""
    zeros = np.zeros(facts.mdp.n_arcs)
    alive, before = facts.feasible.copy(), Sums(zeros.astype(np.int64), zeros, zeros)
    last = max([a.after for a in facts.actions if a.kind == "exclude"], default=0)
    for step in content["proof"]["moments"]:
        seen, path = sums_of(step, facts.mdp), facts.mdp.check_path([whole(arc) for arc in step["path"]])
        _check_growth(before, seen, wrong)
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
    """Sums of a later moment must be able to follow from those of an earlier one."""
    seen = before.visits > 0
    same = seen & (before.visits == after.visits)
    if (
        (after.visits < before.visits).any()
        or (after.origin[seen] != before.origin[seen]).any()
        or (after.sums[same] != before.sums[same]).any()
    ):
        wrong.append("the sums of an earlier moment cannot have grown into those of a later one")


def check_log(content: Mapping[str, Any], facts: Facts, told: Log, wrong: list[str]) -> None:
    """Compute sums, counts and the hash again from the trials."""
    for part, mine in (("settings", content["settings"]), ("options", content["study"]["options"])):
        if part in told.frozen and told.frozen[part] != mine:
            wrong.append(f"the study has other {part}")
    if told.frozen.get("problem_hash", content["problem_hash"]) != content["problem_hash"]:
        wrong.append("the study is about another problem")
    rows, actions = told.rows(facts.prefix), facts.actions
    if told.actions is not None:
        if [a[:4] for a in told.actions[: len(actions)]] != [a[:4] for a in actions]:
            wrong.append("the study's exclusions and tightenings are not those of the certificate")
        later = [a.number for a in told.actions[len(actions) :] if a.kind == "exclude"]
        if later:
            wrong.append("options were excluded since: this certificate is about plans that were feasible then")
    log = PlainLog(facts.mdp, facts.seed, facts.on_failure, float(content["settings"]["epsilon"]))
    steps = {whole(step["trials"]): step for step in content["proof"].get("moments", [])}
    number = 0
    for number, _ in walk(log, None, rows, actions[: whole(content["log"]["actions"])]):
        if number in steps:
            step = sums_of(steps.pop(number), facts.mdp)
            if not _same(step, log.seen).all():
                wrong.append(f"the trials up to {number} do not give the sums of that moment")
    if number != facts.prefix:
        wrong.append(f"the log has {number} settled trials in a row; the certificate is about {facts.prefix}")
        return
    if log.digest != content["log"]["digest"]:
        wrong.append("the hash over the log differs: these are not the trials that the certificate is about")
    for arc in np.flatnonzero(~_same(facts.seen, log.seen))[:1].tolist():
        total = float(facts.mdp.sign * (log.visits[arc] * log.origin[arc] + log.sums[arc]))
        wrong.append(
            f"the trials give other sums: {facts.mdp.describe_arc(arc)} has {int(log.visits[arc])} scores, "
            f"in all {total!r}"
        )
    tally = log.tally
    stated = content["trials"]
    if tally.spending is not None and tally.spending.total != stated["spent"]:
        wrong.append(f"the trials cost {tally.spending.total!r}, the certificate says {stated['spent']!r}")
    counts = {**tally.states, **{f"from {name}": n for name, n in tally.sources.items()}, "refused": tally.refused}
    stated = {
        **stated["states"],
        **{f"from {k}": n for k, n in stated["sources"].items()},
        "refused": stated["refused"],
    }
    wrong += [
        f"the log has {counts[k]} {k} trials, the certificate {stated.get(k)}"
        for k in counts
        if counts[k] != stated.get(k)
    ]
    for names, arrays in ((LEFT_OUT, tally.left_out), (MARKED, tally.marked)):
        for name, row in zip(names, arrays):
            if content["trials"]["by_arc"][name] != {str(arc): int(row[arc]) for arc in np.flatnonzero(row).tolist()}:
                wrong.append(f"the log has other {name} trials by option")


def _same(a: Sums, b: Sums) -> BoolArray:
    """Compare sums, which may have been added up from another origin, arc by arc."""
    totals = [one.visits * one.origin + one.sums for one in (a, b)]
    scale = sum(one.visits * np.abs(one.origin) + np.abs(one.sums) for one in (a, b))
    return np.asarray((a.visits == b.visits) & (np.abs(totals[0] - totals[1]) <= 1e-12 * scale))


def _fold(content: Mapping[str, Any], facts: Facts) -> Fold:
    return Fold(facts.mdp, dict(content["settings"]), facts.on_failure, facts.seed)


def _check_ruled_out(
    facts: Facts, told: Log, checker: Checker, content: Mapping[str, Any], claimed: BoolArray, wrong: list[str]
) -> BoolArray:
    """Replay the log, and let the plain implementation confirm what was ruled out on the way."""
    actions = facts.actions[: whole(content["log"]["actions"])]
    alive = facts.feasible.copy()
    for step in moments(_fold(content, facts), told.rows(facts.prefix), actions, checker):
        alive[step["ruled_out"]] = False
    if (claimed & alive).any():
        wrong.append(f"the log does not rule out {facts.mdp.describe_arc(int(np.flatnonzero(claimed & alive)[0]))}")
    return alive


def _check_by_replay(content: Mapping[str, Any], facts: Facts, told: Log | None, verdict: Verdict, why: str) -> None:
    """Replay the log with the learner itself, where nothing else can check it."""
    wrong = verdict.differences
    if told is None:
        verdict.answer = "open"
        wrong.append(f"{why}; {NEEDS_LOG.format(file='certificate.json', name=content['study']['name'])}")
        return
    fold, plain = (
        _fold(content, facts),
        PlainLog(facts.mdp, facts.seed, facts.on_failure, float(content["settings"]["epsilon"])),
    )
    for _ in walk(plain, fold, told.rows(facts.prefix), facts.actions[: whole(content["log"]["actions"])]):
        pass
    learner = fold.learner
    if not np.array_equal(learner.recommend(), facts.path):
        wrong.append("a replay of the log recommends another plan")
    elif not learner.certified_gap() <= content["certified_gap"]:
        wrong.append(f"a replay of the log proves a gap of {learner.certified_gap():.6g} only")
    else:
        verdict.notes.append("the log was replayed with the learner itself: it proves this plan and this gap")
