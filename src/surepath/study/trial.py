"""A trial: its states, what its worker sees, the rows of the log, and telling what came of it.

| state | meaning | in the evidence |
|---|---|---|
| waiting | queued by a person or after an expired lease, not assigned yet; it has no number | no |
| running | assigned, its lease has not ended | no, it counts as a pending play |
| complete | all H rewards reported | yes |
| partial | a prefix of the H rewards reported, then it failed | the prefix |
| failed | reported as failed, nothing seen | no, counted |
| expired | its lease ended before a report | no, counted |
| cancelled | cancelled before it ran | no, counted |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from surepath._checks import IntArray, real, shortened, whole
from surepath.errors import ConflictError, SettingError, StorageError, StudyError, SurepathError, UnknownError
from surepath.learners.base import check_decidable, less_baseline, read_rewards
from surepath.model.mdp import MDP
from surepath.model.paths import Plan, plan_in_words

if TYPE_CHECKING:
    from surepath.study.storage import Reading, Writing

State = Literal["waiting", "running", "complete", "partial", "failed", "expired", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
SETTLED: frozenset[State] = frozenset(STATES[2:])  # a settled trial never changes again
SCORED: frozenset[State] = frozenset({"complete", "partial"})

# Where a trial comes from: chosen by the learner; queued by a person; the plan of an expired trial, assigned again; a
# result reported after its trial had expired or was cancelled, which it names; a past result.
Source = Literal["asked", "queued", "retried", "late", "imported"]
SOURCES: tuple[Source, ...] = get_args(Source)


@dataclass(frozen=True)
class Trial:
    """One play of a plan that was assigned to a worker."""

    number: int  #: The number to report it under.
    plan: Plan = field(hash=False)  #: {step: option}.
    path: IntArray = field(compare=False)  #: The same as arcs, int [H].
    lease_until: float  #: Seconds since 1970, by the storage's clock; `study.renew` extends it.
    source: str  #: "asked" (chosen by the learner), "queued" (by a person), "retried" (the plan of an expired trial).
    worker: str  #: Who asked for it.
    cases: tuple[str, ...] = ()  #: The cases to play it on, in a study that has some.
    attended: bool = False  #: Whether its worker renews the lease, so that it ends only when the worker has died.

    @classmethod
    def of_wire(cls, found: Mapping[str, Any], mdp: MDP) -> Trial:
        """Make a trial of its fields as plain values; the plan follows from the path."""
        own = {name: found[name] for name in ("number", "lease_until", "source", "worker", "attended")}
        return cls(
            path=(path := mdp.check_path(found["path"])), plan=mdp.plan(path), cases=tuple(found["cases"]), **own
        )

    @property
    def case(self) -> str | None:
        """Return the case to play it on, several with commas between them; None where the study has none."""
        return case_text(self.cases)

    def __str__(self) -> str:
        on = f" on case {self.case}" if self.cases else ""
        return f"trial {self.number}: {plan_in_words(self.plan)}{on}"


def case_text(cases: tuple[str, ...]) -> str | None:
    """Write the cases of a trial, with commas between them; None where it has none."""
    return ",".join(cases) or None


def options_of(mdp: MDP, path: Sequence[int] | IntArray) -> list[str]:
    """Name the option that a plan takes at each step, in their order."""
    if mdp.plans is not None:
        return [plan_in_words(mdp.plan(path))]
    return [mdp.action_label(int(arc)) for arc in path]


def trial_number(trial: Trial | int) -> int:
    """Return the number of a trial, given as a Trial or by its number."""
    return trial.number if isinstance(trial, Trial) else whole("the number of a trial", trial, low=1)


# Rows of the log ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyRecord:
    """Record of a study, frozen when it is created."""

    name: str  # unique in its storage
    problem: str  # as JSON text, without means
    problem_hash: str  # content hash of the graph
    settings: str  # learner and settings, every number of its bound among them, as JSON text
    options: str  # lease, failure policy and the like, as JSON text
    created: float  # seconds since 1970
    version: str  # of surepath, which created it


class TrialRow(NamedTuple):
    """One trial of the log."""

    number: int  # 1, 2, ... in the order asked for
    state: State
    path: tuple[int, ...]  # H arcs
    source: Source
    of: int | None = None  # the trial this one repeats or reports late
    rewards: tuple[float, ...] = ()  # those that were reported, in the user's direction
    worker: str = ""
    asked: float = 0.0  # seconds since 1970
    lease: float = 0.0  # when the lease ends; of an expired trial, when it is given up
    told: float | None = None  # when it was settled
    note: str = ""  # why it failed, or the batch it was part of
    attended: bool = False  # whether a runner renews the lease, so that it ends only when the worker died
    request: str | None = None  # names the request that asked for it, so that a repeated one changes nothing
    cases: tuple[str, ...] = ()  # drawn by the study, by number alone
    cost: float | None = None  # what it really cost, where that was told
    tries: int = 1  # how often its worker began it
    baseline: tuple[float, ...] = ()  # taken off its rewards before they count: as told, or what a reference scored
    change: int = 0  # number of the write that last changed this row

    @property
    def settled(self) -> bool:
        """Return whether the trial is settled, so that later ones may count; an expired one is when it was given up."""
        return self.state in SETTLED and (self.state != "expired" or self.told is not None)


class ActionRow(NamedTuple):
    """A decision of a person that is part of the log: "exclude", "tighten", "reference", or a confirmation."""

    number: int  # 1, 2, ...
    after: int  # the action counts after this many settled trials
    kind: str
    content: Any
    at: float
    change: int = 0


class QueueRow(NamedTuple):
    """A plan that waits to be assigned."""

    number: int
    path: tuple[int, ...]
    source: Source
    of: int | None = None
    at: float = 0.0


class SnapshotRow(NamedTuple):
    """The state of a fold after a number of settled trials: a cache, which may be deleted at any time."""

    prefix: int
    actions: int
    content: bytes


# Telling --------------------------------------------------------------------------------------------------------------
# A trial with a result never changes; telling the same again is harmless. What the learner would refuse is refused
# here, before anything is written.


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


def counted_rewards(mdp: MDP, row: TrialRow, on_failure: str) -> list[float]:
    """Return the rewards of a settled trial that count: those seen less the baseline, and the worst of what failed."""
    if row.source == "late":
        return []
    rewards = list(row.rewards)
    if row.baseline:
        rewards = [reward - taken for reward, taken in zip(rewards, row.baseline)]
    if row.state in ("partial", "failed") and on_failure == "worst" and mdp.scored is not None:
        for stage in mdp.scored[sum(stage < len(rewards) for stage in mdp.scored) :]:  # what failed has no other score
            rewards += [0.0] * (stage - len(rewards)) + [_worst_reward(mdp, row.path[stage])]
    elif row.state in ("partial", "failed") and on_failure == "worst" and len(rewards) < len(row.path):
        rewards.append(_worst_reward(mdp, row.path[len(rewards)]))
    return rewards


def _worst_reward(mdp: MDP, arc: int) -> float:
    if mdp.known is not None and mdp.is_known[arc]:
        return float(mdp.known[arc])
    assert mdp.reward_range is not None
    low, high = mdp.reward_range
    return float(low[arc] if mdp.sign > 0 else high[arc])


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
