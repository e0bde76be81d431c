"""The status of a study: one small value for the command line, notebooks and the live page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from surepath._text import words_of_users
from surepath.learners.proven import proven_gap
from surepath.learners.watch.findings import DOUBT, doubt
from surepath.model.costs import in_words
from surepath.model.plans import Plan
from surepath.study.status.in_words import status_in_words
from surepath.study.status.progress import rough_trials_left
from surepath.study.storage.contract import Reading
from surepath.study.trial import CANCELLED, EXPIRED, FAILED, IMPORTED, LATE, PARTIAL, RUNNING, STATES, WAITING

if TYPE_CHECKING:
    from surepath.study.study import Study

MOST_WAITING = 1_000_000
LATEST = 500  # trials among which a failure is searched, to keep the cost small
NOTED = (FAILED, PARTIAL, CANCELLED)  # what may carry a note that says why


class RunningTrial(NamedTuple):
    """A trial that is under way, or awaited after its lease has ended: then `lease_until` says when it is given up."""

    number: int
    worker: str
    plan: Plan
    asked: float
    lease_until: float


@dataclass(frozen=True)
class Status:
    """The status of a study.

    Attributes:
        name, storage: Where it is; a password is not shown.
        trials: How many were assigned, imported or reported late.
        states: How many are in each state.
        settled: Trials up to the first one that still runs: what the proof is made of.
        best_plan: The current plan.
        certified_gap: How far it can be from the best, proven; infinite when nothing is but what the ranges say.
        epsilon, delta: What is asked for.
        done: Whether that is proven.
        rough_trials_left: A rough upper bound: those needed if the gap fell no faster than with the root of the trials;
            None when nothing can be said. `Study.forecast` simulates instead.
        running: Trials whose lease has not ended.
        workers: Who runs them.
        findings: What the rewards say against the declared noise, in sentences.
        now: The storage's clock, in seconds since 1970.
        last_failure: Which of the latest trials failed last, and why; "" when none did.
        spent: What the trials have cost, as far as each came; None where no option has a cost.
        worth: How a plan's worth is made of score and cost; "" where it is the score.
        ahead: Reported trials that count only once an earlier one, which still runs, is settled too.
        enough: Whether they suffice then, unless what is still running contradicts them.
        overdue: Trials whose lease has ended and that are awaited still.
        late: Results that came after their trial was given up or cancelled: they do not count.
    """

    name: str
    storage: str
    trials: int
    states: dict[str, int]
    settled: int
    best_plan: Plan
    certified_gap: float
    epsilon: float
    delta: float
    done: bool
    rough_trials_left: int | None
    running: tuple[RunningTrial, ...]
    workers: tuple[str, ...]
    findings: tuple[str, ...]
    now: float
    last_failure: str = ""
    spent: float | None = None
    worth: str = ""
    ahead: int = 0
    enough: bool = False
    overdue: tuple[RunningTrial, ...] = ()
    late: int = 0

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
        """Return everything as plain values."""
        running = [trial._asdict() for trial in self.running]
        overdue = [trial._asdict() for trial in self.overdue]
        found = {**asdict(self), "answer": self.answer, "running": running, "overdue": overdue}
        return {
            name: value for name, value in found.items() if name not in ("spent", "worth") or value not in (None, "")
        }


def read_status(study: Study) -> Status:
    """Read the status of a study; the cost does not grow with its history."""
    with study._lock:
        study.sync()
        fold = study._fold
        waiting, now = study._read(lambda log: (len(log.queue(MOST_WAITING)), log.now()))
        after = sorted(fold.window.values())
        states = {state: fold.tally.states.get(state, 0) + sum(row.state == state for row in after) for state in STATES}
        running, overdue = (
            tuple(
                RunningTrial(row.number, row.worker, study.mdp.plan(list(row.path)), row.asked, row.lease)
                for row in after
                if not row.settled and row.state == state
            )
            for state in (RUNNING, EXPIRED)
        )
        learner = fold.view  # reading must not change what the log decides
        gap, epsilon = proven_gap(learner), float(learner.epsilon)
        with words_of_users():
            findings = tuple(str(finding.message) for finding in learner.findings())
        left = 0 if learner.stopped else rough_trials_left(study.evidence_trials, gap, epsilon)
        return Status(
            name=study.name,
            storage=study.storage.shown,
            trials=fold.prefix + len(after),
            states={**states, WAITING: waiting},
            settled=fold.prefix,
            best_plan=study.mdp.plan(learner.recommend()),
            certified_gap=gap,
            epsilon=epsilon,
            delta=float(learner.delta),
            done=bool(learner.stopped),
            rough_trials_left=left,
            running=running,
            workers=tuple(sorted({trial.worker for trial in running})),
            findings=findings,
            now=now,
            last_failure=study._read(last_failure) if any(states[state] for state in NOTED) else "",
            spent=fold.spent,
            worth=in_words(study.mdp),
            ahead=sum(row.settled for row in after),
            enough=fold.enough(),
            overdue=overdue,
            late=fold.tally.sources[LATE] + sum(row.source == LATE for row in after),
        )


def last_failure(log: Reading) -> str:
    """Describe the trial that failed last, or was cancelled for a mistake, with its reason; the latest are searched."""
    rows = log.trials(max(log.last_number() - LATEST + 1, 1), LATEST)
    failed = [row for row in rows if row.state in NOTED and row.note and row.source != IMPORTED]
    if not failed:
        return ""
    last = max(failed, key=lambda row: (row.told or 0.0, row.number))
    return f"trial {last.number}: {last.note}"
