"""A trial: the states it can be in, what each means for the evidence, what its worker sees, and the rows of the log.

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

from dataclasses import dataclass
from typing import Any, NamedTuple

from surepath._checks import IntArray, whole
from surepath.model.paths import Plan, plan_in_words

WAITING = "waiting"
RUNNING = "running"
COMPLETE = "complete"
PARTIAL = "partial"
FAILED = "failed"
EXPIRED = "expired"
CANCELLED = "cancelled"

STATES = (WAITING, RUNNING, COMPLETE, PARTIAL, FAILED, EXPIRED, CANCELLED)
SETTLED = frozenset({COMPLETE, PARTIAL, FAILED, EXPIRED, CANCELLED})  # a settled trial never changes again
SCORED = frozenset({COMPLETE, PARTIAL})

# Where a trial comes from.
ASKED = "asked"  # chosen by the learner
QUEUED = "queued"  # by a person
RETRIED = "retried"  # the plan of an expired trial, assigned again
LATE = "late"  # a result reported after its trial had expired or was cancelled; it names that trial
IMPORTED = "imported"  # a past result

SOURCES = (ASKED, QUEUED, RETRIED, LATE, IMPORTED)

# What a failed trial counts for.
LEAVE_OUT, WORST = "leave-out", "worst"
ON_FAILURE = (LEAVE_OUT, WORST)

# Decisions of a person that are part of the log.
EXCLUDE, TIGHTEN, REFERENCE = "exclude", "tighten", "reference"


@dataclass(frozen=True, eq=False)
class Trial:
    """One play of a plan that was assigned to a worker.

    Attributes:
        number: The number to report it under.
        plan: {step: option}.
        path: The same as arcs, int [H].
        lease_until: When the lease ends, in seconds since 1970 by the storage's clock; `study.renew` extends it.
        source: "asked" (chosen by the learner), "queued" (by a person), "retried" (the plan of an expired trial).
        worker: Who asked for it.
        cases: The cases to play it on, in a study that has some.
    """

    number: int
    plan: Plan
    path: IntArray
    lease_until: float
    source: str
    worker: str
    cases: tuple[str, ...] = ()

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


def trial_number(trial: Trial | int) -> int:
    """Return the number of a trial, given as a Trial or by its number."""
    return trial.number if isinstance(trial, Trial) else whole("the number of a trial", trial, low=1)


# Rows of the log ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyRecord:
    """Record of a study, frozen when it is created.

    Attributes:
        name: Unique in its storage.
        problem: The problem as JSON text, without means.
        problem_hash: Content hash of the graph.
        settings: Learner and settings, every number of its bound among them, as JSON text.
        options: Lease, failure policy and the like, as JSON text.
        created: Seconds since 1970.
        version: The surepath version that created it.
    """

    name: str
    problem: str
    problem_hash: str
    settings: str
    options: str
    created: float
    version: str


class TrialRow(NamedTuple):
    """One trial of the log."""

    number: int  # 1, 2, ... in the order asked for
    state: str
    path: tuple[int, ...]  # H arcs
    source: str
    of: int | None = None  # the trial this one repeats or reports late
    rewards: tuple[float, ...] = ()  # those that were reported, in the user's direction
    worker: str = ""
    asked: float = 0.0  # seconds since 1970
    lease: float = 0.0  # when the lease ends; of an expired trial, when it is given up
    told: float | None = None  # when it was settled
    note: str = ""  # why it failed
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
        return self.state in SETTLED and (self.state != EXPIRED or self.told is not None)


class ActionRow(NamedTuple):
    """A decision of a person that is part of the log: an exclusion, a tighter epsilon."""

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
    source: str
    of: int | None = None
    at: float = 0.0


class SnapshotRow(NamedTuple):
    """The state of a fold after a number of settled trials: a cache, which may be deleted at any time."""

    prefix: int
    actions: int
    content: bytes
