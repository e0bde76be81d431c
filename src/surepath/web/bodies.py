"""What requests carry, checked before anything is done with it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from surepath.study.creation import LONGEST_NAME

MOST_ASKED = 1_000
Key = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
Word = Annotated[str, Field(max_length=LONGEST_NAME)]
Score = Annotated[float, Field(strict=True)]
Scores = list[Score] | dict[Word, Score]


class Body(BaseModel):
    """A request's body: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Ask(Body):
    """Ask for trials; the same request key again gives the same trials."""

    n: int = Field(default=1, ge=1, le=MOST_ASKED)
    worker: Word = "web"
    request: Key | None = None


class Tell(Body):
    """Report scores: one per step, in order or by step."""

    rewards: Scores = Field(examples=[[0.5, 0.8, 0.1], {"retriever": 0.8}])


class Fail(Body):
    """Report a failure, with the scores seen before it."""

    rewards: Scores = Field(default_factory=list)
    note: str = Field(default="", max_length=2_000)


class Enqueue(Body):
    """Queue a plan of your own: {step: option}, or arcs."""

    plan: dict[Word, Word | int] | list[int] = Field(examples=[{"retriever": "bm25", "model": "small"}, [0, 2, 8]])
    request: Key | None = None


class Exclude(Body):
    """Mark options as infeasible: {step: option}, or arcs."""

    option: dict[Word, Word | int] | list[int] = Field(examples=[{"retriever": "bm25"}, [2]])
    request: Key | None = None


class Tighten(Body):
    """Go on to a smaller epsilon."""

    epsilon: Score = Field(examples=[0.1])
    request: Key | None = None
