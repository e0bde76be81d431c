"""What a certificate says in words: one sentence, what it assumes, what to do about warnings.

The words of a format never change: who verifies a certificate builds them again from its numbers and compares, so that
a word changed by hand is found out. Better words are a new format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surepath._numbers import rounded_up
from surepath._types import FloatArray
from surepath.learners.watch.findings import contradiction
from surepath.model.mdp import MDP
from surepath.model.plans import plan_in_words
from surepath.study.trial import WORST

# 1 wrote gaps with all their digits, and said nothing of warnings in the statement; 2 said nothing of a sigma that
# counts beside a range, and nothing of options that are declared to have no noise
CERTIFICATE_FORMAT = 3
GAP_DIGITS = 4  # of a gap, rounded up; `certified_gap` has them all

ADVICE = {
    "exact": "declare the noise of these options and begin a new study",
    "noise": "declare a larger sigma in a new study, and do not choose it by looking at trials that you import there",
    "dependence": "let the state tell the earlier choice apart (depends=...) in a new study",
    "drift": "find what changes over time, keep it fixed or randomise it, and begin a new study",
    "late": "give trials a longer lease in a new study, or renew it while they run: none may be lost for being slow",
    "refused": "begin a new study with scores that can be counted: subtract the same amount from all scores of a step",
}


def number(value: float) -> str:
    """Write a number so that it reads back as the same one."""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def statement(content: Mapping[str, Any]) -> str:
    """Return one sentence that states what is proven."""
    trials = int(content["trials"]["number"])
    if content["certified_gap"] is None:
        return f"Nothing is proven yet after {trials} trials."
    gap, sure = float(content["certified_gap"]), number(content["delta"])
    size = number(gap) if content["format"] == 1 else rounded_up(gap, GAP_DIGITS)
    weight, less = content["problem"].get("cost_weight"), content["problem"].get("direction") == "minimize"
    by = f", by score {'plus' if less else 'minus'} {number(weight)} times the cost" if weight else ""
    plan = plan_in_words(content["plan"])
    among = (
        " among those that avoid what was excluded" if any(a["kind"] == "exclude" for a in content["actions"]) else ""
    )
    if gap == 0:
        claim = f"is the best plan{among} or as good as it{by}"
    elif by:
        claim = f"is on average at most {size} worse than the best plan{among}{by}"
    elif less:
        claim = f"costs on average at most {size} more than the best plan{among}"
    else:
        claim = f"scores on average at most {size} less than the best plan{among}"
    spent = content["trials"].get("spent")
    paid = "" if spent is None else f", which cost {spent:.10g} in all"
    if content["format"] > 1 and content["warnings"]:
        found = contradiction(str(content["warnings"][0]["message"]))
        return (
            f"In doubt after {trials} trials{paid}: by the arithmetic the plan {plan} {claim}, but the scores "
            f"contradict what was declared: {found}."
        )
    return (
        f"After {trials} trials{paid}: the plan {plan} {claim}; under the assumptions below this statement is wrong "
        f"with probability at most {sure}."
    )


def assumptions(content: Mapping[str, Any], mdp: MDP) -> list[str]:
    """List what must hold and no certificate can show; the problem of the certificate comes with it."""
    counts, options = content["trials"]["states"], content["study"]["options"]
    left_out = counts["failed"] + counts["expired"] + counts["cancelled"]
    worst = options.get("on_failure") == WORST
    within = "" if content["format"] == 1 else " or between the scores of one trial"
    said = [
        "Playing an option again in the same state draws a fresh score with the same mean, whatever happened before: "
        f"no drift, no dependence between trials{within}, no effect of earlier choices but through the state.",
        _noise(content["settings"]) if content["format"] < 3 else _noise_of(content["settings"], mdp),
        "Every score that was seen was told, as it was seen. Which result comes in first does not matter until a "
        "trial is given up: trials count in the order in which they were asked for.",
        "Problem, settings and every number of the bound were fixed before the first result.",
    ]
    if worst:
        said.append(
            "A step that failed counts as its worst score; expired and cancelled trials "
            f"({counts['expired'] + counts['cancelled']}) are left out for reasons that do not depend on their scores."
        )
    else:
        said.append(
            f"Trials that were left out ({left_out}: failed, expired or cancelled), and steps after a failure "
            f"({counts['partial']} trials), are missing for reasons that do not depend on the scores that are missing."
        )
    if counts["expired"]:
        late = content["trials"]["sources"]["late"]
        said.append(
            f"The {counts['expired']} trials that were given up after their lease were lost with their workers, not "
            f"for being slow in a way that has to do with their scores ({late} results came too late to count)."
        )
    if content["trials"]["sources"]["imported"]:
        said.append(
            f"The {content['trials']['sources']['imported']} imported trials were not picked by how they came out."
        )
    if any(action["kind"] == "exclude" for action in content["actions"]):
        said.append("Excluded options are infeasible as a fact of the world, not a verdict on their scores.")
    return said


def bare_sigmas(settings: Mapping[str, Any], mdp: MDP) -> FloatArray:
    """Return the sigmas that count and do not follow from a range: half of it holds for every score within it."""
    sigma = np.broadcast_to(np.asarray(settings["sigma"], dtype=np.float64), (mdp.n_arcs,))
    half = np.full(mdp.n_arcs, np.inf)
    if mdp.reward_range is not None:
        half = (mdp.reward_range[1] - mdp.reward_range[0]) / 2
    return np.asarray(sigma[~mdp.is_known & (sigma < half)])


def unsaid_sigma(content: Mapping[str, Any], mdp: MDP) -> str | None:
    """Return what the words of an earlier format omit: a sigma that counts although noise is said to be learned."""
    settings = content["settings"]
    if content["format"] >= 3 or settings.get("sigma") == "unknown" or not _learns(settings):
        return None
    bare = bare_sigmas(settings, mdp)
    return f"what the assumptions leave out: {_declared(bare)}" if len(bare) else None


def _learns(settings: Mapping[str, Any]) -> bool:
    return bool(settings.get("noise", "sigma") != "sigma" or settings.get("widths") == "bernstein")


def _declared(bare: FloatArray) -> str:
    """Return what is assumed of the noise of options by their sigma alone."""
    noisy, quiet = np.unique(bare[bare > 0]).tolist(), int((bare == 0).sum())
    size = number(noisy[0]) if len(noisy) == 1 else f"{number(noisy[0])} to {number(noisy[-1])}" if noisy else ""
    said = []
    if noisy:
        said.append(
            f"given everything before it, the noise of a score of {int((bare > 0).sum())} options is sub-Gaussian with "
            f"the sigma that was declared for it ({size})"
        )
    if quiet:
        said.append(f"{quiet} options are declared to have no noise at all")
    return "; ".join(said) + "."


def _noise_of(settings: Mapping[str, Any], mdp: MDP) -> str:
    if settings.get("sigma") == "unknown":
        return _noise(settings)
    bare = bare_sigmas(settings, mdp)
    if not _learns(settings):
        quiet = bool((bare == 0).any() and (bare > 0).any())
        return _noise(settings) + (f" Besides: {_declared(bare[bare == 0])}" if quiet else "")
    if not len(bare):
        return "Every score lies within the declared range of its option, and nothing else is assumed of its noise."
    return f"Every score lies within the declared range of its option, if there is one. Besides: {_declared(bare)}"


def _noise(settings: Mapping[str, Any]) -> str:
    sigma, noise = settings.get("sigma"), settings.get("noise", "sigma")
    if settings.get("widths") == "bernstein":
        noise = "bernstein"
    if sigma == "unknown":
        return "The noise of every score is Gaussian, with one standard deviation for all options, whatever it is."
    if noise != "sigma":
        return (
            "Every score lies within the declared range of its option, and nothing else is assumed of its noise; where "
            "an option declares a sigma and no range, its noise is sub-Gaussian with that sigma."
        )
    if sigma == "unknown":
        return (
            "The noise of all scores is Gaussian with one standard deviation, which the scores themselves bound; other "
            "laws can hide theirs."
        )
    values = sigma if isinstance(sigma, list) else [sigma]
    noisy = sorted({float(value) for value in values if value})
    if not noisy:
        return "Scores have no noise at all."
    size = (
        number(noisy[0])
        if len(noisy) == 1
        else f"{number(noisy[0])} to {number(noisy[-1])}, as declared option by option"
    )
    return (
        f"Given everything before it, the noise of a score is sub-Gaussian with the declared sigma ({size}); a score "
        "within a declared range is, with half the range."
    )
