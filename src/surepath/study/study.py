"""Study: a learner made durable. Ask for trials, tell their scores, from many processes; nothing is lost.

The log in the storage is the truth. A Study holds a fold over it, brought up to date before it answers, so any number
of Study objects, in any number of processes, may work on one study at once. Threads may share one object.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

from surepath._checks import IntArray, check_epsilon, whole
from surepath.errors import StoppedError, StorageError, StudyError, UnknownError
from surepath.learners.base import MOST_ASKED, proven_gap
from surepath.model.files import parse_json_problem
from surepath.model.mdp import MDP
from surepath.model.paths import Plan, option_arcs
from surepath.study import runner
from surepath.study.cases import Cases, CaseSummary, Reference, check_reference, summarize
from surepath.study.creation import Options, enter, expire, new_options, new_record, only_name
from surepath.study.export import copy_log, read_export, trials_frame, write_export
from surepath.study.fold import Fold, checked_budget
from surepath.study.performing import Call, performer, read_retry
from surepath.study.rounds import Confirmation, confirm, refuse_in_rounds
from surepath.study.sheets import import_rows
from surepath.study.status import Status, explain, read_status
from surepath.study.storage import Reading, Storage, Writing, open_storage, retrying
from surepath.study.tables import TransientError
from surepath.study.trial import (
    ActionRow,
    QueueRow,
    Result,
    Rules,
    StudyRecord,
    Trial,
    TrialRow,
    check_countable,
    name_text,
    past_result,
    path_of,
    renew,
    result_of,
    settle,
    tell_many,
    trial_number,
)

if TYPE_CHECKING:
    from surepath.study.certificate import Certificate
    from surepath.study.forecast import Forecast


class Wanted(NamedTuple):
    """A request for trials: how many, for whom, under which name, and what the study may spend in all."""

    n: int
    worker: str
    request: str
    budget: float | None
    attended: bool
    named: bool  # by who asks: it may have been carried out before


T = TypeVar("T")


class BaseStudy(ABC):
    """What a study does in the same way whether its log is in a storage here or behind a server."""

    mdp: MDP

    @abstractmethod
    def close(self) -> None:
        """Release connections; the study itself stays."""

    @abstractmethod
    def status(self) -> Status:
        """Return the status of the study: trials by state, the current plan, what is proven, who works on it."""

    @abstractmethod
    def _trials_left(self) -> float:
        """Guess the trials until done, at little cost, for the line of progress; infinite where nothing says so."""

    @abstractmethod
    def tell_many(self, results: Iterable[Result]) -> list[str]:
        """Report many trials in one transaction: all of them or, when one is refused, none; answers as `tell` does."""

    @abstractmethod
    def _asked(self, **wanted: Any) -> list[Trial]:
        """Assign trials; see `ask`."""

    @abstractmethod
    def _import(self, rows: list[TrialRow], note: str, request: str | None, again: bool) -> None:
        """Import past results that were checked; see `import_trials`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __bool__(self) -> bool:
        """Return True: a study is something, also before its first trial."""
        return True

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    @property
    def worker(self) -> str:
        """Return who works here: host and process."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def ask(
        self,
        n: int | None = None,
        *,
        worker: str | None = None,
        request: str | None = None,
        budget: float | None = None,
        attended: bool = False,
    ) -> Any:
        """Assign the next trial, or with n a list of trials.

        Args:
            n: How many trials; they spread over what is worth knowing.
            worker: Who asks; by default host and process.
            request: A text that names this request: asking again with the same one returns the same trials.
            budget: What this study may spend in all, in the unit of its costs: fewer trials than n where they are
                expected to cost more, and a BudgetError where not even one fits.
            attended: Whether the lease is renewed while the trial runs, as `optimize` does: when it ends all the same,
                the worker has died, and the trial is given up at once. Otherwise it is awaited for ten leases.
        """
        who = self.worker if worker is None else worker
        wanted = {"n": 1 if n is None else n, "worker": who, "request": request, "budget": budget, "attended": attended}
        trials = self._asked(**wanted)
        return trials[0] if n is None else trials

    def tell(
        self,
        trial: Trial | int,
        rewards: Any,
        *,
        cost: float | None = None,
        tries: int = 1,
        baseline: Any = None,
        batch: str = "",
    ) -> str:
        """Report a trial's rewards: H numbers, a prefix of a trial that failed on the way, or {step: reward}.

        `cost` is what the trial really cost, in the unit of the study's costs; `tries` how often it was begun;
        `baseline`, in a study that has them, what each score counts less: one number, or one for each score; `batch`
        names the day, plate or machine: it is kept as the trial's note and decides nothing.

        Returns "told"; "repeated" when the same was told before, which changes nothing; or "late" when the trial had
        been given up or cancelled and later ones count already: the result is kept as a new trial at the end of the
        log, and does not count.
        """
        told = {"note": batch, "cost": cost, "tries": tries, "baseline": baseline}
        return self.tell_many([result_of(trial, rewards, **told)])[0]

    def fail(
        self,
        trial: Trial | int,
        rewards: Any = (),
        note: str = "",
        *,
        cost: float | None = None,
        tries: int = 1,
        baseline: Any = None,
    ) -> str:
        """Report that a trial failed, with the rewards seen before it did."""
        told = {"failed": True, "note": note, "cost": cost, "tries": tries, "baseline": baseline}
        return self.tell_many([result_of(trial, rewards, **told)])[0]

    def import_trials(
        self,
        results: Iterable[tuple[Any, Any]],
        note: str = "imported",
        *,
        request: str | None = None,
        again: bool = False,
    ) -> int:
        """Import past results, (plan, rewards) each; valid if they were not picked by how they came out.

        Args:
            results: Plans as {step: option} or arcs, with the rewards seen.
            note: Where they come from.
            request: A text that names this import: the same results under it again, in any order, change nothing, and
                others are refused.
            again: Results that hold all of an earlier import are refused, since a result that counts twice makes the
                proof wrong; with again=True they count, each as a result of its own.

        Returns:
            How many results the import holds.
        """
        rows = [past_result(self.mdp, plan, rewards, note) for plan, rewards in results]
        self._import(rows, note, request, again)
        return len(rows)

    def optimize(
        self,
        function: Callable[..., Any],
        n_jobs: int | None = None,
        n_trials: int | None = None,
        timeout: Any = None,
        callbacks: Sequence[Callable[..., Any]] = (),
        progress: bool | None = None,
        budget: float | None = None,
        *,
        executor: Executor | None = None,
        retry: int = 0,
        retry_on: Any = (),
        backoff: Any = 1.0,
    ) -> None:
        """Run trials until the answer is proven, the budget is spent or the time is up.

        Leases are renewed while trials run, and other workers may work on the same study. Ctrl-C cancels the running
        trials and is raised again.

        Args:
            function: Gets the plan {step: option} and, in a study with cases, the case, once for each case of a
                trial; returns its rewards (H numbers, or {step: reward}), or yields them step by step. An async one
                runs in one event loop with all others. A `Cost` among the rewards is what the trial cost. An exception
                makes it a failed trial with the rewards yielded so far. A result that is no reward (NaN, text, outside
                the declared range), or one without a reward for every step whose reward is not known anyway, ends the
                run with an error. With on_failure="worst" it must be a generator, so that the step that failed is
                known.
            n_jobs: Trials that run at the same time, each in a thread; 1, the default, runs them in this thread. With
                an executor, as many as it has workers.
            n_trials: Run at most so many.
            timeout: Begin no trial after this time: seconds, "2h".
            callbacks: Called as callback(study, outcome) after each trial, one at a time; True ends the run.
            progress: A line on standard error; by default where that is a terminal.
            budget: What this study may spend in all, in the unit of its costs; no trial is begun that is expected to
                cost more than what is left.
            executor: Runs the function elsewhere: any executor of concurrent.futures, Dask, mpi4py, or RayExecutor.
            retry: How often a trial is begun anew after an exception of `retry_on`; only the last try counts.
            retry_on: Types of exceptions that say nothing about the plan: a rate limit, a lost connection.
            backoff: Seconds before the first new try; doubled with each.
        """
        settings = {"n_trials": n_trials, "timeout": timeout, "budget": checked_budget(budget)}
        settings |= {"callbacks": callbacks, "progress": progress}
        runner.optimize(cast(Any, self), function, n_jobs, executor, read_retry(retry, retry_on, backoff), **settings)


class Study(BaseStudy):
    """A search for the best plan that survives crashes; see `create` and `load`.

    Where a call takes a `request`, a text that names it, a second one of the same name changes nothing.

    Example:
        >>> from surepath import MDP
        >>> mdp = MDP.from_steps({"model": ["small", "large"], "prompt": ["short", "long"]}, sigma=0.1)
        >>> study = Study.create(mdp, storage="memory", epsilon=0.3, delta=0.1)
        >>> score = {"small": 0.2, "large": 0.9, "short": 0.1, "long": 0.8}
        >>> while not study.done:
        ...     trial = study.ask()
        ...     _ = study.tell(trial, [score[option] for option in trial.plan.values()])
        >>> study.best_plan
        {'model': 'large', 'prompt': 'long'}
    """

    def __init__(self, storage: Storage, record: StudyRecord) -> None:
        self.storage, self.record, self.name = storage, record, record.name
        self.mdp: MDP = parse_json_problem(record.problem).mdp
        if self.mdp.content_hash != record.problem_hash:
            raise StudyError(f"the problem of study {record.name!r} is not what its hash says: the record was changed")
        try:
            self.options = Options(**json.loads(record.options))
            settings = json.loads(record.settings)
            epsilon = float(settings["epsilon"])
        except (TypeError, ValueError, LookupError, RecursionError) as error:
            raise StudyError(f"the record of study {record.name!r} is damaged: {error}") from error
        self._lock = threading.RLock()
        seed = f"{record.problem_hash}\n{record.settings}\n{record.options}"
        self._own = 0  # writes of ours since the log was last read
        self._company = True  # whether others have lately written too
        self._known_reference: list[Reference] | None = None
        self._cases = Cases(self.options.cases, self.options.cases_per_trial, f"{record.created!r}\n{seed}")
        self._rules = Rules(epsilon, self.options.on_failure, self.options.baseline)
        self._fold = Fold(self.mdp, settings, self.options.on_failure, seed)

    # Opening -----------------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        problem: Any,
        storage: str | Storage = "sqlite:///study.db",
        name: str | None = None,
        learner: str | Mapping[str, Any] | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        sigma: Any = None,
        lease: Any = "10min",
        *,
        on_failure: str = "leave-out",
        cases: Any = None,
        cases_per_trial: int = 1,
        dependence: str | None = None,
        missing: str | None = None,
        baseline: bool = False,
        exist_ok: bool = False,
    ) -> Study:
        """Create a study; its problem, learner and every number of its bound are frozen from here on.

        Args:
            problem: An MDP, a problem file, a dict with the fields of one, or the options of each step {step: options}.
            storage: "sqlite:///study.db" or a file name, "postgresql://...", or "memory".
            name: Unique in its storage; by default the problem's name, or "study".
            learner: A name, or {"name": ..., setting: value, ...}; by default Challenger, or Rounds for a problem with
                structure="additive".
            epsilon: How far from the best the answer may be; by default what the problem file asks.
            delta: Allowed probability of a wrong answer; by default what the problem file asks.
            sigma: Noise of the rewards; by default what the problem declares.
            lease: How long a trial may stay unreported before its plan is assigned again: "10min", "2h", seconds.
            on_failure: "leave-out" (a failed trial is no evidence, and is counted) or "worst" (the step that failed
                counts as its worst score; for problems with a declared range in which failing is part of the score).
            cases: What trials are played on: a number of cases, their names, or a CSV file of them. Every trial gets
                one, drawn by the study with replacement and without a look at the plan.
            cases_per_trial: How many cases a trial is played on; its score is their mean.
            dependence: "any" (the default): the scores of one trial may depend on each other, since they share a case,
                at a price of about 2 times the trials, more for long plans that share no step; or "independent".
            missing: What the breaking off of a trial has to do with its scores, under "any": "related" (the default) or
                "unrelated", as in `Challenger`.
            baseline: Every trial is told with a baseline that its scores count less, such as the stored scores of
                today's plan on the same case. Its mean must be the same whatever plan is played, and what it is taken
                from fixed before the first trial. sigma and ranges are those of the differences.
            exist_ok: Load the study of this name if it exists with the same problem, learner and options.
        """
        place = open_storage(storage)
        options = new_options(lease, on_failure, cases, cases_per_trial, baseline)
        record = new_record(problem, name, learner, epsilon, delta, sigma, options, dependence, missing)
        return cls(place, enter(place, record, exist_ok))

    @classmethod
    def load(cls, storage: str | Storage, name: str | None = None) -> Study:
        """Open a study; the name may be left out where the storage has only one."""
        place = open_storage(storage)
        wanted = only_name(place) if name is None else name
        return cls(place, retrying(lambda: place.load(wanted), place.patience))

    def close(self) -> None:
        """Release the database's connections; the study itself stays."""
        self.storage.close()

    # The log -----------------------------------------------------------------------------------------------------

    def _write(self, do: Callable[[Writing], T]) -> T:
        """Run a write transaction, again when a passing fault stopped it: `do` must be harmless a second time."""

        def once() -> T:
            with self.storage.writing(self.name, self._fold.change) as log:
                self._check_same(log)
                answer = do(log)
            self._own += 1
            return answer

        with self._lock:
            return retrying(once, self.storage.patience)

    def _read(self, do: Callable[[Reading], T]) -> T:
        def once() -> T:
            with self.storage.reading(self.name, self._fold.change) as log:
                self._check_same(log)
                return do(log)

        return retrying(once, self.storage.patience)

    def _check_same(self, log: Reading) -> None:
        if log.created != self.record.created:
            raise UnknownError(f"the study {self.name!r} was deleted and created anew; load it again")

    def sync(self) -> None:
        """Fold in what other workers have reported; every property does so by itself."""
        with self._lock:
            if self._read(self._catch_up):
                try:
                    self._expire()
                except TransientError:
                    raise
                except StorageError:  # what cannot be written can be read; asking for a trial raises the error
                    return
                self._read(self._catch_up)

    def _expire(self) -> None:
        self._write(lambda log: expire(log, self.options.lease))

    def _holds(self) -> bool:
        """Return whether what was reported suffices once earlier trials, which still run, are settled."""
        with self._lock:
            if self._fold.change == 0:
                self.sync()
            if not self._fold.enough():  # as of the last ask: nothing is read where nothing waits
                return False
            self.sync()
            return self._fold.enough()

    def _numbers_of(self, request: str) -> list[int]:
        return [row.number for row in self._read(lambda log: log.trials_of_request(request))]

    def _catch_up(self, log: Reading) -> bool:
        """Fold in what is new; return whether leases have expired that nobody has marked yet."""
        self._fold.sync(log)
        self._own = 0
        return bool(log.expired(log.now, 1))

    # Trials ------------------------------------------------------------------------------------------------------

    def _asked(self, **wanted: Any) -> list[Trial]:
        with self._lock:
            (rows,) = self._ask_each([self._wanted(**wanted)])
        return [self._trial(row) for row in rows]

    def _wanted(self, n: int, worker: str, request: str | None, budget: float | None, attended: bool) -> Wanted:
        """Check what is asked for; see `ask`."""
        count, who = whole("n", n, low=1, high=MOST_ASKED), name_text("worker", worker)
        return Wanted(count, who, _key(request), checked_budget(budget), attended, request is not None)

    def _ask_each(self, wanted: Sequence[Wanted]) -> list[list[TrialRow]]:
        """Assign the trials of some requests, in their order and in one transaction; called with the lock held."""
        if self._company:  # what others reported is folded in before the lock is taken: they need not wait for it
            self.sync()
        attempts = itertools.count()
        while (rows := self._write(lambda log: self._assign(log, wanted, next(attempts) > 0))) is None:
            self._expire()
            self.sync()
        return rows

    @property
    def spent(self) -> float | None:
        """Return what the trials have cost so far, as far as each came; None where no option has a cost."""
        with self._lock:
            self.sync()
            return self._fold.spent

    def _assign(self, log: Writing, wanted: Sequence[Wanted], again: bool) -> list[list[TrialRow]] | None:
        """Append the next trials of each request; None when leases have expired, which must be marked first."""
        answers: list[list[TrialRow]] = []
        new: list[TrialRow] = []
        for one in wanted:
            rows = log.trials_of_request(one.request) if again or one.named else []
            if not rows:
                if not new:
                    if log.expired(log.now, 1):
                        return None
                    self._company = log.last_change - self._fold.change > self._own
                    self._fold.sync(log)
                    self._own = 0
                    if self._fold.learner.stopped:
                        raise StoppedError(
                            f"study {self.name!r} is done after {self._fold.prefix} trials; best_plan has its answer"
                            f"{'' if self.mdp.scored else ', tighten() goes on'}"
                        )
                rows = self._new_trials(log, one, new)
                new += rows
            answers.append(rows)
        if new:
            self._fold.save(log)
        return answers

    def _new_trials(self, log: Writing, one: Wanted, beside: Sequence[TrialRow]) -> list[TrialRow]:
        reference, rows, now = self._reference(log), list[TrialRow](), log.now
        facts: dict[str, Any] = {"worker": one.worker, "asked": now, "lease": now + self.options.lease}
        facts |= {"request": one.request, "attended": one.attended}
        for i, plan in enumerate(self._fold.next_plans(log, one.n, one.budget, beside), start=log.last_number + 1):
            cases = self._cases.drawn(i) if self._cases.names else ()
            less = () if reference is None else reference.baseline(cases)
            rows.append(TrialRow(i, "running", plan.path, plan.source, plan.of, cases=cases, baseline=less, **facts))
        log.add_trials(rows)
        return rows

    def _reference(self, log: Reading) -> Reference | None:
        """Return the reference, which is told before the first trial or never."""
        if not self._cases.names:
            return None
        if self._known_reference is None or not log.last_number:
            told = [row.content["scores"] for row in log.actions_after(0)[:1] if row.kind == "reference"]
            self._known_reference = [Reference(scores) for scores in told]
        return self._known_reference[0] if self._known_reference else None

    def _trial(self, row: TrialRow) -> Trial:
        path = self.mdp.check_path(row.path)
        plan = self.mdp.plan(path)
        return Trial(row.number, plan, path, row.lease, row.source, row.worker, row.cases, row.attended)

    def cancel(self, trial: Trial | int, note: str = "") -> None:
        """Cancel a trial that was not run, with a note that says why; one that is settled already stays as it is."""
        number = trial_number(trial)
        self._write(lambda log: settle(log, number, "cancelled", note))

    def renew(self, trial: Trial | int) -> float:
        """Extend a lease from now; returns when it ends. An expired trial cannot be renewed."""
        number = trial_number(trial)
        return self._write(lambda log: renew(log, number, self.options.lease))

    def enqueue(self, plan: Mapping[Any, Any] | Sequence[int] | IntArray, *, request: str | None = None) -> None:
        """Queue a plan of your own, {step: option} or arcs, to be assigned next: any plan is valid data."""
        refuse_in_rounds(self._fold.learner, "a plan of your own")
        arcs, key = tuple(path_of(self.mdp, plan).tolist()), _key(request)

        def do(log: Writing) -> None:
            if log.first_time(key, ["queued", arcs]):
                log.add_to_queue(QueueRow(0, arcs, "queued", None, log.now))

        self._write(do)

    def tell_many(self, results: Iterable[Result]) -> list[str]:
        """Report many trials in one transaction: all of them or, when one is refused, none; answers as `tell` does."""
        listed = list(results)
        return self._write(lambda log: tell_many(log, self.mdp, listed, self._rules))

    def _import(self, rows: list[TrialRow], note: str, request: str | None, again: bool) -> None:
        refuse_in_rounds(self._fold.learner, "a result from before")
        import_rows(self, rows, _key(request), again)

    def reference(
        self,
        plan: Mapping[Any, Any] | Sequence[int] | IntArray,
        play: Callable[..., Any] | Mapping[str, Any],
        n_jobs: int = 1,
    ) -> None:
        """Play today's plan on every case before the first trial, to tell hard cases from bad plans.

        From then on what it scored on the case of a trial, beside its own mean, is taken off the scores of the trial.
        That changes no mean, and removes what the scores of a case have in common: declare the sigma of the difference.
        These plays are no trials and count as none.

        Args:
            plan: {step: option}, or arcs.
            play: A function as `optimize` takes it; or what the plan has scored, {case: rewards}.
            n_jobs: Cases that are played at the same time.
        """
        refuse_in_rounds(self._fold.learner, "a reference")
        if self.options.baseline:
            raise StudyError("every trial of this study is told with a baseline of its own; it takes no reference")
        path = path_of(self.mdp, plan)
        if not isinstance(play, Mapping):
            play = runner.play_cases(self, path, performer(Call(play, self.mdp.horizon)), n_jobs)
        content = {"path": path.tolist(), "scores": check_reference(self, path, play)}

        def do(log: Writing) -> None:
            if log.last_number or log.actions_after(0):
                raise StudyError("a reference is told before the first trial and the first decision, and only once")
            log.add_action(ActionRow(1, 0, "reference", content, log.now))

        self._write(do)

    def confirm(
        self,
        function: Callable[[Any], Any],
        *,
        margin: float,
        rivals: Iterable[Any] | None = None,
        delta: float | None = None,
    ) -> Confirmation:
        """Play the answer of a study in rounds against rivals, and state what holds with no model of the scores.

        The number of fresh plays is fixed before the first, and looked at once, at the end; the certificate holds it.

        Args:
            function: Gets the plan {step: option} and returns its score.
            margin: What two plans' means are told apart by: a lead of this size is proven to be one.
            rivals: Plans, today's among them; by default the closest ones.
            delta: Probability that a statement is wrong, added to the study's own; by default the same.
        """
        return confirm(self, function, rivals, margin, delta)

    # Files -------------------------------------------------------------------------------------------------------

    def export(self, path: str | Path) -> int:
        """Write the whole log to a file: JSON lines, from which `from_export` makes the same study, or .csv to read.

        Returns the number of trials written.
        """
        return write_export(self, Path(path))

    @classmethod
    def from_export(
        cls, path: str | Path, storage: str | Storage = "sqlite:///study.db", name: str | None = None
    ) -> Study:
        """Make the study of an exported log (JSON lines) in a storage, under its own or another name."""
        place = open_storage(storage)
        return cls(place, read_export(Path(path), place, name))

    def copy(self, name: str, *, dependence: str | None = None) -> Study:
        """Make another study of the same log, in the same storage.

        Args:
            name: Of the copy.
            dependence: "any" reads a log of whole trials again as one whose scores may depend on each other, which is
                valid by itself; whoever takes the answer that comes first, of the study or its copy, is wrong with
                probability 2 delta at most.
        """
        return Study(self.storage, copy_log(self, name, dependence))

    # Decisions ---------------------------------------------------------------------------------------------------

    def exclude(self, option: Any, *, request: str | None = None) -> None:
        """Mark options, {step: option} or arcs, as infeasible: a fact of the world and not a verdict on scores."""
        refuse_in_rounds(self._fold.learner, "an exclusion")
        arcs = option_arcs(self.mdp, option).tolist()
        self._decide("exclude", arcs, lambda copy: copy.exclude(arcs), _key(request))

    def tighten(self, epsilon: float, *, request: str | None = None) -> None:
        """Continue with a smaller epsilon, all data kept."""
        refuse_in_rounds(self._fold.learner, "another epsilon")
        wanted = check_epsilon(epsilon)
        self._decide("tighten", wanted, lambda copy: copy.tighten(wanted), _key(request))

    def _decide(self, kind: str, content: Any, attempt: Callable[[Any], None], key: str) -> int:
        """Write an action into the log; returns its number, 0 where the first attempt came through after all."""

        def do(log: Writing) -> int:
            if not log.first_time(key, [kind, content]):
                return 0
            self._fold.sync(log)
            attempt(self._fold.copy())  # what the learner refuses never enters the log
            if kind == "tighten":  # nor what would make it refuse results that wait for their turn
                for row in self._fold.ahead:
                    check_countable(log, self.mdp, row, self._rules._replace(epsilon=content))
            number = self._fold.actions + 1
            log.add_action(ActionRow(number, self._fold.prefix, kind, content, log.now))
            return number

        with self._lock:
            number = self._write(do)
            self.sync()
            return number

    # What is known -----------------------------------------------------------------------------------------------

    @property
    def learner(self) -> Any:
        """Return a copy of the learner, brought up to date, to read from: results are reported to the study."""
        with self._lock:
            self.sync()
            return self._fold.view

    @property
    def done(self) -> bool:
        """Return whether the answer is proven."""
        with self._lock:
            self.sync()
            return bool(self._fold.learner.stopped)

    @property
    def best_path(self) -> IntArray:
        """Return the current plan, as arcs."""
        path: IntArray = self.learner.recommend()
        return path

    @property
    def best_plan(self) -> Plan:
        """Return the current plan, {step: option}."""
        return self.mdp.plan(self.best_path)

    @property
    def certified_gap(self) -> float:
        """Return how far best_plan is from the best at most, proven, at all times; infinite if only ranges say it."""
        return proven_gap(self.learner)

    @property
    def epsilon(self) -> float:
        """Return how far from the best the answer may be."""
        return float(self.learner.epsilon)

    @property
    def delta(self) -> float:
        """Return the allowed probability of a wrong answer."""
        return float(self._fold.learner.delta)

    @property
    def evidence_trials(self) -> int:
        """Return the number of trials whose rewards are part of the proof."""
        with self._lock:
            self.sync()
            return self._fold.tally.scored

    def status(self) -> Status:
        """Return the status of the study: trials by state, the current plan, what is proven, who works on it."""
        return read_status(self)

    @property
    def trials(self) -> Any:
        """Return every trial as a row of a polars frame; waiting plans come last."""
        return trials_frame(self)

    @property
    def cases(self) -> list[CaseSummary]:
        """Return what is known of each case that was played, the hardest first."""
        return summarize(self) if self._cases.names else []

    @property
    def digest(self) -> str:
        """Return the hash over what is frozen and the settled prefix of the log; a replay elsewhere has the same."""
        with self._lock:
            self.sync()
            return self._fold.digest

    def certificate(self) -> Certificate:
        """Write down what is proven by now, with all that is needed to check it; `surepath verify` does."""
        from surepath.study.certificate import write_certificate

        return write_certificate(self)

    def forecast(self, more: int = 50, draws: int = 32, seed: int = 0) -> Forecast:
        """Guess by simulation how many trials are left, and what `more` further ones would prove; at most 10 s."""
        from surepath.study.forecast import forecast

        return forecast(self, more, draws, seed)

    def _trials_left(self) -> float:
        from surepath.study.forecast import forecast

        return forecast(self, draws=8, seconds=1.0).trials_left()

    def explain(self) -> str:
        """Describe what is known: the plan, what is proven, which plans may still be better, what needs attention."""
        return explain(self)

    def __len__(self) -> int:
        """Count the trials assigned, imported or reported late."""
        return self._read(lambda log: log.last_number)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.storage.shown!r})"


def _key(request: str | None) -> str:
    """Return the name of a request: its caller's, or a unique one."""
    return uuid.uuid4().hex if request is None else name_text("request", request)
