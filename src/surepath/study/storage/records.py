"""The rows of a study's log as plain values: what a storage keeps and gives back unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from surepath.study.trial import EXPIRED, SETTLED


@dataclass(frozen=True)
class StudyRecord:
    """What is frozen when a study is created.

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
    request: str | None = None  # names the request that asked for it, so that a repeated one changes nothing
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
    content: str  # JSON
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
    format: int
    content: bytes
