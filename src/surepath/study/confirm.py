"""Confirmation: the answer of a study in rounds against a few rivals, in fresh plays, with no model of the scores."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surepath._checks import check_delta, real
from surepath.errors import SettingError, StudyError
from surepath.learners.base import read_rewards
from surepath.model.paths import Plan
from surepath.study.rounds import StudyRounds
from surepath.verify.file import CONFIRM, CONFIRMED, confirmed_leads, confirmed_words

if TYPE_CHECKING:
    from surepath.study.study import Study

CLOSEST = 3  # rivals where none are named
MOST_PLAYS = 100_000


@dataclass(frozen=True)
class Confirmation:
    """What fresh plays say of the answer, whatever the model."""

    plan: Plan  #: The answer of the study.
    rivals: tuple[Plan, ...]  #: The plans it was played against.
    plays: int  #: Fresh plays of each.
    at_least: tuple[float, ...]  #: How much better than each rival it is at least; negative: how much worse it may be.
    delta: float  #: Probability that one of these is wrong, at most.
    statement: str  #: All of it in one sentence.

    def __str__(self) -> str:
        return self.statement


def confirm(
    study: Study, function: Callable[[Any], Any], rivals: Iterable[Any] | None, margin: float, delta: float | None
) -> Confirmation:
    """Play the answer against rivals; see `Study.confirm`."""
    learner, mdp = study.learner, study.mdp
    if not isinstance(learner, StudyRounds):
        raise StudyError("confirm() is for studies in rounds: the certificate of this one assumes no sum of effects")
    if not learner.stopped:
        raise StudyError("confirm() plays the proven plan against rivals, and the study is not done")
    best = learner.recommend()
    given = [one.path for one in learner.closest(CLOSEST)] if rivals is None else map(learner._arcs_of, rivals)
    others = [path for path in given if not np.array_equal(path, best)]
    wanted, risk = real("margin", margin), check_delta(learner.delta if delta is None else delta)
    if not others or wanted <= 0:
        raise SettingError("confirm() needs rivals other than the answer, and a margin above 0")
    sigma = learner.total_sigma()
    plays = math.ceil(4 * sigma**2 * math.log(len(others) / risk) / wanted**2)
    if plays > MOST_PLAYS:
        raise SettingError(
            f"a margin of {wanted:g} takes {plays:,} plays of each plan at sigma {sigma:g}; at most {MOST_PLAYS:,} are "
            f"made. Ask for a larger margin"
        )

    def note(kind: str, content: Any) -> int:
        return study._decide(kind, content, lambda copy: None, uuid.uuid4().hex)

    design = {"paths": [path.tolist() for path in (best, *others)], "plays": plays, "sigma": sigma, "delta": risk}
    number = note(CONFIRM, design)  # fixed before the first play
    scores: list[list[float]] = [[] for _ in design["paths"]]
    order = np.random.default_rng([learner.seed, number]).permutation(np.repeat(np.arange(len(scores)), plays))
    for at in order.tolist():
        path = (best, *others)[at]
        scores[at].append(float(read_rewards(mdp, path, function(mdp.plan(path))).sum()))
        if not math.isfinite(scores[at][-1]):
            raise SettingError("a play of a confirmation needs its whole score")
    note(CONFIRMED, {"of": number, "scores": scores})
    leads = confirmed_leads(mdp, design, scores)
    plans = tuple(mdp.plan(path) for path in others)
    words = confirmed_words(mdp, design, scores)
    return Confirmation(mdp.plan(best), plans, plays, tuple(leads), risk, words)
