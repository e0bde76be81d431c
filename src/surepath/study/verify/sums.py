"""Whether the log gives the sums, scores, counts and the hash that a certificate holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from surepath._types import BoolArray
from surepath.study.certificate.replay import PlainLog, walk
from surepath.study.plain_bound.checker import checker_of
from surepath.study.plain_bound.evidence import Sums
from surepath.study.tally import LEFT_OUT, MARKED
from surepath.study.verify.consistency import check_scores
from surepath.study.verify.facts import Facts, sums_of, whole
from surepath.study.verify.log import Log


def check_log(content: Mapping[str, Any], facts: Facts, logged: Log, wrong: list[str]) -> Facts:
    """Compute sums, scores, counts and the hash again from the trials.

    Returns the same facts, with the scores of the log where noise is learned and they were too many for the file.
    """
    for part, mine in (("settings", content["settings"]), ("options", content["study"]["options"])):
        if part in logged.frozen and logged.frozen[part] != mine:
            wrong.append(f"the study has other {part}")
    if logged.frozen.get("problem_hash", content["problem_hash"]) != content["problem_hash"]:
        wrong.append("the study is about another problem")
    rows, actions = logged.rows(facts.prefix), facts.actions
    if logged.actions is not None:
        if [a[:4] for a in logged.actions[: len(actions)]] != [a[:4] for a in actions]:
            wrong.append("the study's exclusions and tightenings are not those of the certificate")
        later = [a.number for a in logged.actions[len(actions) :] if a.kind == "exclude"]
        if later:
            wrong.append("options were excluded since: this certificate is about plans that were feasible then")
    checker, _ = checker_of(facts.mdp, content["settings"], facts.feasible)
    keep, epsilon = checker is not None and checker.needs_scores, float(content["settings"]["epsilon"])
    log = PlainLog(facts.mdp, facts.seed, facts.on_failure, epsilon, keep)
    steps = [sums_of(step, facts.mdp, None) for step in content["proof"].get("moments", [])]
    numbers = [whole(step["trials"]) for step in content["proof"].get("moments", [])]
    number, found, exact = 0, set[int](), content["settings"]["name"] == "Challenger"
    for number, _ in walk(log, None, rows, actions[: whole(content["log"]["actions"])]):
        for i in (i for i, at in enumerate(numbers) if at == number):
            found.add(i)
            if not _same(steps[i], log, exact).all():
                wrong.append(f"the trials up to {number} do not give the sums of that moment")
    if number != facts.prefix:
        wrong.append(f"the log has {number} settled trials in a row; the certificate is about {facts.prefix}")
        return facts
    wrong += [f"there is no moment after trial {at}" for i, at in enumerate(numbers) if i not in found]
    if log.digest != content["log"]["digest"]:
        wrong.append("the hash over the log differs: these are not the trials that the certificate is about")
    for arc in np.flatnonzero(~_same(facts.seen, log, exact))[:1].tolist():
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
    if not keep or wrong:
        return facts
    assert log.scores is not None
    if facts.seen.scores is None:
        held = replace(facts.seen, scores=log.scores)
        check_scores(facts.mdp, held, wrong)
        return replace(facts, seen=held)
    for arc, (mine, theirs) in enumerate(zip(facts.seen.scores.gains, log.scores.gains)):
        if mine != theirs:
            wrong.append(f"the trials give other scores of {facts.mdp.describe_arc(arc)}")
            break
    return facts


def _same(stated: Sums, log: PlainLog, exact: bool) -> BoolArray:
    """Compare sums arc by arc with those of the log; some learners add gains up from 0 instead of from the first gain.

    What rounding may do is judged by the gains of the log alone: a certificate's own numbers could excuse anything.
    """
    own = log.seen
    same = (stated.visits == own.visits) & (stated.origin == own.origin) & (stated.sums == own.sums)
    if exact:
        return np.asarray(same)
    low, high = log.sizes.low, log.sizes.high
    largest = np.where(high >= low, np.maximum(np.abs(low), np.abs(high)), 0.0)
    scale = own.visits * np.repeat(largest, np.diff(log.mdp.stage_arc))
    off = (stated.visits * stated.origin + stated.sums) - (own.visits * own.origin + own.sums)
    begun = (stated.origin == 0.0) | (stated.origin == own.origin)
    return np.asarray(same | ((stated.visits == own.visits) & begun & (np.abs(off) <= 1e-12 * scale)))
