"""Status of a study: in words, as a line of progress, in notebooks, explained, and the gap over the trials."""

from __future__ import annotations

import logging
import math
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from surepath._checks import BoolArray, rounded_up
from surepath._text import many, shown
from surepath.learners.base import proven_gap
from surepath.model.mdp import MDP
from surepath.model.paths import Plan, plan_in_words, stage_of, step_names
from surepath.model.paths import in_words as costs_in_words
from surepath.study.creation import duration_text
from surepath.study.fold import Fold, Point, money
from surepath.study.rounds import StudyRounds, round_facts, round_in_words
from surepath.study.storage import Reading
from surepath.study.trial import STATES, State, Trial, TrialRow
from surepath.verify.file import ADVICE, doubt

if TYPE_CHECKING:
    from surepath.study.study import Study

# Progress: one line on a terminal, nothing anywhere else --------------------------------------------------------------

log = logging.getLogger("surepath.study")

REDRAWN_EVERY = 0.2  # seconds
FORECAST_EVERY = 15.0  # seconds
MOST_PLAN = 48  # characters of the current plan


def gap_in_words(gap: float, epsilon: float) -> str:
    """Describe how far the current plan can be from the best, beside what is wanted."""
    return f"proven gap {rounded_up(gap)}, wanted {epsilon:.3g}" if math.isfinite(gap) else "nothing proven yet"


class Progress:
    """The line itself; with show=None only where standard error is a terminal."""

    def __init__(self, study: Study, show: bool | None = None, budget: float | None = None) -> None:
        self._study, self._budget = study, budget
        self.shown = sys.stderr.isatty() if show is None else show
        self._next, self._used = 0.0, False
        self._lock = threading.Lock()
        self._left, self._guessed, self._guessing = math.inf, time.monotonic(), threading.Thread()

    def show(self) -> None:
        """Write the line anew, five times a second at most."""
        if not self.shown or time.monotonic() < self._next or not self._lock.acquire(blocking=False):
            return
        try:
            self._next, self._used = time.monotonic() + REDRAWN_EVERY, True
            self._write("")
        finally:
            self._lock.release()

    def say(self, words: str) -> None:
        """Write a separate line where the progress is shown, and to the log everywhere."""
        log.info(words)
        if self.shown:
            sys.stderr.write(f"{shown(words)}\n")

    def close(self) -> None:
        """End the line of progress."""
        if self._used:
            self._write("\n")
            self._used = False

    def _guess(self) -> None:
        with suppress(Exception):  # a guess more or less
            self._left = self._study._trials_left()
        self._guessed = time.monotonic()

    def _write(self, end: str) -> None:
        if not self._guessing.is_alive() and time.monotonic() >= self._guessed + FORECAST_EVERY:
            self._guessing = threading.Thread(target=self._guess, daemon=True, name="surepath-forecast")
            self._guessing.start()
        text, most = status_line(self._study.status(), self._budget, self._left), shutil.get_terminal_size().columns - 1
        if len(text) > most:  # a longer one would go on in lines that cannot be written over
            text = text[: max(most - 1, 0)] + "…"
        sys.stderr.write(f"\r{text}\x1b[K{end}")
        sys.stderr.flush()


# In words -------------------------------------------------------------------------------------------------------------

MOST_SHOWN = 6  # running trials, each on a line of its own
MOST_WORKERS_LISTED = 10


def status_line(now: Status, budget: float | None = None, left: float = math.inf) -> str:
    """Describe a status on one line, with how many trials are left as far as known."""
    failed = f", {now.states['failed']:,} failed" if now.states["failed"] else ""
    paid = "" if now.spent is None else f", {money(now.spent)} spent"
    paid += f" of {money(budget)}" if paid and budget is not None else ""
    more = ", done" if now.done else "" if math.isinf(left) else f", about {left:,.0f} more trials"
    more += ", in doubt" if now.findings else ""
    plan = plan_in_words(now.best_plan) if math.isfinite(now.certified_gap) else ""
    plan = f" ({plan if len(plan) <= MOST_PLAN else plan[: MOST_PLAN - 1] + '…'})" if plan else ""
    waiting = f", {now.ahead:,} waiting for their turn" if now.ahead > now.states["running"] else ""
    counted = f"{many(now.evidence, 'trial')}{waiting}{failed}{paid}, {now.states['running']:,} running"
    return f"{counted}: {gap_in_words(now.certified_gap, now.epsilon)}{more}{shown(plan)}"


def status_in_words(now: Status) -> str:
    """Describe a status."""
    counts = ", ".join(f"{count:,} {state}" for state, count in now.states.items() if count) or "none yet"
    gap = gap_in_words(now.certified_gap, now.epsilon)
    spent = "" if now.spent is None else f"; spent {money(now.spent)}"
    proven = math.isfinite(now.certified_gap)
    lines = [
        f"{shown(now.name)} in {shown(now.storage)}",
        f"trials: {counts}{spent}",
        *([f"best plan{'' if now.done else ' so far'}: {shown(plan_in_words(now.best_plan))}"] if now.evidence else []),
        f"{gap}{', wrong with probability ' + format(now.delta, 'g') + ' at most' if proven else ''}"
        f"{': done' if now.done and not now.findings else ''}",
    ]
    lines += [f"counted: {now.worth}"] if now.worth else []
    lines += [f"excluded: {shown('; '.join(now.excluded))}; the proof is over the rest"] if now.excluded else []
    lines += [shown(now.doubt)] if now.doubt else []
    lines += [round_in_words(now.round)] if now.round is not None else []
    lines += [waiting] if (waiting := waiting_in_words(now)) else []
    lines += [f"{many(now.late, 'result')} came too late to count"] if now.late else []
    lines += [f"running: {line}" for line in _running(now)]
    lines += [f"last failure: {shown(now.last_failure)}"] if now.last_failure else []
    lines += [f"finding: {shown(one)}" for one in now.findings[1:]]
    return "\n".join(lines)


def waiting_in_words(now: Status) -> str:
    """Say which trial the reported ones wait for; "" where none do."""
    if not now.ahead or not (now.running or now.overdue):
        return ""
    results = "1 result counts" if now.ahead == 1 else f"{now.ahead:,} results count"
    first = min(now.running + now.overdue, key=lambda trial: trial.number)
    left = duration_text(max(first.lease_until - now.now, 0.0))
    who = f" by {shown(first.worker)}" if first.attended else f", taken by hand by {shown(first.worker)},"
    until = f"its lease has ended; it is given up in {left}" if first in now.overdue else f"lease {left}"
    return f"{results} once trial {first.number}{who} is reported or cancelled ({until})" + (
        "; that is then enough" if now.enough and now.round is None else ""
    )


def _running(now: Status) -> list[str]:
    """Write one line per running trial, or per worker where there are many."""

    def lease(end: float) -> str:
        return duration_text(max(end - now.now, 0.0))

    if len(now.running) <= MOST_SHOWN:
        return [f"trial {one.number} by {shown(one.worker)}, lease {lease(one.lease_until)}" for one in now.running]
    lines = [f"{one.trials:,} by {shown(one.name)}, lease {lease(one.lease_until)}" for one in now.workers]
    if len(lines) > MOST_WORKERS_LISTED:
        more = sum(one.trials for one in now.workers[MOST_WORKERS_LISTED:])
        lines[MOST_WORKERS_LISTED:] = [f"{more:,} by {len(lines) - MOST_WORKERS_LISTED:,} other workers"]
    return lines


# Status: one record for the command line, notebooks, the page and clients, the same on the wire ----------------------

MOST_WAITING = 1_000_000
MOST_LISTED = 200  # running trials that a status lists; its workers count them all
LATEST = 500  # trials among which a failure is searched, to keep the cost small
NOTED = ("failed", "partial", "cancelled")  # what may carry a note that says why


class Worker(NamedTuple):
    """Worker with running trials: how many, and when the first of their leases ends."""

    name: str
    trials: int
    lease_until: float


@dataclass(frozen=True)
class Status:
    """The status of a study."""

    name: str
    storage: str  #: Where it is; no secret of the address is shown.
    created: float
    version: str  #: Of surepath, which created it.
    change: int  #: The last change of the log.
    digest: str  #: The hash over the settled prefix of the log.
    now: float  #: The storage's clock, in seconds since 1970.
    trials: int  #: How many were assigned, imported or reported late.
    states: dict[str, int]  #: How many are in each state.
    settled: int  #: Trials up to the first one that still runs: what the proof is made of.
    evidence: int  #: Those of them whose scores are part of the proof.
    ahead: int  #: Reported trials that count only once an earlier one, which still runs, is settled too.
    enough: bool  #: Whether they suffice then, unless what is still running contradicts them.
    best_path: tuple[int, ...]
    best_plan: Plan  #: The current plan.
    certified_gap: float  #: How far it can be from the best, proven; infinite when only the ranges say something.
    epsilon: float
    delta: float
    done: bool  #: Whether what is asked for, epsilon and delta, is proven.
    running: tuple[Trial, ...]  #: The first trials whose lease has not ended.
    workers: tuple[Worker, ...]  #: Who runs them.
    findings: tuple[str, ...]  #: What the scores say against the declared noise, in sentences.
    last_failure: str  #: Which of the latest trials failed last, and why; "" when none did.
    spent: float | None  #: What the trials have cost, as far as each came; None where no option has a cost.
    worth: str  #: How a plan's worth is made of score and cost; "" where it is the score.
    overdue: tuple[Trial, ...]  #: Trials that are awaited though their lease has ended, until `lease_until`.
    late: int  #: Results that came after their trial was given up or cancelled: they do not count.
    excluded: tuple[str, ...] = ()  #: Options that cannot be run.
    round: dict[str, Any] | None = None  #: Of a study in rounds: number, plans told, plans in all, effects.

    @property
    def answer(self) -> str:
        """Return "proven", "not proven yet", or "in doubt" where the scores contradict what was declared."""
        proven = self.done and isfinite(self.certified_gap)
        return "in doubt" if self.findings else "proven" if proven else "not proven yet"

    @property
    def doubt(self) -> str | None:
        """Return why the answer is in doubt, in one sentence, or None."""
        return doubt(self.findings) if self.findings else None

    def __str__(self) -> str:
        return status_in_words(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def as_dict(self) -> dict[str, Any]:
        """Return every field and the answer as plain values; `from_dict` makes the same status of them."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        listed = {name: [dict(one.__dict__) for one in getattr(self, name)] for name in ("running", "overdue")}
        return {**found, "answer": self.answer, "workers": [one._asdict() for one in self.workers], **listed}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any], mdp: MDP, storage: str) -> Status:
        """Make a status of what `as_dict` returned, perhaps sent as JSON: null for infinity, names as text."""
        own = {name: found[name] for name in cls.__dataclass_fields__ if name != "storage"}
        for name in ("running", "overdue"):
            own[name] = tuple(Trial.of_wire(one, mdp) for one in own[name])
        own |= {name: tuple(own[name]) for name in ("best_path", "findings", "excluded")}
        own |= {"workers": tuple(Worker(**one) for one in own["workers"]), "best_plan": mdp.plan(own["best_path"])}
        own["certified_gap"] = math.inf if own["certified_gap"] is None else float(own["certified_gap"])
        return cls(**own, storage=storage)


def read_status(study: Study) -> Status:
    """Read the status of a study; the cost does not grow with its history."""
    with study._lock:
        study.sync()
        return study._read(lambda log: status_of(study, study._fold, log))


def status_of(study: Study, fold: Fold, log: Reading) -> Status:
    """Return the status of a study whose fold is up to date."""
    after = sorted(fold.window.values())
    states: dict[str, int] = {
        state: fold.tally.states.get(state, 0) + sum(row.state == state for row in after) for state in STATES
    }
    open_rows = [row for row in after if not row.settled]
    running = [row for row in open_rows if row.state == "running"]
    learner: Any = fold.view  # reading must not change what the log decides
    path, gap, epsilon = learner.recommend(), proven_gap(learner), float(learner.epsilon)
    return Status(
        name=study.name,
        storage=study.storage.shown,
        created=study.record.created,
        version=study.record.version,
        change=fold.change,
        digest=fold.digest,
        now=log.now,
        trials=fold.prefix + len(after),
        states={**states, "waiting": len(log.queue(MOST_WAITING))},
        settled=fold.prefix,
        evidence=fold.tally.scored,
        ahead=sum(row.settled for row in after),
        enough=fold.enough(),
        best_path=tuple(path.tolist()),
        best_plan=study.mdp.plan(path),
        certified_gap=gap,
        epsilon=epsilon,
        delta=float(learner.delta),
        done=bool(learner.stopped),
        running=tuple(study._trial(row) for row in running[:MOST_LISTED]),
        workers=_workers(running),
        findings=tuple(str(finding.message) for finding in learner.findings()),
        last_failure=last_failure(log) if any(states[state] for state in NOTED) else "",
        spent=fold.spent,
        worth=costs_in_words(study.mdp),
        overdue=tuple(study._trial(row) for row in open_rows if row.state == "expired")[:MOST_LISTED],
        late=fold.tally.sources["late"] + sum(row.source == "late" for row in after),
        excluded=_excluded(study.mdp, learner.excluded),
        round=round_facts(learner),
    )


def _excluded(mdp: MDP, out: BoolArray) -> tuple[str, ...]:
    """Name excluded options as step=option, and in how many states where they are open in others."""
    states = Counter((stage_of(mdp, arc), mdp.action_label(arc)) for arc in out.nonzero()[0].tolist())
    found = []
    for (stage, option), count in states.items():
        arcs = range(int(mdp.stage_arc[stage]), int(mdp.stage_arc[stage + 1]))
        total = sum(mdp.action_label(arc) == option for arc in arcs)
        found.append(f"{step_names(mdp)[stage]}={option}" + f" (in {count} of {total} states)" * (count < total))
    return tuple(found)


def _workers(running: Iterable[TrialRow]) -> tuple[Worker, ...]:
    """List who has running trials, by name."""
    leases: dict[str, list[float]] = {}
    for row in running:
        leases.setdefault(row.worker, []).append(row.lease)
    return tuple(Worker(name, len(ends), min(ends)) for name, ends in sorted(leases.items()))


def last_failure(log: Reading) -> str:
    """Describe the trial that failed last, or was cancelled for a mistake, with its reason; the latest are searched."""
    rows = log.trials(max(log.last_number - LATEST + 1, 1), LATEST)
    failed = [row for row in rows if row.state in NOTED and row.note and row.source != "imported"]
    if not failed:
        return ""
    last = max(failed, key=lambda row: (row.told or 0.0, row.number))
    return f"trial {last.number}: {last.note}"


# Explain --------------------------------------------------------------------------------------------------------------


def explain(study: Study) -> str:
    """Describe in words what a study knows now."""
    with study._lock:
        learner, window, ordinary = study.learner, len(study._fold.window), notes(study._fold)
        trials, spent = study._fold.prefix, study._fold.spent
    waiting = f", {window} under way or waiting" if window else ""
    paid = "" if spent is None else f"; spent {money(spent)}"
    lines = [f"study {study.name}: {many(trials, 'trial')} settled{waiting}{paid}"]
    lines += [f"counted: {costs_in_words(study.mdp)}"] if study.mdp.charge is not None else []
    lines += [*str(learner.explain()).split("\n"), *ordinary]
    if findings := learner.findings():
        worst = min(findings, key=lambda found: found.p_value)
        lines += [] if worst.message in lines else [worst.message]
        lines.append(f"what to do: {ADVICE[worst.kind]}")
    return "\n".join(shown(line) for line in lines)


def notes(fold: Fold) -> list[str]:
    """List what is ordinary and belongs to the proof: trials that failed or were lost."""
    learner: Any = fold.view
    stages = None if isinstance(learner, StudyRounds) else learner.pairs.stages
    meaning: dict[State, str] = dict.fromkeys(
        ("failed", "partial", "expired", "cancelled"), "the proof assumes that this did not depend on their scores"
    )
    if stages is not None and stages.fills:
        meaning |= dict.fromkeys(
            ("failed", "partial", "expired"), "scores that are missing count as the worse end of their range"
        )
    if fold.on_failure == "worst":
        meaning |= dict.fromkeys(("failed", "partial"), "the step at which one failed counts as its worst score")
    found = []
    for what in dict.fromkeys(meaning.values()):
        lost = {state: fold.tally.states[state] for state in meaning if meaning[state] == what}
        counts = ", ".join(f"{count:,} {state}" for state, count in lost.items() if count)
        late = fold.tally.sources["late"] if counts and "expired" in lost else 0
        counts += f" ({many(late, 'result')} came too late to count)" if late else ""
        found += [f"Of {many(fold.prefix, 'trial')}, {counts}: {what}"] if counts else []
    return found


# Gap history ----------------------------------------------------------------------------------------------------------


def gap_history(study: Study) -> list[Point]:
    """Return what was proven after each of the first settled trials, then after one in a hundred, and now."""
    study.sync()
    with study._lock:
        return points_of(study._fold)


def points_of(fold: Fold) -> list[Point]:
    """Return the points on the way, and that of now."""
    if fold.prefix == 0 or (fold.trace and fold.trace[-1].trials == fold.prefix):
        return fold.trace
    return [*fold.trace, fold.now()]
