"""A trial as its worker sees it: which plan to run, under which number to report, until when."""

from __future__ import annotations

from dataclasses import dataclass

from surepath._types import IntArray
from surepath.model.plans import Plan


@dataclass(frozen=True, eq=False)
class Trial:
    """One play of a plan that was handed out.

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
        return f"trial {self.number}: " + ", ".join(f"{step}={option}" for step, option in self.plan.items())
