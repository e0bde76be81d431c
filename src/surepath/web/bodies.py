"""What requests carry, checked before anything is done with it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from surepath.study.creation import LONGEST_NAME
from surepath.study.telling import LONGEST_KEY, LONGEST_NOTE

MOST_ASKED_PER_REQUEST = 1_000
Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY)]  # the study wants it printable too
Word = Annotated[str, Field(max_length=LONGEST_NAME)]
Score = Annotated[float, Field(strict=True)]
Scores = list[Score] | dict[Word, Score]
PlanOrArcs = dict[Word, Word | int] | list[int]


class Body(BaseModel):
    """A request's body: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Ask(Body):
    """Ask for trials; the same request key again gives the same trials."""

    n: int = Field(default=1, ge=1, le=MOST_ASKED_PER_REQUEST)
    worker: Word = "web"
    request: Key | None = None
    budget: float | None = Field(default=None, gt=0, description="What the study may spend in all.")


class Tell(Body):
    """Report scores: one per step, in order or by step."""

    rewards: Scores = Field(examples=[[0.5, 0.8, 0.1], {"retriever": 0.8}])


class Fail(Body):
    """Report a failure, with the scores seen before it."""

    rewards: Scores = Field(default_factory=list)
    note: str = Field(default="", max_length=LONGEST_NOTE)


class Cancel(Body):
    """Cancel a trial that was not run, and say why."""

    note: str = Field(default="", max_length=LONGEST_NOTE)


class ReportedResult(Body):
    """One result among many; `path` is what was played, to be compared, and `where` its place for messages."""

    number: int = Field(ge=1, le=2**53)
    rewards: Scores = Field(default_factory=list)
    failed: bool = False
    note: str = Field(default="", max_length=LONGEST_NOTE)
    where: str = Field(default="", max_length=200)
    path: list[int] | None = None


class TellMany(Body):
    """Report many trials: all of them or, when one is refused, none."""

    results: list[ReportedResult] = Field(examples=[[{"number": 1, "rewards": [0.5, 0.8, 0.1]}]])


class Past(Body):
    """A result from before the study."""

    plan: PlanOrArcs
    rewards: Scores


class Import(Body):
    """Import past results; the same request key again changes nothing."""

    results: list[Past] = Field(examples=[[{"plan": [0, 2, 8], "rewards": [0.5, 0.8, 0.1]}]])
    note: str = Field(default="imported", max_length=LONGEST_NOTE)
    request: Key | None = None
    again: bool = Field(default=False, description="Count results that an earlier import held once more.")


class Enqueue(Body):
    """Queue a plan of your own: {step: option}, or arcs."""

    plan: PlanOrArcs = Field(examples=[{"retriever": "bm25", "model": "small"}, [0, 2, 8]])
    request: Key | None = None


class Exclude(Body):
    """Mark options as infeasible: {step: option}, or arcs."""

    option: PlanOrArcs = Field(examples=[{"retriever": "bm25"}, [2]])
    request: Key | None = None


class Tighten(Body):
    """Continue with a smaller epsilon."""

    epsilon: Score = Field(examples=[0.1])
    request: Key | None = None
