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

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from surepath._checks import IntArray, whole
from surepath.model.mdp import MDP
from surepath.model.paths import Plan, plan_in_words

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
