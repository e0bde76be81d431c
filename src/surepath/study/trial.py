"""A trial: the states it can be in, what each means for the evidence, and what its worker sees of it.

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
    """

    number: int
    plan: Plan
    path: IntArray
    lease_until: float
    source: str
    worker: str

    def __str__(self) -> str:
        return f"trial {self.number}: {plan_in_words(self.plan)}"


def trial_number(trial: Trial | int) -> int:
    """Return the number of a trial, given as a Trial or by its number."""
    return trial.number if isinstance(trial, Trial) else whole("the number of a trial", trial, low=1)
