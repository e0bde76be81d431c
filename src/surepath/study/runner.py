"""Run the trials of a study: a function or a program, in several workers, with leases renewed."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import logging
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from surepath._checks import IntArray, suggest, whole
from surepath._text import many, shown
from surepath.errors import BudgetError, ProblemError, RewardError, SettingError, StoppedError, StudyError, WaitingError
from surepath.learners.runs import BUDGET_AND_ZERO
from surepath.model.mdp import MDP
from surepath.study.creation import seconds
from surepath.study.performing import (
    Call,
    Outcome,
    Performed,
    Retry,
    attempt_here,
    check_arguments,
    performer,
    rewards_of,
    yields,
)
from surepath.study.sheets import plan_steps, steps
from surepath.study.status import Progress, waiting_in_words
from surepath.study.trial import Trial

if TYPE_CHECKING:
    from surepath.study.study import Study


# Scores as a command prints them --------------------------------------------------------------------------------------

LONGEST_LINE = 200  # characters of a line that a message repeats


class Output(NamedTuple):
    """What a command printed: scores, fewer than there are where it failed after them, cost, and what is wrong."""

    scores: Any = ()
    cost: float | None = None
    wrong: str = ""  # why there are no scores


def read_output(mdp: MDP, text: str) -> Output:
    """Read scores and cost from what a command printed.

    The last line that is not empty counts: a JSON array or object, or numbers separated by spaces or commas. When that
    line has fewer numbers, lines of numbers right before it belong to it, so that a command may print each score
    as soon as it has it. A null in JSON is the step that failed. What a trial cost is on lines such as `cost 0.03`, or
    "cost" in its JSON object.

    Example:
        >>> mdp = MDP.from_steps({"model": ["a", "b"], "prompt": ["c", "d"]})
        >>> read_output(mdp, "loading\\n0.5, 0.25\\n").scores, read_output(mdp, "0.5\\n0.25\\ncost 2").scores
        ([0.5, 0.25], [0.5, 0.25])
        >>> read_output(mdp, '{"model": 0.5, "prompt": null, "cost": 0.25}')
        Output(scores={'model': 0.5}, cost=0.25, wrong='')
    """
    costs: list[float] = []
    lines = []
    for line in filter(None, map(str.strip, text.splitlines())):
        found = re.fullmatch(r"cost[\s:=]+([0-9.eE+-]+)", line)
        numbers = None if found is None else _numbers(found[1])
        costs += numbers or []
        lines += [line] if numbers is None else []
    scores, wrong = _scores(mdp, lines)
    if isinstance(scores, dict) and isinstance(scores.get("cost"), (int, float)) and "cost" not in steps(mdp):
        costs.append(scores.pop("cost"))
    if not wrong and isinstance(scores, (dict, list)) and lines[-1:] and lines[-1][0] in "[{":
        scores, wrong = _until_failed(mdp, scores, lines[-1])
    return Output(() if wrong else scores, math.fsum(costs) if costs else None, wrong)


def _scores(mdp: MDP, lines: list[str]) -> tuple[Any, str]:
    """Return the scores on the last lines, and what is wrong with them."""
    most, found = len(mdp.score_stages), list[float]()
    if lines and lines[-1][0] in "[{":
        try:
            return json.loads(lines[-1]), ""
        except (ValueError, RecursionError):
            return (), f"its last line is not JSON: {shown(lines[-1][:LONGEST_LINE])!r}"
    for line in reversed(lines):
        numbers = _numbers(line)
        if numbers is None or (found and len(numbers) + len(found) > most):
            break
        found = numbers + found
        if len(found) >= most:
            break
    if lines and not found:
        return (), f"its last line is {shown(lines[-1][:LONGEST_LINE])!r}, not {most} numbers"
    if len(found) > most:
        return (), f"it printed {len(found)} numbers, not {most}: {shown(lines[-1][:LONGEST_LINE])!r}"
    return found, ""


def _numbers(line: str) -> list[float] | None:
    try:
        return [float(word) for word in line.replace(",", " ").split()]
    except ValueError:
        return None


def _until_failed(mdp: MDP, scores: list[Any] | dict[Any, Any], line: str) -> tuple[Any, str]:
    """Return scores of JSON up to the step that failed, which ends a trial whatever is printed for those after it."""
    named = isinstance(scores, dict)
    items = list(scores.items()) if isinstance(scores, dict) else list(enumerate(scores))
    if len(items) > mdp.horizon:
        return (), f"it printed {len(items)} scores, not {mdp.horizon}: {shown(line[:LONGEST_LINE])!r}"
    try:
        items = sorted(items, key=lambda item: mdp.step(item[0]) if named else item[0])
    except ProblemError as error:
        return (), str(error)
    kept = list(itertools.takewhile(lambda item: item[1] is not None, items))
    return (dict(kept), "") if named else ([score for _, score in kept], "")


# Commands: the plan goes in by words and environment, the scores come out as text ------------------------------------
#
# No shell is involved: the command is split into words first and the plan's options are put in afterwards, so nothing
# in an option is executed.

TAIL = 2**16  # bytes of output that are read
KILLED_AFTER = 2.0  # seconds between asking a process to end and ending it
TRIAL, CASE = "trial", "case"
FAIL = "where a trial fails, end with an exit code other than 0"

_NAME = r"\w[\w .-]*"  # what is taken for a step's name; the names of the problem may have any other character too


class Command:
    """Perform trials by running a command in a process group of its own; see `study run`."""

    def __init__(
        self, mdp: MDP, command: str, study: str = "", cases: bool = False, retry: int = 0, codes: Sequence[int] = ()
    ) -> None:
        self._mdp, self._study, self._retry = mdp, study, Retry(retry, codes=tuple(codes))
        if bool(retry) != bool(codes):
            raise SettingError("--retry says how often, --retry-on after which exit codes a trial is begun anew")
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise SettingError(f"the command {command!r} cannot be split into words: {error}") from None
        if not self._words:
            raise SettingError("the command is empty; write for example --command './trial.sh {model}'")
        names = [*plan_steps(mdp), TRIAL, *([CASE] if cases else [])]
        # "{{" and "}}" are braces, {name} is a step; what cannot be a name, such as {print $1}, is left alone.
        self._place = re.compile(r"\{\{|\}\}|\{(" + "|".join([*map(re.escape, names), _NAME]) + r")\}")
        self._check_places(command, names)
        if not self._place.search(self._words[0]) and shutil.which(self._words[0]) is None:
            raise SettingError(f"the command {self._words[0]!r} is not a program that can be run")
        self._lock, self._children, self._ended = threading.Lock(), set[subprocess.Popen[bytes]](), False

    def _check_places(self, command: str, names: list[str]) -> None:
        """Refuse steps that do not exist, and those that the split into words has torn apart."""
        asked = [name for name in self._place.findall(command) if name]
        kept = [name for word in self._words for name in self._place.findall(word) if name]
        for name in [*asked, *kept]:
            if name not in names:
                raise SettingError(
                    f"the command has {{{name}}}, but no step is called so{suggest(name, names)}; "
                    f"write {{{{ and }}}} for braces"
                )
            if kept.count(name) < asked.count(name):
                raise SettingError(f'the command has {{{name}}} without quotes and falls apart; write "{{{name}}}"')

    def words(self, trial: Trial) -> list[str]:
        """Return the words of the command with the options of a plan inserted."""
        values = {TRIAL: str(trial.number), CASE: trial.case or ""}
        values |= {str(step): str(option) for step, option in trial.plan.items()}
        braces = {"{{": "{", "}}": "}"}
        return [self._place.sub(lambda m: braces.get(m.group()) or values[m.group(1)], word) for word in self._words]

    def environment(self, trial: Trial) -> dict[str, str]:
        """Describe a trial: its number, the plan as JSON, and each option under the name of its step."""
        own = {
            "SUREPATH_STUDY": self._study,
            "SUREPATH_TRIAL": str(trial.number),
            "SUREPATH_PLAN": json.dumps({str(step): option for step, option in trial.plan.items()}),
            "SUREPATH_CASE": trial.case or "",
        }
        for step, option in trial.plan.items():
            own.setdefault("SUREPATH_STEP_" + re.sub(r"\W", "_", str(step), flags=re.ASCII).upper(), str(option))
        return {**os.environ, **own}

    def __call__(self, trial: Trial) -> Performed:
        """Run the command for a trial, again where its exit code says so, and read its scores."""
        return attempt_here(functools.partial(self._once, trial), self._retry)

    async def _once(self, trial: Trial) -> Performed:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self._run(trial, out, err)
            printed, said = _tail(out), _tail(err)
        rewards, cost, wrong = read_output(self._mdp, printed)
        if code == 0:
            wrong = wrong and f"the command came to its end, but {wrong}"
            ended = f"the command came to its end and printed {_last(printed)!r}; {FAIL}"
            return Performed(rewards, wrong=wrong, ended=ended, cost=cost)
        last = _last(said)
        why = f"exit code {code}" if code > 0 else f"killed by {_signal(-code)}"
        return Performed(rewards, f"{why}: {last}" if last else why, SystemExit(code), cost=cost)

    def _run(self, trial: Trial, out: IO[bytes], err: IO[bytes]) -> int:
        with self._lock:
            if self._ended:
                return 0
            try:
                child = subprocess.Popen(
                    self.words(trial),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=self.environment(trial),
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise StudyError(f"the command cannot be run: {shown(error)}") from error
            self._children.add(child)
        try:
            return child.wait()
        except BaseException:
            self.end()
            raise
        finally:
            with self._lock:
                self._children.discard(child)

    def end(self) -> None:
        """End all children with whatever they have started, first by SIGTERM, then by SIGKILL."""
        with self._lock:
            self._ended, children = True, list(self._children)
        for child in children:
            _signal_group(child, signal.SIGTERM)
        end = time.monotonic() + KILLED_AFTER
        while any(child.poll() is None for child in children) and time.monotonic() < end:
            time.sleep(0.02)
        for child in children:  # also what a child that has ended left running
            _signal_group(child, signal.SIGKILL)

    def kill(self) -> None:
        """End all children by force and at once, from any thread."""
        self._ended = True
        for child in list(self._children):
            _signal_group(child, signal.SIGKILL)


def _last(text: str) -> str:
    """Return the last line that is not empty."""
    return next((shown(line.strip()[:LONGEST_LINE]) for line in reversed(text.splitlines()) if line.strip()), "")


def _signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - TAIL, 0))
    return file.read().decode("utf-8", "replace")


# Running: ask, perform, record, over and over, with leases renewed meanwhile -----------------------------------------

log = logging.getLogger("surepath.study")

MOST_JOBS = 1024
FAILURES_AT_START = {"leave-out": 10, "worst": 50}  # first trials that all fail: a mistake in the set-up, not bad luck
RENEW = 1 / 3  # of a lease
HOLD = 1.0  # seconds between two checks whether trials that are waited for are settled

Perform = Callable[[Trial], Performed]


class Runner:
    """Run trials until the answer is proven, the budget is spent or the time is up."""

    def __init__(
        self,
        study: Study,
        perform: Perform,
        *,
        n_trials: int | None = None,
        timeout: Any = None,
        callbacks: Sequence[Callable[..., Any]] = (),
        progress: bool | None = None,
        abandon: Callable[[], None] | None = None,
        budget: float | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._study, self._perform, self._callbacks = study, perform, tuple(callbacks)
        self._left = None if n_trials is None else whole("n_trials", n_trials, low=1)
        if (n_trials is not None or budget is not None) and study.epsilon == 0:
            limit = "a limited budget" if n_trials is None else many(n_trials, "trial")
            warnings.warn(BUDGET_AND_ZERO.format(limit), stacklevel=4)
        self._end = None if timeout is None else time.monotonic() + seconds(timeout, "timeout")
        self._abandon = abandon
        self._limit: dict[str, Any] = {} if budget is None else {"budget": budget}
        self.out_of_budget = ""  # why, once no trial fits into the budget any more
        self.progress = Progress(study, progress, budget)
        self._say, self._held = say or self.progress.say, False  # said once: that trials are waited for
        self._guard, self._calling = threading.Lock(), threading.RLock()
        self._running: dict[str, Trial | None] = {}  # by request
        self._ending, self._abandoned = threading.Event(), threading.Event()
        self._error: BaseException | None = None
        self._failures, self.recorded, self.failed, self.last_failure = 0, 0, 0, ""

    def run(self, n_jobs: int = 1) -> None:
        """Run trials in this thread, or in n_jobs of their own; an interrupt cancels the running ones."""
        jobs = whole("n_jobs", n_jobs, low=1, high=MOST_JOBS)
        done = threading.Event()
        threading.Thread(target=self._keep, args=(done,), daemon=True, name="surepath-leases").start()
        try:
            if jobs == 1:
                self._work()
            else:
                self._spread(jobs)
        except BaseException:
            self._cancel_running()
            raise
        finally:
            done.set()
            self.progress.close()

    def _spread(self, jobs: int) -> None:
        threads = [threading.Thread(target=self._safely, daemon=True, name=f"surepath-trials-{i}") for i in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(1.0)
        if self._error is not None:
            raise self._error

    def _safely(self) -> None:
        """Run trials, and pass an error to the main thread; the other threads finish the trials they have begun."""
        try:
            self._work()
        except BaseException as error:
            with self._guard:
                self._error = self._error or error
            self._ending.set()

    # One trial after another -------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            self._hold()
            if self._ending.is_set() or not self._may_begin():
                return
            request = uuid.uuid4().hex
            self._running[request] = None
            try:
                trial = self._study.ask(request=request, attended=True, **self._limit)
            except (StoppedError, WaitingError, BudgetError) as error:
                del self._running[request]
                if isinstance(error, WaitingError):  # another worker has taken the last plan of the round
                    with self._guard:
                        self._left = None if self._left is None else self._left + 1
                    self._ending.wait(HOLD)
                    continue
                self.out_of_budget = str(error) if isinstance(error, BudgetError) else self.out_of_budget
                log.info("%s", error)  # or proven, by this worker or by another
                return
            self._running[request] = trial
            log.info("begin %s", trial)
            self.progress.show()
            performed = self._perform(trial)
            if self._abandoned.is_set():
                return
            outcome = self._record(trial, performed)
            del self._running[request]
            self.progress.show()
            self._count(outcome, performed)
            with self._calling:
                for callback in self._callbacks:
                    if callback(self._study, outcome) is True:
                        self._ending.set()

    def _hold(self) -> None:
        """Begin nothing while what was reported suffices once trials that still run, here or elsewhere, are settled."""
        while not self._ending.is_set() and self._left != 0 and not self._late() and self._study._holds():
            if not self._held:
                self._held = True
                if words := waiting_in_words(self._study.status()):  # none where they were settled just now
                    self._say(f"waiting: {words}")
            self._ending.wait(HOLD)

    def _late(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end

    def _may_begin(self) -> bool:
        with self._guard:
            if self._late() or self._left == 0:
                return False
            self._left = None if self._left is None else self._left - 1
            return True

    def _record(self, trial: Trial, performed: Performed) -> Outcome:
        study = self._study
        try:
            rewards = rewards_of(study.mdp, trial, performed)
            whole_trial = len(rewards) == study.mdp.horizon
            if performed.note is None or whole_trial:
                answer = study.tell(trial, rewards, cost=performed.cost, tries=performed.tries)
            else:
                answer = study.fail(trial, rewards, performed.note, cost=performed.cost, tries=performed.tries)
        except RewardError as error:
            # Not a failed trial but a mistake: leaving such results out would choose results by how they came out.
            note = f"{type(error).__name__}: {error}"
            if study.options.on_failure == "worst":
                study.cancel(trial, note)  # a failure would give a step that may be fine its worst score, for good
            else:
                study.fail(trial, note=note)
            raise RewardError(f"trial {trial.number}: {error}") from error
        state = "complete" if whole_trial else "partial" if rewards else "failed"
        log.info("trial %d is %s %s%s", trial.number, state, list(rewards), "" if answer == "told" else f" ({answer})")
        with self._guard:
            self.recorded += 1
            if performed.note is not None:
                self.failed, self.last_failure = self.failed + 1, performed.note
        if performed.note is not None:
            log.warning("trial %d failed: %s", trial.number, performed.note)
        return Outcome(trial, state, rewards, performed.note or "", performed.cost, performed.tries)

    def _count(self, outcome: Outcome, performed: Performed) -> None:
        """Stop when the first trials all fail: then it is the function or command that is wrong."""
        with self._guard:
            if outcome.state == "complete":
                self._failures = -1
            elif self._failures >= 0:
                self._failures += 1
            all_failed = self._failures == FAILURES_AT_START[self._study.options.on_failure]
        if all_failed:
            raise StudyError(
                f"the first {self._failures} trials all failed, the last one with: {outcome.note or 'too few scores'}"
            ) from performed.error

    # Leases and interrupts ---------------------------------------------------------------------------------------

    def _keep(self, done: threading.Event) -> None:
        """Renew the leases of running trials until all is done."""
        while not done.wait(self._study.options.lease * RENEW):
            for trial in list(self._running.values()):
                if trial is not None and not self._abandoned.is_set():
                    try:
                        self._study.renew(trial)
                    except StudyError as error:  # reported just now, or expired: its result will be taken as a late one
                        log.debug("%s", error)

    def _cancel_running(self) -> None:
        """Cancel what is running; an interrupt may have come between asking for a trial and receiving it."""
        self._ending.set()
        self._abandoned.set()
        if self._abandon is not None:
            self._abandon()
        try:
            for request in list(self._running):
                for number in self._study._numbers_of(request):
                    self._study.cancel(number)
                    log.info("trial %d is cancelled", number)
        except StudyError as error:  # the storage is unavailable; the leases will expire
            log.warning("running trials could not be cancelled: %s", error)


# Functions ------------------------------------------------------------------------------------------------------------


def optimize(
    study: Study,
    function: Callable[..., Any],
    n_jobs: int | None,
    executor: Executor | None,
    retry: Retry,
    **settings: Any,
) -> None:
    """Run trials of a study by calling a function; see Study.optimize."""
    if not callable(function):
        raise SettingError(f"optimize needs a function from a plan to its scores, not {function!r}")
    check_arguments(function, bool(study.options.cases))
    if study.options.on_failure == "worst" and study.mdp.horizon > 1 and not yields(function):
        raise SettingError(
            'with on_failure="worst" the study must know which step of a trial failed: write the function as a '
            "generator that yields each score as soon as its step is done"
        )
    perform = performer(Call(function, study.mdp.horizon, retry), executor)
    runner = Runner(study, perform, abandon=perform.end, **settings)
    workers = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None) or 1
    try:
        runner.run(int(workers) if n_jobs is None else n_jobs)
    finally:
        perform.end()
    if not runner.progress.shown and not log.isEnabledFor(logging.INFO):
        return
    if (doubt := study.status().doubt) is not None:
        runner.progress.say(doubt)
    if (settings["n_trials"] is not None or runner.out_of_budget) and not study.done:
        runner.progress.say(f"the budget is spent; {study.forecast()}")


def play_cases(study: Study, path: IntArray, perform: Any, n_jobs: int) -> dict[str, tuple[float, ...]]:
    """Play a plan on every case of a study; a play that fails ends it with an error."""
    mdp, names = study.mdp, study._cases.names
    trials = [Trial(0, mdp.plan(path), path, 0.0, "reference", "", (case,)) for case in names]
    try:
        with ThreadPoolExecutor(whole("n_jobs", n_jobs, low=1, high=MOST_JOBS)) as pool:
            done = list(pool.map(perform, trials))
    finally:
        perform.end()
    for case, one in zip(names, done):
        if one.note is not None:
            raise StudyError(f"the reference failed on case {case}: {one.note}")
    return {case: rewards_of(mdp, trial, one) for case, trial, one in zip(names, trials, done)}
