"""Settling trials: results, failures, cancellations.

A trial with a result never changes; telling the same again is harmless. What the learner would refuse is refused here,
before anything is written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from surepath._checks import IntArray, real, shortened, whole
from surepath.errors import ConflictError, SettingError, StorageError, StudyError, SurepathError
from surepath.learners.base import check_decidable, less_baseline, read_rewards
from surepath.model.mdp import MDP
from surepath.model.paths import plan_in_words
from surepath.study.fold import counted_rewards
from surepath.study.storage import Reading, UnknownError, Writing
from surepath.study.trial import SCORED, State, Trial, TrialRow, case_text, trial_number


class Rules(NamedTuple):
    """Settings that decide what counts: the epsilon at creation, what a failure counts for, baselines."""

    epsilon: float
    on_failure: str
    baseline: bool = False  # whether every trial has a baseline


TOLD, REPEATED, WAS_LATE = "told", "repeated", "late"
LONGEST_NOTE = 2_000
LONGEST_KEY = 500
MOST_TRIES = 1_000


class Result(NamedTuple):
    """What came of a trial; `where` is its place for messages, `path` and `case` what was played, to be compared."""

    number: int
    rewards: Any
    failed: bool = False
    note: str = ""
    where: str = ""
    path: tuple[int, ...] | None = None
    case: str | None = None
    cost: float | None = None
    tries: int = 1
    baseline: Any = None


def result_of(trial: Trial | int, rewards: Any, **told: Any) -> Result:
    """Return a result with the plan that was played, where it is known: a number may be another trial's by now."""
    path = tuple(trial.path.tolist()) if isinstance(trial, Trial) else None
    return Result(trial_number(trial), rewards, path=path, **told)


def tell(log: Writing, mdp: MDP, result: Result, rules: Rules) -> str:
    """Record the rewards of a trial, or its failure with the rewards seen before it."""
    number, cost = result.number, None if result.cost is None else real("cost", result.cost)
    if cost is not None and cost < 0:
        raise SettingError(f"the cost of trial {number} must be at least 0, not {cost:g}")
    tries = whole("tries", result.tries, low=1, high=MOST_TRIES)
    row = assigned(log, number)
    if result.path is not None and result.path != row.path:
        played, wanted = (plan_in_words(mdp.plan(list(arcs))) for arcs in (result.path, row.path))
        raise StudyError(f"trial {number} is the plan {wanted}; not {played}")
    if result.case is not None and result.case != (case_text(row.cases) or ""):
        raise StudyError(f"trial {number} is played on case {case_text(row.cases) or 'none'}; not {result.case}")
    some = not hasattr(result.rewards, "__len__") or len(result.rewards) > 0
    if some and (result.baseline is not None) != rules.baseline:
        raise StudyError(
            f"trial {number} needs a baseline, as every trial of this study: tell(..., baseline=...)"
            if rules.baseline
            else "this study was created without baselines, and a trial with one cannot be mixed with others; create a "
            "study with baseline=True"
        )
    seen, less = _checked(mdp, row.path, result.rewards, result.baseline)
    if result.failed and len(seen) == mdp.horizon:
        raise StudyError(f"trial {number} has all {mdp.horizon} scores: that is not a failure; tell it")
    if not seen and not result.failed:
        raise StudyError(f"trial {number} needs at least one score; report a trial without any as failed")
    state: State = "failed" if not seen else "complete" if len(seen) == mdp.horizon else "partial"
    facts: dict[str, Any] = {"cost": cost, "tries": tries, "note": kept_text(result.note)}
    new = row._replace(state=state, rewards=seen, told=log.now, baseline=less or row.baseline, **facts)
    check_countable(log, mdp, new, rules)
    gone = row.state in ("expired", "cancelled")
    earlier = log.expired(math.inf, 1) if gone else []  # an open one: then nobody has counted this one as lost
    if not row.settled or (earlier and earlier[0].number < number):
        log.update_trial(new)
        return TOLD
    if not gone:
        return _same(row, new)
    if late := [other for other in log.trials_of(number) if other.source == "late"]:
        return _same(late[0], new)
    if state == "failed":
        return REPEATED  # nothing was seen, and it is counted already
    log.add_trials([new._replace(number=log.last_number + 1, source="late", of=number, request=None)])
    return WAS_LATE


def tell_many(log: Writing, mdp: MDP, results: Iterable[Result], rules: Rules) -> list[str]:
    """Record results in one transaction: all of them, or, with an error that names the place, none."""
    answers = []
    for result in results:
        with placed(result.where):
            answers.append(tell(log, mdp, result, rules))
    return answers


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Say in errors where they came about, such as in a line of a file; those of a storage are left as they are."""
    try:
        yield
    except SurepathError as error:
        if isinstance(error, StorageError) or not where:
            raise
        raise type(error)(f"{where}: {error}") from None


def check_countable(log: Reading, mdp: MDP, row: TrialRow, rules: Rules) -> None:
    """Refuse a result that the learner would refuse when its turn comes: scores too large for what is asked for.

    Only the largest score matters, so what other trials have scored does not.
    """
    epsilon = min([rules.epsilon, *log.tightened()])
    rewards = counted_rewards(mdp, row, rules.on_failure)
    gains = mdp.gains_of(list(row.path[: len(rewards)]), np.array(rewards, dtype=np.float64))
    check_decidable(mdp, float(np.abs(gains).max(initial=0.0)), epsilon)


def _same(row: TrialRow, new: TrialRow) -> str:
    if (row.state, row.rewards, row.baseline) == (new.state, new.rewards, new.baseline):
        return REPEATED
    kept = f"trial {row.number} was already recorded"
    if row.source == "late":
        kept = f"trial {row.of}'s late result was kept as trial {row.number}, recorded"
    was = list(row.rewards) if row.state in SCORED else row.state
    raise ConflictError(f"{kept} as {was}; a recorded trial never changes")


def settle(log: Writing, number: int, state: State, note: str = "") -> None:
    """Settle a trial that runs or is awaited without any result; one that is settled stays as it is."""
    row = assigned(log, number)
    if not row.settled:
        log.update_trial(row._replace(state=state, told=log.now, note=kept_text(note)))


def renew(log: Writing, number: int, lease: float) -> float:
    """Extend a running trial's lease."""
    row = assigned(log, number)
    if row.state != "running":
        raise StudyError(f"trial {row.number} is {row.state}: only a running trial's lease can be renewed")
    until = log.now + lease
    log.update_trial(row._replace(lease=until))
    return until


def past_result(mdp: MDP, plan: Any, rewards: Any, note: str) -> TrialRow:
    """Check a result from before the study."""
    arcs = tuple(path_of(mdp, plan).tolist())
    seen, _ = _checked(mdp, arcs, rewards)
    if not seen:
        raise SettingError("a past result needs at least one score")
    state: State = "complete" if len(seen) == mdp.horizon else "partial"
    return TrialRow(0, state, arcs, "imported", rewards=seen, note=kept_text(note))


def path_of(mdp: MDP, plan: Any) -> IntArray:
    """Return the arcs of a plan, given as {step: option} or as arcs."""
    return mdp.path(plan) if isinstance(plan, Mapping) else mdp.check_path(plan)


def kept_text(value: object) -> str:
    """Cut a remark to what every database keeps: valid text without zero bytes, not too long."""
    text = str(value).encode("utf-8", "replace").decode()
    return text.replace("\0", "\ufffd")[:LONGEST_NOTE]


def name_text(what: str, value: object, most: int = LONGEST_KEY) -> str:
    """Check a short name given by the user (a study, a worker, a request): printable text."""
    if not isinstance(value, str) or not value.strip() or len(value) > most or not value.isprintable():
        raise SettingError(f"{what} must be printable text of 1 to {most} characters, not {shortened(value)}")
    return value


def assigned(log: Reading, number: int) -> TrialRow:
    """Return a trial of the log; an error where there is none of this number."""
    row = log.trial(number)
    if row is None:
        raise UnknownError(f"there is no trial {number}; the last one is {log.last_number}")
    return row


def _checked(
    mdp: MDP, path: tuple[int, ...], rewards: Any, baseline: Any = None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the rewards and what is told to be taken off them, for all steps; their difference is checked."""
    arcs = np.array(path, dtype=np.int64)
    if baseline is None:
        return tuple(read_rewards(mdp, arcs, rewards).tolist()), ()
    less = less_baseline(mdp, arcs, rewards, baseline)[1].tolist()
    seen = read_rewards(mdp, arcs, rewards, ranged=False).tolist()
    return tuple(seen), tuple(less + [0.0] * (mdp.horizon - len(less)))
