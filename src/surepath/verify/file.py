"""A certificate as a file: its fields, how it is read, its hash and its sentences.

A certificate holds the problem, the settings with every number of the bound, the plan, the gap, and what was seen, arc
by arc, so that the bound can be computed again from the file alone; and a hash over the log, so that the file can be
compared with the trials themselves. `sha256` is a hash over everything else in the file.

There is one format. Its words never change: whoever verifies a certificate builds them again from its numbers and
compares, so that a word changed by hand is found out. Other words or fields are another format, with another number.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from surepath._checks import BoolArray, FloatArray, repeated, rounded_up, shortened
from surepath._text import read_text
from surepath.errors import CertificateError, ProblemError
from surepath.model.mdp import MDP
from surepath.model.paths import plan_in_words

KIND, CERTIFICATE_FORMAT = "surepath certificate", 8
CERTIFICATE_FIELDS = {
    *("kind", "format", "statement", "certified_gap", "plan", "path", "done", "epsilon", "delta", "assumptions"),
    *("warnings", "trials", "actions", "log", "proof", "evidence", "planned", "settings", "problem", "problem_hash"),
    *("study", "version", "created", "sha256"),
}
# What proves the gap: the evidence in the file; in studies whose scores cover several steps, their rounds.
EVIDENCE, ROUNDS, NOTHING = "evidence", "rounds", "nothing"

# What a trial can be when it is settled, and where it can come from.
STATES = ("cancelled", "complete", "expired", "failed", "partial")
SOURCES = ("asked", "queued", "retried", "late", "imported")
WORST = "worst"  # of `on_failure`: a step that failed counts as its worst score
EXCLUDE, TIGHTEN, REFERENCE = "exclude", "tighten", "reference"
CONFIRM, CONFIRMED = "confirm", "confirmed"  # which plans are to be played again, and what they scored
ACTIONS = {EXCLUDE, TIGHTEN, REFERENCE, CONFIRM, CONFIRMED}

YES, NO, DOUBT = "yes", "no", "in doubt"
CONTRADICTED = "the scores contradict what was declared: "
MOST_BYTES = 1024**3
GAP_DIGITS = 4  # of a gap, rounded up; `certified_gap` has them all
ADVICE = {
    "exact": "declare the noise of these options and begin a new study",
    "noise": "declare a larger sigma in a new study, and do not choose it by looking at trials that you import there",
    "dependence": "let the state tell the earlier choice apart (depends=...) in a new study",
    "drift": "find what changes over time, keep it fixed or randomise it, and begin a new study",
    "luck": "read this log again with scores that may depend on each other: surepath study copy NEW --dependence any",
    "late": "give trials a longer lease in a new study, or renew it while they run: none may be lost for being slow",
    "refused": "begin a new study with scores that can be counted: subtract the same amount from all scores of a step",
    "unequal": "declare the noise of each option, or a range of its scores, and begin a new study",
}


def read(path: str | Path) -> dict[str, Any]:
    """Read a certificate file, or say why it is none."""
    file = Path(path)
    try:
        text = read_text(file, MOST_BYTES)
    except ProblemError as error:
        raise CertificateError(str(error)) from None

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if (twice := repeated(key for key, _ in items)) is not None:
            _refuse(file, f"the field {shortened(twice)} appears twice in one object")
        return dict(items)

    def constant(word: str) -> NoReturn:
        _refuse(file, f"it holds {word}, which is not a number")

    try:
        content = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        if isinstance(error, CertificateError):
            raise
        _refuse(file, "it is not JSON")
    return checked_kind(content, str(file))


def _refuse(file: object, why: str) -> NoReturn:
    raise CertificateError(f"{file} is not a certificate: {why}")


def checked_kind(content: Any, name: str) -> dict[str, Any]:
    """Refuse what is not a certificate, or one of another format."""
    if not isinstance(content, dict) or content.get("kind") != KIND:
        _refuse(name, f'it lacks "kind": "{KIND}"')
    form = content.get("format")
    if form != CERTIFICATE_FORMAT or not isinstance(form, int):
        raise CertificateError(
            f"{name} has format {shortened(form)}; this version of surepath reads format {CERTIFICATE_FORMAT} alone: "
            "verify it with the version that wrote it, or write it again from the study"
        )
    return content


def content_hash(content: Mapping[str, Any]) -> str:
    """Return the hash over everything but the hash itself, whatever the order of keys and the white space."""
    rest = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def moment(seconds: float) -> str:
    """Write a time as certificates do."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


# Its sentences --------------------------------------------------------------------------------------------------------


def statement(content: Mapping[str, Any]) -> str:
    """Return one sentence that states what is proven."""
    trials = int(content["trials"]["number"])
    if content["certified_gap"] is None:
        return f"Nothing is proven yet after {trials} trials."
    gap, sure = float(content["certified_gap"]), _number(content["delta"])
    size = rounded_up(gap, GAP_DIGITS)
    weight, less = content["problem"].get("cost_weight"), content["problem"].get("direction") == "minimize"
    by = f", by score {'plus' if less else 'minus'} {_number(weight)} times the cost" if weight else ""
    plan = plan_in_words(content["plan"])
    among = " among those that avoid what was excluded" if any(a["kind"] == EXCLUDE for a in content["actions"]) else ""
    if gap == 0:
        claim = f"is the best plan{among} or as good as it{by}"
    elif by:
        claim = f"is on average at most {size} worse than the best plan{among}{by}"
    elif less:
        claim = f"costs on average at most {size} more than the best plan{among}"
    else:
        claim = f"scores on average at most {size} less than the best plan{among}"
    claim += ", if effects add up" if content["problem"].get("structure") else ""
    if content["warnings"]:
        found = contradiction(str(content["warnings"][0]["message"]))
        return (
            f"In doubt after {trials} trials: by the arithmetic the plan {plan} {claim}, but the scores "
            f"contradict what was declared: {found}."
        )
    return (
        f"After {trials} trials: the plan {plan} {claim}; under the assumptions below this statement is wrong "
        f"with probability at most {sure}."
    )


def confirmed_leads(mdp: MDP, design: Mapping[str, Any], scores: Sequence[Sequence[float]]) -> list[float]:
    """Return by how much the first plan is better than each other at least, with all at once, whatever the model.

    The difference of two means of n plays errs by more than x with probability at most exp(-n x^2 / (4 sigma^2)).
    """
    n, rivals = int(design["plays"]), len(design["paths"]) - 1
    off = math.sqrt(4 * float(design["sigma"]) ** 2 * math.log(rivals / float(design["delta"])) / n)
    means = [math.fsum(some) / n for some in scores]
    return [mdp.sign * (means[0] - mean) - off for mean in means[1:]]


def confirmed_words(mdp: MDP, design: Mapping[str, Any], scores: Sequence[Sequence[float]]) -> str:
    """State what fresh plays say, whatever the model."""
    said = []
    for path, lead in zip(design["paths"][1:], confirmed_leads(mdp, design, scores)):
        size = f"{math.floor(abs(lead) * 1e4) / 1e4:g}" if lead >= 0 else rounded_up(-lead, GAP_DIGITS)
        words = f"better than {{}} by at least {size}" if lead >= 0 else f"at most {size} worse than {{}}"
        said.append(words.format(plan_in_words(mdp.plan(path))))
    return (
        f"Whatever the model, by {design['plays']} fresh plays of each: {'; '.join(said)} (wrong with probability at "
        f"most {_number(design['delta'])})."
    )


def confirmations(actions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield each confirmation that was begun, and its scores; None where it was not finished."""
    rows = list(actions)
    scores = {row["content"]["of"]: row["content"]["scores"] for row in rows if row["kind"] == CONFIRMED}
    for row in rows:
        if row["kind"] == CONFIRM:
            yield row["content"], scores.get(row["number"])


def contradiction(message: str) -> str:
    """Return the message of a warning without what follows from it for the certificate."""
    return message.rpartition(": the certificate ")[0] or message


def doubt(messages: Sequence[str]) -> str | None:
    """Say that a proof is in doubt, given the messages of what was found, the strongest first; None without any.

    Example:
        >>> doubt(["the score at step a drifts: the certificate does not hold"])
        'in doubt: the arithmetic holds, but the scores contradict what was declared: the score at step a drifts'
    """
    return f"{DOUBT}: the arithmetic holds, but {CONTRADICTED}{contradiction(messages[0])}" if messages else None


def assumptions(content: Mapping[str, Any], mdp: MDP) -> list[str]:
    """List what must hold and no certificate can show; the problem of the certificate comes with it."""
    counts, options = content["trials"]["states"], content["study"]["options"]
    left_out = counts["failed"] + counts["expired"] + counts["cancelled"]
    if mdp.scored is not None:
        return _of_rounds(content, mdp, left_out)
    shared, total = content["settings"]["dependence"] == "any", content["settings"].get("total_sigma")
    said = [
        "Playing an option again in the same state draws a fresh score with the same mean, whatever happened in "
        "earlier trials: no drift, no effect of earlier choices but through the state, and in every trial a fresh case "
        "that has nothing to do with its plan. The scores of one trial may depend on each other in any way."
        if shared
        else "Playing an option again in the same state draws a fresh score with the same mean, whatever happened "
        "before: no drift, no dependence between trials or between the scores of one trial, no effect of earlier "
        "choices but through the state.",
        _noise(content["settings"], mdp),
        "Every score that was seen was told, as it was seen. Which result comes in first does not matter until a "
        "trial is given up: trials count in the order in which they were asked for.",
        "Problem, settings and every number of the bound were fixed before the first result.",
    ]
    if total is not None:
        said[1] += f" The noise of the sum of a trial's scores is sub-Gaussian with the declared sigma {total:g}."
    if options.get("baseline"):
        said.append(
            "Scores count less the baseline of their trial, which is the same on average whatever plan is played and "
            "taken from what was fixed before the first trial. Noise and ranges are those of the differences."
        )
    rule, sources = missing_rule(mdp, content["settings"]), content["trials"]["sources"]
    kinds = {action["kind"] for action in content["actions"]}
    worst = "A step that failed counts as its worst score. " if options.get("on_failure") == WORST else ""
    if rule is not None and rule.fills:
        said.append(
            f"{worst}Scores that are missing of trials that broke off or were lost ({counts['partial']} with some "
            f"scores, {counts['failed'] + counts['expired']} with none) count as the end of their range that is worse "
            f"for the claim; cancelled trials ({counts['cancelled']}) are left out for reasons that do not depend on "
            "their scores."
        )
    elif rule is not None:
        said.append(
            f"{worst}Trials that broke off or were lost ({left_out + counts['partial']}: with some scores, failed, "
            "expired or cancelled) are left out whole, for reasons that do not depend on any of their scores."
        )
    elif worst:
        said.append(
            f"{worst}Expired and cancelled trials ({counts['expired'] + counts['cancelled']}) are left out for reasons "
            "that do not depend on their scores."
        )
    else:
        said.append(
            f"Trials that were left out ({left_out}: failed, expired or cancelled), and steps after a failure "
            f"({counts['partial']} trials), are missing for reasons that do not depend on "
            f"{'any score of their trial' if shared else 'the scores that are missing'}."
        )
    if counts["expired"] and not (rule is not None and rule.fills):
        said.append(
            f"The {counts['expired']} trials that were given up after their lease were lost with their workers, not "
            f"for being slow in a way that has to do with their scores ({sources['late']} results came too late to "
            "count)."
        )
    if sources["imported"]:
        said.append(f"The {sources['imported']} imported trials were not picked by how they came out.")
    if options.get("cases"):
        said.append(
            "Every trial was played on the cases that the study drew for it, whatever its plan, and the statement is "
            "about the mean over all cases."
        )
    if REFERENCE in kinds:
        said.append(
            "What a reference plan scored on the case of a trial was taken off its scores; it was told for all cases "
            "before the first trial, and the noise that is declared is that of the difference."
        )
    if EXCLUDE in kinds:
        said.append("Excluded options are infeasible as a fact of the world, not a verdict on their scores.")
    return said


def _of_rounds(content: Mapping[str, Any], mdp: MDP, left_out: int) -> list[str]:
    """List what must hold where scores cover several steps."""
    state = " in the state that its earlier choices make" if mdp.n_nodes > mdp.horizon else ""
    own = ", earlier scores of its trial included" if len(mdp.score_stages) > 1 else ""
    noise = {
        "sigma": f"Given all before it{own}, the noise of a score is sub-Gaussian with sigma "
        f"{content['settings'].get('sigma')}, for whole plans.",
        "range": "Every score lies within the declared range, and nothing else is assumed of its noise.",
        "gaussian": "The noise of every score is Gaussian, independent, with one standard deviation, whatever it is. "
        "Rare losses or gains would make this statement wrong.",
    }[content["settings"]["noise"]]
    lost = (
        "A trial that failed counts as the worst score; expired and cancelled ones were played again, and lack their "
        "score for reasons that do not depend on it."
        if content["study"]["options"].get("on_failure") == WORST
        else f"Trials without a score ({left_out}: failed, expired or cancelled) lack it for reasons that do not "
        "depend on it; their plans were played again."
    )
    said = [
        f"Effects add up: the mean of a score is the sum of an effect of each option{state}. Nothing is claimed of "
        "plans that were not played if they do not.",
        "A trial draws a fresh score, whatever happened before. What all scores of a round have in common (a day, a "
        "batch) cancels; cases that a round shares do not: then the claim is about those cases.",
        noise,
        "The plans of a round were fixed before its first score. Every score that was seen was told, as it was seen.",
        "Problem, settings and every number of the bound were fixed before the first result.",
        lost,
    ]
    for design, scores in confirmations(content["actions"]):
        if scores is None:
            said.append("A confirmation was begun and not finished; what it showed is not part of this.")
        else:
            said.append(
                confirmed_words(mdp, design, scores) + " The plays were fresh, each with noise of the declared sigma "
                "(or half of the range), and their number was fixed before the first."
            )
    return said


def _noise(settings: Mapping[str, Any], mdp: MDP) -> str:
    """Say what is assumed of the noise."""
    if settings["sigma"] == "unknown":
        return (
            "The noise of every score is Gaussian, with one standard deviation, whatever it is, for all options but "
            "those declared exact."
        )
    sigma = np.broadcast_to(np.asarray(settings["sigma"], dtype=np.float64), (mdp.n_arcs,))
    half = np.full(mdp.n_arcs, np.inf)
    if mdp.reward_range is not None:
        half = (mdp.reward_range[1] - mdp.reward_range[0]) / 2
    bare = sigma[~mdp.is_known & (sigma < half)]  # sigmas that do not follow from a range
    given = "the earlier trials" if settings["dependence"] == "any" else "everything before it"
    if settings.get("noise", "sigma") != "sigma":
        if not len(bare):
            return "Every score lies within the declared range of its option, and nothing else is assumed of its noise."
        besides = _declared(bare, given)
        return f"Every score lies within the declared range of its option, if there is one. Besides: {besides}"
    noisy = sigma[sigma > 0]
    if not len(noisy):
        return "Scores have no noise at all."
    said = (
        f"Given {given}, the noise of a score is sub-Gaussian with the declared sigma ({_sizes(noisy)}"
        f"{'' if noisy.min() == noisy.max() else ', as declared option by option'}); a score within a declared range "
        "is, with half the range."
    )
    quiet = bare[bare == 0]
    return said + (f" Besides: {_declared(quiet, given)}" if len(quiet) and len(quiet) < len(bare) else "")


def _declared(bare: FloatArray, given: str) -> str:
    """Say what is assumed of the noise of options by their sigma alone."""
    noisy, said = bare[bare > 0], []
    if len(noisy):
        said.append(
            f"given {given}, the noise of a score of {len(noisy)} options is sub-Gaussian with the sigma "
            f"that was declared for it ({_sizes(noisy)})"
        )
    if len(noisy) < len(bare):
        said.append(f"{len(bare) - len(noisy)} options are declared to have no noise at all")
    return "; ".join(said) + "."


def _sizes(sigma: FloatArray) -> str:
    low, high = float(sigma.min()), float(sigma.max())
    return _number(low) if low == high else f"{_number(low)} to {_number(high)}"


def _number(value: float) -> str:
    """Write a number so that it reads back as the same one."""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


# Scores that are missing ----------------------------------------------------------------------------------------------


class MissingRule(NamedTuple):
    """Rule for scores that broken-off trials do not show, where trials may break off for what they score."""

    noisy: BoolArray  # [N] options that have noise: a trial that lacks none of their scores is whole
    fills: bool  # each counts as an end of its range; else the trial is left out whole


def missing_rule(mdp: MDP, settings: Mapping[str, Any]) -> MissingRule | None:
    """Return the rule of a study with these settings; None where what was seen counts and nothing else."""
    if settings.get("dependence") != "any" or settings["missing"] != "related":
        return None
    noisy = (np.broadcast_to(np.asarray(settings["sigma"], dtype=np.float64), (mdp.n_arcs,)) > 0) & ~mdp.is_known
    ranged = mdp.gain_range is not None and bool(np.isfinite(np.array(mdp.gain_range)[:, noisy]).all())
    return MissingRule(noisy, settings["noise"] != "bernstein" and (ranged or not noisy.any()))
