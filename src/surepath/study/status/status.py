"""The status of a study: one record for the command line, notebooks, the page and clients, the same on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from surepath._text import words_of_users
from surepath.learners.proven import proven_gap
from surepath.learners.watch.findings import DOUBT, doubt
from surepath.model.costs import in_words
from surepath.model.mdp import MDP
from surepath.model.plans import Plan
from surepath.study.fold import Fold
from surepath.study.status.in_words import status_in_words
from surepath.study.status.progress import rough_trials_left
from surepath.study.storage import Reading, TrialRow
from surepath.study.trial import CANCELLED, EXPIRED, FAILED, IMPORTED, LATE, PARTIAL, RUNNING, STATES, WAITING

if TYPE_CHECKING:
    from surepath.study.study import Study

MOST_WAITING = 1_000_000
MOST_LISTED = 200  # running trials that a status lists; its workers count them all
LATEST = 500  # trials among which a failure is searched, to keep the cost small
NOTED = (FAILED, PARTIAL, CANCELLED)  # what may carry a note that says why


class RunningTrial(NamedTuple):
    """A trial that is under way, or awaited after its lease has ended: then `lease_until` says when it is given up."""

    number: int
    worker: str
    plan: Plan
    path: tuple[int, ...]
    asked: float
    lease_until: float


class Worker(NamedTuple):
    """Who runs trials, how many, and when the first of their leases ends."""

    name: str
    trials: int
    lease_until: float


@dataclass(frozen=True)
class Status:
    """The status of a study.

    Attributes:
        name, storage: Where it is; no secret of the address is shown.
        created, version: When it was created, and by which version.
        change, digest: The last change of the log, and the hash over its settled prefix.
        now: The storage's clock, in seconds since 1970.
        trials: How many were assigned, imported or reported late.
        states: How many are in each state.
        settled: Trials up to the first one that still runs: what the proof is made of.
        evidence: Those of them whose scores are part of the proof.
        ahead: Reported trials that count only once an earlier one, which still runs, is settled too.
        enough: Whether they suffice then, unless what is still running contradicts them.
        best_path, best_plan: The current plan.
        certified_gap: How far it can be from the best, proven; infinite when nothing is but what the ranges say.
        epsilon, delta: What is asked for.
        done: Whether that is proven.
        rough_trials_left: A rough upper bound: those needed if the gap fell no faster than with the root of the trials;
            None when nothing can be said. `Study.forecast` simulates instead.
        running: The first trials whose lease has not ended.
        workers: Who runs them.
        findings: What the scores say against the declared noise, in sentences.
        last_failure: Which of the latest trials failed last, and why; "" when none did.
        spent: What the trials have cost, as far as each came; None where no option has a cost.
        worth: How a plan's worth is made of score and cost; "" where it is the score.
        overdue: Trials whose lease has ended and that are awaited still.
        late: Results that came after their trial was given up or cancelled: they do not count.
    """

    name: str
    storage: str
    created: float
    version: str
    change: int
    digest: str
    now: float
    trials: int
    states: dict[str, int]
    settled: int
    evidence: int
    ahead: int
    enough: bool
    best_path: tuple[int, ...]
    best_plan: Plan
    certified_gap: float
    epsilon: float
    delta: float
    done: bool
    rough_trials_left: int | None
    running: tuple[RunningTrial, ...]
    workers: tuple[Worker, ...]
    findings: tuple[str, ...]
    last_failure: str
    spent: float | None
    worth: str
    overdue: tuple[RunningTrial, ...]
    late: int

    @property
    def answer(self) -> str:
        """Return "proven", "not proven yet", or "in doubt" where the scores contradict what was declared."""
        proven = self.done and isfinite(self.certified_gap)
        return DOUBT if self.findings else "proven" if proven else "not proven yet"

    @property
    def doubt(self) -> str | None:
        """Return why the answer is in doubt, in one sentence, or None."""
        return doubt(self.findings)

    def __str__(self) -> str:
        return status_in_words(self)

    def as_dict(self) -> dict[str, Any]:
        """Return every field and the answer as plain values; `from_dict` makes the same status of them."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        listed = {name: [one._asdict() for one in getattr(self, name)] for name in ("running", "overdue", "workers")}
        return {**found, "answer": self.answer, **listed}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any], mdp: MDP, storage: str) -> Status:
        """Make a status of what `as_dict` returned, perhaps sent as JSON: null for infinity, names as text."""
        own = {name: found[name] for name in cls.__dataclass_fields__ if name != "storage"}
        gap = own["certified_gap"]
        return cls(
            **{
                **own,
                "storage": storage,
                "certified_gap": float("inf") if gap is None else float(gap),
                "best_path": tuple(own["best_path"]),
                "best_plan": mdp.plan(own["best_path"]),
                **{
                    name: tuple(
                        RunningTrial(**{**one, "path": tuple(one["path"]), "plan": mdp.plan(one["path"])})
                        for one in own[name]
                    )
                    for name in ("running", "overdue")
                },
                "workers": tuple(Worker(**one) for one in own["workers"]),
                "findings": tuple(own["findings"]),
            }
        )


def read_status(study: Study) -> Status:
    """Read the status of a study; the cost does not grow with its history."""
    with study._lock:
        study.sync()
        return study._read(lambda log: status_of(study, study._fold, log))


def status_of(study: Study, fold: Fold, log: Reading) -> Status:
    """Return the status of a study whose fold is up to date."""
    after = sorted(fold.window.values())
    states = {state: fold.tally.states.get(state, 0) + sum(row.state == state for row in after) for state in STATES}
    running, overdue = (
        [row for row in after if not row.settled and row.state == state] for state in (RUNNING, EXPIRED)
    )
    learner: Any = fold.view  # reading must not change what the log decides
    path, gap, epsilon = learner.recommend(), proven_gap(learner), float(learner.epsilon)
    evidence = fold.tally.scored
    with words_of_users():
        findings = tuple(str(finding.message) for finding in learner.findings())
    return Status(
        name=study.name,
        storage=study.storage.shown,
        created=study.record.created,
        version=study.record.version,
        change=fold.change,
        digest=fold.digest,
        now=log.now(),
        trials=fold.prefix + len(after),
        states={**states, WAITING: len(log.queue(MOST_WAITING))},
        settled=fold.prefix,
        evidence=evidence,
        ahead=sum(row.settled for row in after),
        enough=fold.enough(),
        best_path=tuple(path.tolist()),
        best_plan=study.mdp.plan(path),
        certified_gap=gap,
        epsilon=epsilon,
        delta=float(learner.delta),
        done=bool(learner.stopped),
        rough_trials_left=0 if learner.stopped else rough_trials_left(evidence, gap, epsilon),
        running=_listed(study.mdp, running),
        workers=_workers(running),
        findings=findings,
        last_failure=last_failure(log) if any(states[state] for state in NOTED) else "",
        spent=fold.spent,
        worth=in_words(study.mdp),
        overdue=_listed(study.mdp, overdue),
        late=fold.tally.sources[LATE] + sum(row.source == LATE for row in after),
    )


def _listed(mdp: MDP, rows: list[TrialRow]) -> tuple[RunningTrial, ...]:
    return tuple(
        RunningTrial(row.number, row.worker, mdp.plan(list(row.path)), row.path, row.asked, row.lease)
        for row in rows[:MOST_LISTED]
    )


def _workers(running: Iterable[TrialRow]) -> tuple[Worker, ...]:
    """List who has running trials, by name."""
    leases: dict[str, list[float]] = {}
    for row in running:
        leases.setdefault(row.worker, []).append(row.lease)
    return tuple(Worker(name, len(ends), min(ends)) for name, ends in sorted(leases.items()))


def last_failure(log: Reading) -> str:
    """Describe the trial that failed last, or was cancelled for a mistake, with its reason; the latest are searched."""
    rows = log.trials(max(log.last_number() - LATEST + 1, 1), LATEST)
    failed = [row for row in rows if row.state in NOTED and row.note and row.source != IMPORTED]
    if not failed:
        return ""
    last = max(failed, key=lambda row: (row.told or 0.0, row.number))
    return f"trial {last.number}: {last.note}"
