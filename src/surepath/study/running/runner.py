"""Running trials in this process: ask, perform, record, over and over, with leases renewed meanwhile.

`optimize` performs a trial by calling a function, `surepath study run` by starting a command; both run them here.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from surepath._checks import whole
from surepath.errors import BudgetError, RewardError, StoppedError, StudyError
from surepath.study.lease import seconds
from surepath.study.running.performed import Outcome, Performed, rewards_of
from surepath.study.status.in_words import waiting_in_words
from surepath.study.status.progress import Progress
from surepath.study.trial import COMPLETE, FAILED, LEAVE_OUT, PARTIAL, WORST, Trial

if TYPE_CHECKING:
    from surepath.study.study import Study

log = logging.getLogger("surepath.study")

MOST_JOBS = 1024
HOPELESS = {LEAVE_OUT: 10, WORST: 50}  # first trials that all fail: a mistake in the set-up, not bad luck
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
                trial = self._study.ask(request=request, **self._limit)
            except StoppedError:  # proven, by this worker or by another
                del self._running[request]
                return
            except BudgetError as error:
                del self._running[request]
                self.out_of_budget = str(error)
                log.info("%s", error)
                return
            self._running[request] = trial
            log.info("begin %s", trial)
            self.progress.show(len(self._running))
            performed = self._perform(trial)
            if self._abandoned.is_set():
                return
            outcome = self._record(trial, performed)
            del self._running[request]
            self.progress.show(len(self._running))
            self._count(outcome, performed)
            self._call_back(outcome)

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
            if self._late():
                return False
            if self._left is not None:
                if self._left == 0:
                    return False
                self._left -= 1
            return True

    def _record(self, trial: Trial, performed: Performed) -> Outcome:
        study = self._study
        try:
            rewards = rewards_of(study.mdp, trial, performed)
            whole_trial = len(rewards) == study.mdp.horizon
            if performed.note is None or whole_trial:
                answer = study.tell(trial, rewards)
            else:
                answer = study.fail(trial, rewards, performed.note)
        except RewardError as error:
            # Not a failed trial but a mistake: leaving such results out would choose results by how they came out.
            note = f"{type(error).__name__}: {error}"
            if study.options.on_failure == WORST:
                study.cancel(trial, note)  # a failure would give a step that may be fine its worst score, for good
            else:
                study.fail(trial, note=note)
            raise RewardError(f"trial {trial.number}: {error}") from error
        state = COMPLETE if whole_trial else PARTIAL if rewards else FAILED
        log.info("trial %d is %s %s%s", trial.number, state, list(rewards), "" if answer == "told" else f" ({answer})")
        with self._guard:
            self.recorded += 1
            if performed.note is not None:
                self.failed, self.last_failure = self.failed + 1, performed.note
        if performed.note is not None:
            log.warning("trial %d failed: %s", trial.number, performed.note)
        return Outcome(trial, state, rewards, performed.note or "")

    def _count(self, outcome: Outcome, performed: Performed) -> None:
        """Stop when the first trials all fail: then it is the function or command that is wrong."""
        with self._guard:
            if outcome.state == COMPLETE:
                self._failures = -1
            elif self._failures >= 0:
                self._failures += 1
            hopeless = self._failures == HOPELESS[self._study.options.on_failure]
        if hopeless:
            raise StudyError(
                f"the first {self._failures} trials all failed, the last one with: {outcome.note or 'too few scores'}"
            ) from performed.error

    def _call_back(self, outcome: Outcome) -> None:
        with self._calling:
            for callback in self._callbacks:
                if callback(self._study, outcome) is True:
                    self._ending.set()

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
