"""Check a certificate: from the file alone, and against the log.

From the file alone: its hash, what its parts say of each other, and the bound, computed again by the plain
implementation. With the log, sums, scores, counts and the hash over the log are computed again from the trials, and
what the log says of the study is compared. Whoever forges a certificate with a right hash must forge sums that prove
it, and those the log contradicts.

What is not finite, or larger than any score or setting may be, proves nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from surepath._checks import LARGEST, BoolArray, FloatArray, IntArray
from surepath.errors import CertificateError, LogError, SurepathError
from surepath.model.files import parse_json_problem
from surepath.model.mdp import MDP
from surepath.model.paths import on_open_paths
from surepath.verify import file
from surepath.verify.bound import KEPT_FIELDS, Kept, PlainBound, Scores, StageBound, Sums, kept_moments
from surepath.verify.log import Action, Log, Replay, in_order, is_action, largest_known, read_log, too_coarse, whole
from surepath.verify.noise import checker_of
from surepath.verify.rounds import PlainRounds, Round, read_rounds, refusal, same_in_log

MOST = 1e300  # no number of a certificate is larger
SAME_RETURN, SAME_STEP = 1e-12, 2.0**-48  # relative: what rounding may set returns apart by, and for each step
CLOSE = 1e-6  # relative: another machine may round the last digits of a warning otherwise

OF_SUMS = ("visits", "missing", "origin", "sums")

Watching = Callable[[Mapping[str, Any], MDP], Any]  # see `Replay.watch`


@dataclass
class Verdict:
    """Answer to whether a certificate holds.

    Attributes:
        answer: "yes"; "no"; or "in doubt": the arithmetic holds, but the scores contradict what it assumes.
        differences: What is wrong, or missing for a yes.
        notes: What was checked, and what a yes rests on.
        certified_gap: The gap that the certificate states, or None.
        recomputed_gap: The least gap that the sums prove, where it was needed to say what differs.
    """

    answer: str = file.NO
    differences: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    certified_gap: float | None = None
    recomputed_gap: float | None = None

    @property
    def holds(self) -> bool:
        """Return whether the certificate was confirmed."""
        return self.answer == file.YES

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return dict(self.__dict__)

    def __str__(self) -> str:
        return "\n".join([self.answer, *(f"- {line}" for line in self.differences), *self.notes])


def verify(
    certificate: str | Path | Mapping[str, Any], log: str | Path | Log | None = None, watch: Watching | None = None
) -> Verdict:
    """Check a certificate, against the log where one is given.

    Args:
        certificate: A file, or its content.
        log: An exported log (.jsonl), or plain rows.
        watch: Makes the test for contradictions with the declared noise, from settings and problem; without it the
            warnings are not computed again from the log.

    Raises:
        CertificateError: When it is not a certificate of this format, or the file of the log is no exported log.
    """
    if isinstance(certificate, Mapping):
        content = file.checked_kind(dict(certificate), "this mapping")
    else:
        content = file.read(certificate)
    verdict = Verdict()
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            _check(content, verdict, log, watch)
    except LogError:
        raise
    except Exception as error:  # whatever a forger has written there: it proves nothing
        words = str(error) if isinstance(error, SurepathError) else f"{type(error).__name__}: {error}"
        verdict.differences.append(f"the certificate cannot be read as a whole: {words}")
        verdict.answer = file.NO
    if verdict.differences and verdict.answer != file.DOUBT:
        verdict.answer = file.NO
    return verdict


def _check(content: dict[str, Any], verdict: Verdict, log: str | Path | Log | None, watch: Watching | None) -> None:
    wrong = verdict.differences
    odd = _odd_number(content)
    if odd is not None:
        raise CertificateError(f"{odd} is not a number that a certificate can hold")
    gap = content.get("certified_gap")
    verdict.certified_gap = gap if isinstance(gap, float) else None
    if content.get("sha256") != file.content_hash(content):
        wrong.append("sha256 does not match: something in the file was changed after it was written")
    facts = facts_of(content)
    _check_facts(content, facts, wrong)
    if wrong:
        return
    found = [str(warning["message"]) for warning in content["warnings"]]
    if log is not None:
        logged = log if isinstance(log, Log) else read_log(log, facts.mdp)
        _check_study(content, facts, logged, wrong)
        warned = _check_trials(content, facts, logged, watch, wrong)
        if wrong:
            return
        found = found if warned is None else warned
        verdict.notes.append(f"the log was read: {facts.prefix} trials give these sums, counts and this hash")
        if warned is None:
            verdict.notes.append("the warnings were not computed again from the log")
    verdict.answer = file.YES
    _check_proof(content, facts, verdict)
    if verdict.answer == file.YES and not wrong and content["certified_gap"] is not None:
        left_out = content["trials"]["refused"]
        if left_out:
            wrong.append(f"{left_out} trials were left out for the size of their scores")
        wrong += [f"{file.CONTRADICTED}{file.contradiction(message)}" for message in found]
        verdict.answer = file.DOUBT if wrong else file.YES


def _odd_number(value: Any) -> str | None:
    """Return the place of a number that is not finite or too large, or of what JSON does not know; None without one."""
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        found = ((key, odd) for key, item in items if (odd := _odd_number(item)) is not None)
        return next((f"{key}{', ' if ': ' in odd else ': '}{odd}" for key, odd in found), None)
    if isinstance(value, (int, float)):  # True and False among them
        return None if (abs(value) < 2**62 if isinstance(value, int) else abs(value) <= MOST) else repr(value)
    return None if value is None or isinstance(value, str) else f"{type(value).__name__} {value!r}"


# The file as arrays ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Facts:
    """A certificate as the checks read it."""

    mdp: MDP
    path: IntArray
    seen: Sums
    excluded: BoolArray
    feasible: BoolArray
    prefix: int
    actions: list[Action]
    acted: int  # how many of them count before the moment of the proof
    planned: FloatArray | None
    rounds: list[Round]  # in studies whose scores cover several steps
    seed: str
    on_failure: str


def facts_of(content: Mapping[str, Any]) -> Facts:
    """Read a certificate into arrays, or raise an error that says what is missing."""
    _fields(content, file.CERTIFICATE_FIELDS, "a certificate")
    _lists(content, "path", "actions", "warnings")
    _fields(content["log"], {"trials", "actions", "digest"}, "its log")
    _fields(content["study"], {"name", "options", "created", "version"}, "its study")
    mdp = parse_json_problem(json.dumps(content["problem"]), "its problem").mdp
    actions = []
    for action in content["actions"]:
        _fields(action, {"number", "after", "kind", "content"}, "an action")
        actions.append(Action(whole(action["number"]), whole(action["after"]), action["kind"], action["content"]))
    gone = [_arcs(one.content, mdp) for one in actions if one.kind == file.EXCLUDE]
    excluded = np.isin(np.arange(mdp.n_arcs), np.concatenate([*gone, np.zeros(0, dtype=np.int64)]))
    options, planned = content["study"]["options"], content["planned"]
    return Facts(
        mdp=mdp,
        path=mdp.check_path([whole(arc) for arc in content["path"]]),
        seen=_sums(content["evidence"], mdp, _scores(content["evidence"], mdp)),
        excluded=excluded,
        feasible=on_open_paths(mdp, ~excluded),
        prefix=whole(content["log"]["trials"]),
        actions=actions,
        acted=whole(content["log"]["actions"]),
        planned=None if planned is None else np.array([_real(share) for share in planned]),
        rounds=read_rounds(content["evidence"].get("rounds", ()), mdp),
        seed=f"{content['problem_hash']}\n{json.dumps(content['settings'])}\n{json.dumps(options)}",
        on_failure=str(options["on_failure"]),
    )


def _fields(part: Any, names: set[str], of: str) -> None:
    if not isinstance(part, Mapping) or set(part) != names:
        odd = ", ".join(sorted(map(str, set(part) ^ names))) if isinstance(part, Mapping) else repr(part)
        raise CertificateError(f"the fields of {of} are not those of this format: check {odd}")


def _lists(part: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if not isinstance(part[name], list):
            raise CertificateError(f"{name} must be a list, not {part[name]!r}")


def _sums(parts: Mapping[str, Any], mdp: MDP, scores: Scores | None) -> Sums:
    """Read visits, origin and sums, one per arc, of a moment at which these scores or the first of them were known."""
    visits, missing = (np.array([whole(n) for n in parts[name]], dtype=np.int64) for name in ("visits", "missing"))
    origin, sums = (np.array([_real(x) for x in parts[name]]) for name in ("origin", "sums"))
    if not len(visits) == len(missing) == len(origin) == len(sums) == mdp.n_arcs:
        raise CertificateError(f"{', '.join(OF_SUMS)} must have one number for each of the {mdp.n_arcs} options")
    mean = origin + sums / np.maximum(visits, 1)
    if not ((np.abs(origin) <= LARGEST) & (np.abs(mean) <= LARGEST)).all():
        raise CertificateError(f"scores must lie within {LARGEST:g} of 0")
    return Sums(visits, origin, sums, scores, missing)


def _scores(evidence: Mapping[str, Any], mdp: MDP) -> Scores | None:
    """Read the scores of each arc, where the evidence holds them."""
    more = {"scores"} & set(evidence) if mdp.scored is None else {"rounds"}
    _fields(evidence, {*OF_SUMS} | more, "the evidence")
    if "scores" not in evidence:
        return None
    if len(evidence["scores"]) != mdp.n_arcs:
        raise CertificateError(f"there must be a list of scores for each of the {mdp.n_arcs} options")
    gains = [[math.nan if score is None else _real(score) for score in some] for some in evidence["scores"]]
    if any(abs(gain) > LARGEST for some in gains for gain in some):
        raise CertificateError(f"scores must lie within {LARGEST:g} of 0")
    return Scores(mdp.n_arcs, gains)


def _arcs(values: Any, mdp: MDP) -> IntArray:
    """Read a list of arc numbers, or raise an error that names their range."""
    arcs = np.array([whole(arc) for arc in values], dtype=np.int64)
    if arcs.size and arcs.max() >= mdp.n_arcs:
        raise CertificateError(f"options are numbered from 0 to {mdp.n_arcs - 1}; got {int(arcs.max())}")
    return arcs


def _real(value: Any) -> float:
    """Read a number, or raise an error."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CertificateError(f"{value!r} is not a number")
    return float(value)


# What its parts say of each other -------------------------------------------------------------------------------------


def _check_facts(content: Mapping[str, Any], facts: Facts, wrong: list[str]) -> None:
    """Compare what is said twice, and what follows from something else."""
    mdp, settings, seen = facts.mdp, content["settings"], facts.seen
    if mdp.content_hash != content["problem_hash"]:
        wrong.append("the problem is not the one that problem_hash names")
    if content["plan"] != {str(step): str(option) for step, option in mdp.plan(facts.path).items()}:
        wrong.append("plan and path are not the same plan")
    if facts.excluded[facts.path].any():
        wrong.append("the plan uses an option that was excluded")
    gap, epsilon = content["certified_gap"], _real(content["epsilon"])
    if gap is not None and not (isinstance(gap, float) and 0 <= gap <= LARGEST):
        wrong.append(f"certified_gap must be a number of at least 0, not {gap!r}")
    if content["delta"] != settings["delta"] or not 0 < _real(content["delta"]) < 1:
        wrong.append(f"delta is {content['delta']!r}, the settings have {settings['delta']!r}")
    tightened = [_real(action.content) for action in facts.actions if action.kind == file.TIGHTEN]
    if epsilon != [_real(settings["epsilon"]), *tightened][-1] or epsilon < 0:
        wrong.append(f"epsilon is {epsilon!r}, which is not what the settings and tighten() left")
    if [action.number for action in facts.actions] != list(range(1, len(facts.actions) + 1)):
        wrong.append("the actions are not numbered 1, 2, ...")
    if facts.acted > len(facts.actions):
        wrong.append("the log is said to have more actions than are listed")
    if not {action.kind for action in facts.actions} <= file.ACTIONS:
        wrong.append("there is an action that is none of exclude, tighten, confirm and confirmed")
    for design, scores in file.confirmations(content["actions"]):
        if wanted := _confirmation(design, scores, facts, settings):
            wrong.append(wanted)
    if any(action.kind == file.EXCLUDE for action in facts.actions[facts.acted :]):
        wrong.append("an option was excluded after the moment of this proof")
    mean = _means(mdp, seen)
    largest = max(largest_known(mdp), float(np.abs(mean).max()) * (1 - 1e-9), float(np.abs(seen.origin).max()))
    if too_coarse(mdp, largest, epsilon):
        wrong.append(f"scores of size {largest:g} are too large for double precision to decide epsilon {epsilon!r}")
    if not isinstance(content["done"], bool) or (content["done"] and not reached(gap, epsilon, mdp, seen)):
        wrong.append(f"the study is said to be done, but the gap {gap!r} is not at most epsilon {epsilon!r}")
    words = [content["version"], content["created"], *(content["study"][key] for key in ("name", "created", "version"))]
    if not all(isinstance(word, str) for word in (*words, content["log"]["digest"], content["proof"]["by"])):
        wrong.append("names, versions and times must be text")
    if facts.on_failure not in ("leave-out", *([] if mdp.reward_range is None else [file.WORST])):
        wrong.append(f"a failed trial cannot count as {facts.on_failure!r}")
    _check_counts(content, facts, wrong)
    _check_visits(facts, wrong)
    if seen.scores is not None:
        if [len(some) for some in seen.scores.gains] != np.where(mdp.is_known, 0, seen.counts).tolist():
            wrong.append("there are not as many scores as visits")
        else:
            _check_scores(mdp, seen, wrong)
    for found in content["warnings"]:
        _fields(found, {"kind", "where", "declared", "seen", "p_value", "message", "advice"}, "a warning")
        numbers = [_real(found[name]) for name in ("declared", "seen", "p_value")]
        if min(numbers) < 0 or numbers[2] > 1 or found["advice"] != file.ADVICE.get(found["kind"]):
            wrong.append("the warnings are not in the words and numbers of this format")
    refused = content["trials"]["refused"]
    if refused and not any(found["kind"] == "refused" for found in content["warnings"]):
        wrong.append(f"{refused} trials could not be counted, and no warning says so")
    if not wrong:
        if content["statement"] != file.statement(content):
            wrong.append("the statement is not what the numbers say")
        if content["assumptions"] != file.assumptions(content, mdp):
            wrong.append("the assumptions are not those of these settings and counts")


def reached(gap: float | None, epsilon: float, mdp: MDP, seen: Sums) -> bool:
    """Return whether a gap is at most epsilon; where that is 0, at most what rounding may set returns apart by."""
    scale = float(np.maximum.reduceat(np.abs(_means(mdp, seen)), mdp.stage_arc[:-1]).sum())
    return gap is not None and gap <= (epsilon if epsilon > 0 else (SAME_RETURN + SAME_STEP * mdp.horizon) * scale)


def _means(mdp: MDP, seen: Sums) -> FloatArray:
    return np.where(mdp.is_known, mdp.known_gain, seen.origin + seen.sums / np.maximum(seen.visits, 1))


def _confirmation(design: Mapping[str, Any], scores: Any, facts: Facts, settings: Mapping[str, Any]) -> str:
    """Say what is wrong with a confirmation; "" where nothing is."""
    _fields(design, {"paths", "plays", "sigma", "delta"}, "a confirmation")
    mdp, plays, sigma = facts.mdp, whole(design["plays"]), _real(design["sigma"])
    paths = [mdp.check_path(path) for path in design["paths"]]
    least = np.sum(settings["sigma"]) if settings.get("noise") == "sigma" else np.inf
    if mdp.reward_range is not None:
        ends = [sum(float(end[mdp.stage_arc[stage]]) for stage in mdp.score_stages) for end in mdp.reward_range]
        least = min(least, (ends[1] - ends[0]) / 2)
    if mdp.scored is None or len(paths) < 2 or plays < 1 or not 0 < _real(design["delta"]) < 1 or sigma < least:
        return "a confirmation needs rivals, plays, a delta and the noise of whole plans"
    if not np.array_equal(paths[0], facts.path):
        return "a confirmation is of another plan"
    if scores is not None and [len(some) for some in scores] != [plays] * len(paths):
        return "a confirmation has other plays than were fixed before"
    fit = all(abs(_real(score)) <= LARGEST for some in scores or () for score in some)
    return "" if fit else "a score is too large"


def _check_counts(content: Mapping[str, Any], facts: Facts, wrong: list[str]) -> None:
    trials, mdp = content["trials"], facts.mdp
    _fields(trials, {"number", "states", "sources", "refused"}, "its trials")
    _fields(trials["states"], set(file.STATES), "trials by state")
    _fields(trials["sources"], set(file.SOURCES), "trials by source")
    states, sources = ({k: whole(n) for k, n in trials[part].items()} for part in ("states", "sources"))
    total, refused = whole(trials["number"]), whole(trials["refused"])
    if sum(states.values()) != total or sum(sources.values()) != total or total != facts.prefix:
        wrong.append(f"trials by state and by source do not add up to {total}")
    late, worst = sources["late"], facts.on_failure == file.WORST
    reported = states["complete"] + states["partial"] - late + (states["failed"] if worst else 0)
    firsts, rule = int(facts.seen.visits[: mdp.stage_arc[1]].sum()), file.missing_rule(mdp, content["settings"])
    parts = rule is None or rule.fills  # what was seen of a broken-off trial counts
    if not (reported if parts else states["complete"] - late) - refused <= firsts <= reported:
        wrong.append(f"the first step was scored {firsts} times, in {reported} trials")
    lasts = int(facts.seen.visits[mdp.stage_arc[-2] :].sum())
    if lasts < states["complete"] - refused - late or (not worst and lasts > states["complete"]):
        wrong.append(f"the last step was scored {lasts} times, in {states['complete']} complete trials")

    lacking = np.add.reduceat(facts.seen.counts - facts.seen.visits, mdp.stage_arc[:-1])
    most = states["partial"] + states["failed"] + states["expired"] if rule is not None and rule.fills else 0
    if (lacking > most).any() or (facts.seen.counts > facts.seen.visits)[mdp.is_known].any():
        wrong.append(f"a step lacks {int(lacking.max())} scores, in {most} trials that broke off and count")


def _check_visits(facts: Facts, wrong: list[str]) -> None:
    mdp, seen = facts.mdp, facts.seen
    arriving, leaving = np.zeros(mdp.n_nodes + 1, dtype=np.int64), np.zeros(mdp.n_nodes + 1, dtype=np.int64)
    np.add.at(arriving, mdp.target, seen.visits)
    np.add.at(leaving, mdp.source, seen.visits)
    if (leaving[1:-1] > arriving[1:-1]).any():
        wrong.append("some state was left more often than it was reached")
    idle = (seen.visits == 0) | mdp.unscored
    if (seen.sums[idle] != 0).any() or (seen.origin[idle & (seen.visits == 0)] != 0).any():
        wrong.append("there are sums for options that have no score")
    if (seen.sums[seen.visits == 1] != 0).any():
        wrong.append("the sum of an option with one score must count from that score")
    if mdp.reward_range is not None:
        low, high = (bound[~idle] for bound in mdp.reward_range)
        charge = np.zeros(mdp.n_arcs) if mdp.charge is None else mdp.charge
        blur = 1e-9 * (1 + np.abs(low) + np.abs(high) + charge[~idle])
        origin = seen.origin[~idle]
        for gain in (origin, origin + seen.sums[~idle] / seen.visits[~idle]):
            value = mdp.sign * (gain + charge[~idle])
            if ((value < low - blur) | (value > high + blur)).any():
                wrong.append("a mean lies outside the declared range of its scores")
                return


def _check_scores(mdp: MDP, seen: Sums, wrong: list[str]) -> None:
    """Compare the sums of a moment with its scores, and these with their declared ranges."""
    assert seen.scores is not None
    for arc in np.flatnonzero((seen.visits > 0) & ~mdp.is_known).tolist():
        gains = seen.scores.first(arc, int(seen.counts[arc]))
        gains = gains[~np.isnan(gains)]
        if len(gains) != seen.visits[arc]:
            wrong.append(f"{mdp.describe_arc(arc)} has {len(gains)} scores, but {int(seen.visits[arc])} visits")
            return
        off = float(seen.origin[arc] + seen.sums[arc] / seen.visits[arc] - gains.mean())
        if seen.origin[arc] != gains[0] or not abs(off) <= 1e-12 * float(np.abs(gains).max()):
            wrong.append(f"the scores of {mdp.describe_arc(arc)} do not add up to its sum")
        if mdp.gain_range is not None:
            low, high = (float(end[arc]) for end in mdp.gain_range)
            if not math.isnan(low) and not ((gains >= low) & (gains <= high)).all():
                wrong.append(f"a score of {mdp.describe_arc(arc)} lies outside its declared range")


# Against the log ------------------------------------------------------------------------------------------------------


def _check_study(content: Mapping[str, Any], facts: Facts, log: Log, wrong: list[str]) -> None:
    """Compare what the log says of the study: what was frozen, what was excluded and tightened, whether it is done."""
    study, actions = content["study"], facts.actions
    stated = {
        **{name: content[name] for name in ("settings", "problem", "problem_hash")},
        **{name: study[name] for name in ("name", "options", "version", "created")},
    }
    logged = {**log.study, "created": file.moment(_real(log.study["created"]))}
    for name, value in stated.items():
        other = logged[name]
        if value != other:
            words = name.replace("_", " ")
            if isinstance(value, Mapping) and isinstance(other, Mapping):
                odd = sorted(str(key) for key in {*value, *other} if value.get(key) != other.get(key))
                words = f"{', '.join(odd)} in its {name}"
            wrong.append(f"the study has another {words}")
    later = log.actions[len(actions) :]
    if log.actions[: len(actions)] != actions or any(action.after < facts.prefix for action in later):
        wrong.append("the study's exclusions and tightenings are not those of the certificate")
    if any(action.kind == file.EXCLUDE for action in later):
        wrong.append("options were excluded since: this certificate is about plans that were feasible then")
    if log.stop is not None and not later and content["certified_gap"] is not None:
        gap, epsilon = content["certified_gap"], _real(content["epsilon"])
        done = any(stop <= facts.prefix for stop in log.stop) and reached(gap, epsilon, facts.mdp, facts.seen)
        if content["done"] != done:
            wrong.append(f"after trial {facts.prefix} the study was {'' if done else 'not '}done")


def _check_trials(
    content: Mapping[str, Any], facts: Facts, log: Log, watch: Watching | None, wrong: list[str]
) -> list[str] | None:
    """Compute sums, scores, counts and the hash again from the trials; return what the warnings say, if watched."""
    mdp, settings = facts.mdp, content["settings"]
    checker = None if mdp.scored is not None else checker_of(mdp, settings, facts.planned)[0]
    keep = checker is not None and checker.needs_scores
    watching = None if watch is None or mdp.scored is not None else watch(settings, mdp)
    rule = file.missing_rule(mdp, settings)
    replay = Replay(mdp, facts.seed, facts.on_failure, _real(settings["epsilon"]), keep, watching, rule)
    steps, pairs = content["proof"].get("moments", []), dict[int, list[Kept]]()
    for row in content["proof"].get("kept", []):
        pairs.setdefault(whole(row["trials"]), []).append(row)
    wanted = {whole(step["trials"]) for step in steps}
    at = {0: replay.seen} if 0 in wanted else {}
    rows = iter(log.settled())
    plays = []
    for entry in in_order(islice(rows, facts.prefix), facts.actions[: facts.acted]):
        replay.take(entry)
        if mdp.scored is not None and not is_action(entry):
            plays.append((entry.path, replay.counted(entry)))
        if replay.trials in wanted:
            at[replay.trials] = replay.seen
        for row in pairs.pop(replay.trials, []):
            arcs = _arcs(row["pair"], mdp)
            if any(getattr(replay, name)[arcs].tolist() != row[name] for name in ("visits", "sums", "missing")):
                wrong.append(f"the trials up to {replay.trials} do not give the sums of a pair that was kept then")
    for number in pairs:
        wrong.append(f"there is no moment after trial {number} at which a pair was kept")
    if replay.trials != facts.prefix:
        wrong.append(f"the log has {replay.trials} settled trials in a row; the certificate is about {facts.prefix}")
        return None
    if mdp.scored is not None and not same_in_log(facts.rounds, plays, mdp):
        wrong.append("the trials of the log do not give these rounds")
    if replay.unfit:
        wrong.append(f"trial {replay.unfit[0]} has a score that is not finite, too large or outside its range")
    for step in steps:
        number = step["trials"]
        if number not in at:
            wrong.append(f"there is no moment after trial {number}")
        elif not _same_sums(_sums(step, mdp, None), at[number]).all():
            wrong.append(f"the trials up to {number} do not give the sums of that moment")
    if replay.digest != content["log"]["digest"]:
        wrong.append("the hash over the log differs: these are not the trials that the certificate is about")
    for arc in np.flatnonzero(~_same_sums(facts.seen, replay.seen))[:1].tolist():
        total = float(mdp.sign * (replay.visits[arc] * replay.origin[arc] + replay.sums[arc]))
        wrong.append(
            f"the trials give other sums: {mdp.describe_arc(arc)} has {int(replay.visits[arc])} scores, in all "
            f"{total!r}"
        )
    stated = content["trials"]
    counts = [(name, number, stated["states"][name]) for name, number in replay.states.items()]
    counts += [(f"from {name}", number, stated["sources"][name]) for name, number in replay.sources.items()]
    counts.append(("refused", replay.refused, stated["refused"]))
    wrong += [f"the log has {n} {name} trials, the certificate {said}" for name, n, said in counts if n != said]
    if replay.scores is not None and facts.seen.scores is not None:
        for arc, (said, logged) in enumerate(zip(facts.seen.scores.gains, replay.scores.gains)):
            if said.tobytes() != logged.tobytes():
                wrong.append(f"the trials give other scores of {mdp.describe_arc(arc)}")
                break
    if wrong or watching is None:
        return None
    return _check_warnings(content, facts, replay, rows, log, wrong)


def _same_sums(stated: Sums, own: Sums) -> BoolArray:
    names = ("visits", "counts", "origin", "sums")
    return np.asarray(np.all([getattr(stated, name) == getattr(own, name) for name in names], axis=0))


def _check_warnings(
    content: Mapping[str, Any], facts: Facts, replay: Replay, later: Any, log: Log, wrong: list[str]
) -> list[str]:
    """Compare the warnings with those of the trials, and return the messages of all that contradicts the certificate.

    It is about the trials up to a moment, but it was written at that moment or later: its warnings must be those of one
    such moment. What later trials of the log say counts too.
    """
    assert replay.watch is not None
    found = replay.watch.findings()
    same = _same_warnings(content["warnings"], found)
    for entry in in_order(later, log.actions[facts.acted :], facts.prefix):
        replay.take(entry)
        if not same:
            same = _same_warnings(content["warnings"], replay.watch.findings())
    now = replay.watch.findings()
    if not same:
        first = f": {found[0].message}" if found else ""
        wrong.append(f"the warnings are not those of the log, which gives {len(found)}{first}")
    return [one.message for one in now or found]


def _same_warnings(stated: Sequence[Mapping[str, Any]], found: Sequence[Any]) -> bool:
    return len(stated) == len(found) and all(
        one[name] == value
        if isinstance(value, str)
        else isinstance(one[name], (int, float)) and math.isclose(one[name], value, rel_tol=CLOSE, abs_tol=1e-300)
        for one, other in zip(stated, found)
        for name, value in vars(other).items()
    )


# The proof ------------------------------------------------------------------------------------------------------------


def _check_proof(content: Mapping[str, Any], facts: Facts, verdict: Verdict) -> None:
    """Check that the evidence proves the gap, by computing the bound again."""
    gap, proof, wrong = content["certified_gap"], content["proof"], verdict.differences
    by = proof["by"]
    _fields(proof, {"by"} | {file.NOTHING: set(), file.ROUNDS: {"after"}}.get(by, {"moments", "kept"}), "the proof")
    if gap is None or by == file.NOTHING:
        if gap is not None or by != file.NOTHING:
            wrong.append("a certificate must state either no gap and no proof, or both")
        verdict.notes.append("nothing is claimed to be proven yet")
        return
    if facts.mdp.scored is not None:
        _check_rounds(content, facts, verdict)
        return
    checker, why = checker_of(facts.mdp, content["settings"], facts.planned)
    if checker is None or by != file.EVIDENCE:
        wrong.append(why or f"this version does not know a proof by {by!r} for these settings")
        return
    if checker.needs_scores != (facts.seen.scores is not None):
        wrong.append("the scores are evidence where noise is learned, and there alone")
        return
    _lists(proof, "kept", "moments")
    if not _keep(proof["kept"], facts, checker, wrong):
        return
    alive = _check_moments(proof["moments"], facts, checker, wrong)
    source = "scores" if checker.needs_scores else "sums"
    if not checker.proves(facts.seen, facts.path, alive, gap):
        verdict.answer = file.NO
        verdict.recomputed_gap = checker.gap(facts.seen, facts.path, alive)
        said = f"prove a gap of {verdict.recomputed_gap:.6g}" if verdict.recomputed_gap < np.inf else "prove nothing"
        wrong.append(f"certified_gap is {gap!r}, but the {source} {said}")
    elif not wrong:
        verdict.notes.append(
            f"the bound was computed again: the {source} prove the gap, {int((facts.feasible & ~alive).sum())} options "
            f"being ruled out at {len(proof['moments'])} earlier moments, {len(proof['kept'])} pairs of options bounded"
        )


def _check_rounds(content: Mapping[str, Any], facts: Facts, verdict: Verdict) -> None:
    """Check the gap of a study in rounds, from its plans and scores."""
    gap, settings, wrong, after = content["certified_gap"], content["settings"], verdict.differences, 0
    if content["proof"]["by"] == file.ROUNDS:
        after = whole(content["proof"]["after"])
    if not 1 <= after <= len(facts.rounds) or settings["name"] != "Rounds":
        wrong.append("the gap of a study in rounds is proven by some of its rounds, and by nothing else")
        return
    if why := refusal(settings):
        wrong.append(why)
        return
    checker = PlainRounds(facts.mdp, settings, facts.planned, facts.rounds)
    if checker.wrong_design():
        wrong.append("the planned shares of the trials are not those of the optimal design")
        return
    found = checker.gap(facts.path, checker.alive_after(facts.feasible), after, gap)
    if not found <= gap * (1 + 1e-9):
        verdict.answer, verdict.recomputed_gap = file.NO, found
        said = f"prove a gap of {found:.6g}" if found < np.inf else "prove nothing"
        wrong.append(f"certified_gap is {gap!r}, but the rounds {said}")
    else:
        verdict.notes.append(f"the bound was computed again: the first {after} rounds prove the gap")


def _check_moments(
    steps: Sequence[Mapping[str, Any]], facts: Facts, checker: PlainBound, wrong: list[str]
) -> BoolArray:
    """Check each step of what was ruled out, from the sums of its moment."""
    zeros = np.zeros(facts.mdp.n_arcs)
    alive, before = facts.feasible.copy(), Sums(zeros.astype(np.int64), zeros, zeros)
    last = max([action.after for action in facts.actions if action.kind == file.EXCLUDE], default=0)
    for step in steps:
        number = whole(step["trials"])
        _fields(step, {"trials", "path", "ruled_out", *OF_SUMS}, "a moment")
        path = facts.mdp.check_path([whole(arc) for arc in step["path"]])
        seen = _sums(step, facts.mdp, facts.seen.scores)
        _check_growth(before, seen, wrong)
        if seen.scores is not None and (seen.visits <= facts.seen.visits).all():
            _check_scores(facts.mdp, seen, wrong)
        if wrong:
            return alive
        if not last <= number <= facts.prefix or facts.excluded[path].any():
            wrong.append(f"the moment after trial {number} does not belong to this proof")
        claimed = np.isin(np.arange(facts.mdp.n_arcs), _arcs(step["ruled_out"], facts.mdp))
        extra = claimed & ~checker.ruled_out(seen, path, alive)
        if extra.any():
            where = facts.mdp.describe_arc(int(np.flatnonzero(extra)[0]))
            wrong.append(f"after trial {number} the sums do not rule out {where}")
        alive, before = alive & ~claimed, seen
    _check_growth(before, facts.seen, wrong)
    return alive


def _keep(rows: Sequence[Kept], facts: Facts, checker: PlainBound, wrong: list[str]) -> bool:
    """Check the pairs of arcs that were kept at earlier moments, and keep them; return whether they may be used."""
    if not isinstance(checker, StageBound):
        if rows:
            wrong.append("pairs are kept where the scores of a trial may depend on each other, and there alone")
        return not rows
    stage, zeros = facts.mdp.arcs.stage, np.zeros(facts.mdp.n_arcs)
    named = dict[tuple[int, int], tuple[int, float, int]]()
    for row in rows:
        _fields(row, KEPT_FIELDS, "a pair that was kept")
        (x, y), number = _arcs(row["pair"], facts.mdp).tolist(), whole(row["trials"])
        parts = zip(row["visits"], row["sums"], row["missing"], strict=True)
        numbers = [(whole(n), _real(total), whole(lacking)) for n, total, lacking in parts]
        if x == y or stage[x] != stage[y] or len(numbers) != 2:
            wrong.append("a pair that was kept must have two options of one step, each with its visits and its sum")
        elif not max(n + lacking for n, _, lacking in numbers) <= number <= facts.prefix:
            wrong.append(f"the moment after trial {number} does not belong to this proof")
        for arc, own in zip((x, y), numbers):
            if named.setdefault((number, arc), own) != own:
                wrong.append(f"after trial {number} {facts.mdp.describe_arc(arc)} cannot have had two sums")
    before = Sums(zeros.astype(np.int64), facts.seen.origin, zeros)
    for _, seen, some, others in kept_moments([] if wrong else rows, facts.seen):
        _check_growth(before, seen, wrong)
        _check_growth(seen, facts.seen, wrong)
        if not checker.all_seen(seen, np.unique([some, others]), zeros > 0):
            wrong.append("a pair that was kept has an option without a score")
        if seen.scores is not None and not wrong:
            _check_scores(facts.mdp, seen, wrong)
        if wrong:
            break
        checker.keep(seen, some, others)
        before = seen
    return not wrong


def _check_growth(before: Sums, after: Sums, wrong: list[str]) -> None:
    """Check that sums of a later moment can follow from those of an earlier one."""
    seen = before.visits > 0
    same = seen & (before.visits == after.visits)
    if (
        (after.visits < before.visits).any()
        or (after.counts - after.visits < before.counts - before.visits).any()
        or (after.origin[seen] != before.origin[seen]).any()
        or (after.sums[same] != before.sums[same]).any()
    ):
        wrong.append("the sums of an earlier moment cannot have grown into those of a later one")
