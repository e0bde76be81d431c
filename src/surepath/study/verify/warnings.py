"""Whether the warnings of a certificate are those that the log gives."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from surepath._text import words_of_users
from surepath.learners.registry import build
from surepath.learners.watch import Finding
from surepath.study.certificate.replay import PlainLog, walk
from surepath.study.sheets.rows import EVERY_ROW
from surepath.study.verify.facts import Facts, whole
from surepath.study.verify.log import Log

CLOSE = 1e-6  # relative: another machine may round the last digits otherwise
STAGE = re.compile(r"stage (\d+)(?: \(([^)]*)\))?")  # as certificates of the first days say, in place of "step"


@words_of_users()
def check_warnings(content: Mapping[str, Any], facts: Facts, logged: Log, wrong: list[str]) -> list[str]:
    """Compute the warnings again from the trials, and return the messages of all that contradicts the certificate.

    It is about the trials up to a moment, but it was written at that moment or later: its warnings must be those of one
    such moment. What later trials of the log say counts too.
    """
    settings, actions = dict(content["settings"]), facts.actions
    sigma = build(settings, facts.mdp)._watch.sigma  # what rewards are compared with: nothing where sigma is unknown
    log = PlainLog(facts.mdp, facts.seed, facts.on_failure, float(settings["epsilon"]), sigma=sigma)
    assert log.watch is not None
    split = whole(content["log"]["actions"])
    for _ in walk(log, None, logged.rows(facts.prefix), actions[:split]):
        pass
    found = log.watch.findings()
    same = _same(content["warnings"], found)
    for _ in walk(log, None, islice(logged.rows(EVERY_ROW), facts.prefix, None), actions[split:]):
        if not same:
            same = _same(content["warnings"], log.watch.findings())
    if not same:
        wrong.append(f"the warnings are not those of the log, which gives {len(found)}" + _first(found))
    later = log.watch.findings()
    return [finding.message for finding in later or found]


def _first(found: Sequence[Finding]) -> str:
    return f": {found[0].message}" if found else ""


def _same(stated: Sequence[Mapping[str, Any]], found: Sequence[Finding]) -> bool:
    if len(stated) != len(found):
        return False
    return all(_agree(one[name], value) for one, other in zip(stated, found) for name, value in other.__dict__.items())


def _agree(stated: Any, value: Any) -> bool:
    if isinstance(value, str):
        return isinstance(stated, str) and _in_words_of_users(stated) == _in_words_of_users(value)
    return isinstance(stated, (int, float)) and math.isclose(stated, value, rel_tol=CLOSE, abs_tol=1e-300)


def _in_words_of_users(text: str) -> str:
    """Replace the words of the API by those of users: certificates written from Python once had them."""
    return STAGE.sub(lambda found: f"step {found[2] or found[1]}", text).replace("rewards declared", "scores declared")
