"""What is said when the data contradict what was declared, in people's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from surepath._text import many, word

Kind = Literal["exact", "noise", "dependence", "drift", "luck", "unequal", "late", "refused"]
FINDING_KINDS: tuple[Kind, ...] = ("exact", "noise", "dependence", "drift", "luck", "unequal", "late", "refused")
EXACT, NOISE, DEPENDENCE, DRIFT, LUCK, UNEQUAL, *_ = range(len(FINDING_KINDS))

REPORT_P = 1e-3  # a finding with a smaller p-value is reported
DOUBT = "in doubt"  # the answer, in the words of the page, where anything is found
SURE = 1e-6  # and reported without reserve below this


@dataclass(frozen=True)
class Finding:
    """Something declared that the rewards contradict.

    Attributes:
        kind: "exact": a reward declared exact differs. "noise": larger than declared. "dependence": the reward of a
            stage shifts with an earlier choice. "drift": it shifts with time. "luck": the rewards of one trial rise and
            fall together. "unequal": one unknown sigma was declared, and the noise differs. "late": trials that counted
            as lost had a result after all. "refused": the rewards of some trials cannot be counted. Studies find the
            last two.
        where: The place in words: one arc, one stage or all of them.
        declared: What was declared: the noise; 0 for a shift or a correlation; for "unequal", the noise elsewhere.
        seen: The noise, the size of the shift or the correlation, estimated from the rewards.
        p_value: Probability, if all that was declared holds, that anything this striking is ever said: about any place,
            of any kind, at any time. 0 for what cannot happen at all.
        message: All of it in one sentence.
    """

    kind: Kind
    where: str
    declared: float
    seen: float
    p_value: float
    message: str


def finding(kind: Kind, where: str, earlier: str, declared: float, seen: float, p_value: float) -> Finding:
    """Return a finding with its sentence; `earlier` names the choice that a stage's reward depends on."""
    reward = word("reward", "score")
    if kind == "exact":
        text = f"{reward}s declared exact differ by about {seen:.2g} {where}"
    elif kind == "noise":
        text = f"the noise looks larger than declared ({seen:.2g} against {declared:.2g} {where}, {odds(p_value)})"
    elif kind == "dependence":
        text = f"the {reward} {where} shifts with {earlier} (typically by {seen:.2g}, {odds(p_value)})"
    elif kind == "luck":
        text = (
            f"the {reward}s of one {word('episode', 'trial')} rise and fall together (correlation about {seen:.2g}, "
            f"{odds(p_value)}), and the proof counts every {word('stage', 'step')} as luck of its own"
        )
    elif kind == "unequal":
        text = f"the noise differs between {word('arcs', 'options')} ({seen:.2g} {where}, {declared:.2g} elsewhere, "
        text += f"{odds(p_value)}), and one sigma was declared for all"
    elif kind == "late":
        text = f"{many(int(seen), 'result')} came after the trial was given up: slow trials are left out"
    elif kind == "refused":
        text = f"{many(int(seen), 'trial')} could not be counted, with {reward}s too large or outside what was declared"
    else:
        text = f"the {reward} {where} drifts over time (typically by {seen:.2g}, {odds(p_value)})"
    certain = "does" if p_value < SURE and kind != "late" else "may"
    return Finding(kind, where, declared, seen, p_value, f"{text}: the certificate {certain} not hold")


def doubt(messages: Sequence[str]) -> str | None:
    """Say that a proof is in doubt, given the messages of what was found, the strongest first; None without any.

    Studies say it, in the words of users whoever asks.

    Example:
        >>> doubt(["the score at step a drifts: the certificate does not hold"])
        'in doubt: the arithmetic holds, but the scores contradict what was declared: the score at step a drifts'
    """
    if not messages:
        return None
    return f"{DOUBT}: the arithmetic holds, but the scores contradict what was declared: {contradiction(messages[0])}"


def contradiction(message: str) -> str:
    """Return a finding's message without what follows from it for the certificate."""
    return message.rpartition(": the certificate ")[0] or message


def odds(p_value: float) -> str:
    """Return a p-value as people read it: "p < 1e-6", rounded up to a step of a thousand."""
    for power in (12, 9, 6, 3):
        if p_value < 10.0**-power:
            return f"p < 1e-{power}"
    return f"p = {p_value:.2g}"


def headline(findings: Sequence[Finding]) -> str | None:
    """Return the strongest finding in one sentence, or None when there is nothing to say.

    Example:
        >>> found = finding("noise", "at stage 2", "", 0.1, 0.31, 3e-8)
        >>> headline([found])
        'the noise looks larger than declared (0.31 against 0.1 at stage 2, p < 1e-6): the certificate does not hold'
    """
    return min(findings, key=lambda found: found.p_value).message if findings else None
