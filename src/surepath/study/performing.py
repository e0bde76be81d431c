"""Perform one trial by calling a function: plain or async, here, in a process or on a cluster, again where it must."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import itertools
import logging
import math
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from surepath._checks import whole
from surepath._optional import need
from surepath.errors import RewardError, SettingError, StudyError
from surepath.learners.base import read_rewards
from surepath.model.mdp import MDP
from surepath.model.paths import Plan
from surepath.study.creation import seconds
from surepath.study.sheets import steps
from surepath.study.trial import MOST_TRIES, Trial

log = logging.getLogger("surepath.study")

# Outcomes -------------------------------------------------------------------------------------------------------------


class Performed(NamedTuple):
    """Outcome of performing a plan: the rewards, and why it failed if it did."""

    rewards: Any
    note: str | None = None  # None when the trial came to its end
    error: BaseException | None = None
    wrong: str = ""  # why its rewards cannot be read, though it came to its end
    ended: str = "the function came to its end; where a trial fails, raise an error"
    cost: float | None = None
    tries: int = 1
    parts: tuple[Any, ...] = ()  # the same of each case, where there are several


@dataclass(frozen=True)
class Outcome:
    """A trial that was recorded, as callbacks see it."""

    trial: Trial
    state: str  #: "complete", "partial" or "failed".
    rewards: tuple[float, ...]  #: Those that were seen, in order of the steps.
    note: str = ""  #: Why it failed, or "".
    cost: float | None = None  #: What it cost, where the function said it.
    tries: int = 1  #: How often it was begun.


def rewards_of(mdp: MDP, trial: Trial, performed: Performed, *, ranged: bool = True) -> tuple[float, ...]:
    """Return the rewards seen; refuse what is not a reward, and too few from a trial that did not fail."""
    if performed.parts:
        each = [rewards_of(mdp, trial, part) for part in performed.parts]
        return tuple(math.fsum(scores) / len(scores) for scores in zip(*each))
    if performed.wrong:
        raise RewardError(performed.wrong)
    if performed.note is not None:
        return tuple(read_rewards(mdp, trial.path, performed.rewards).tolist())
    path = trial.path.tolist()
    found = tuple(read_rewards(mdp, trial.path, with_known(mdp, path, performed.rewards), ranged=ranged).tolist())
    if lacking := missing(mdp, path, len(found)):
        raise RewardError(f"{lacking}, but {performed.ended}")
    return found


def with_known(mdp: MDP, path: Sequence[int], rewards: Any) -> Any:
    """Insert NaN for steps whose score is known where a list leaves them out; return anything else unchanged.

    A list may end where only known scores are left, or hold the scores of the other steps alone, in their order.

    Example:
        >>> mdp = MDP.from_steps({"a": ["x"], "b": ["y"], "c": ["z"]}, sigma=1.0, scores=["b"])
        >>> with_known(mdp, [0, 1, 2], [0.5]), with_known(mdp, [0, 1, 2], [7.0, 0.5])
        ([nan, 0.5, nan], [7.0, 0.5, nan])
    """
    if isinstance(rewards, np.ndarray) and rewards.ndim == 1:
        rewards = rewards.tolist()
    if not isinstance(rewards, (list, tuple)) or not 0 < len(rewards) < mdp.horizon:
        return rewards
    known = mdp.unscored[np.asarray(path, dtype=np.int64)]
    if known[len(rewards) :].all():
        return [*rewards, *[math.nan] * (mdp.horizon - len(rewards))]
    if len(rewards) == int((~known).sum()):
        own = iter(rewards)
        return [math.nan if free else next(own) for free in known.tolist()]
    return rewards


def missing(mdp: MDP, path: Sequence[int], seen: int) -> str:
    """Return the names of the steps that have no score after the first `seen`; "" where none lacks one."""
    lacking = [name for name, arc in zip(steps(mdp)[seen:], list(path)[seen:]) if not mdp.unscored[arc]]
    return "" if not lacking else f"no score for step{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}"


# Functions ------------------------------------------------------------------------------------------------------------

LONGEST_PAUSE = 60.0  # seconds before a trial is tried again
ENDED_AFTER = 2.0  # seconds that coroutines have to end when the run is interrupted


class Cost(float):
    """What a trial has cost, among the scores that a function returns or yields; several add up.

    Example:
        >>> from surepath import MDP, Study
        >>> study = Study.create(MDP.from_steps({"a": ["x", "y"]}, sigma=0.1), "memory", epsilon=0.5, delta=0.1)
        >>> study.optimize(lambda plan: [0.5, Cost(0.02)], n_trials=2)
        >>> round(study.spent, 6)
        0.04
    """


class Retry(NamedTuple):
    """When a trial is begun anew: after these exceptions or exit codes, so many times, with pauses that double."""

    times: int = 0
    on: tuple[type[Exception], ...] = ()
    pause: float = 1.0
    codes: tuple[int, ...] = ()

    def wanted(self, performed: Performed, tries: int) -> bool:
        """Return whether a trial that failed is begun anew."""
        error = performed.error
        named = error.code in self.codes if isinstance(error, SystemExit) else isinstance(error, self.on)
        return named and tries <= self.times

    def seconds(self, tries: int) -> float:
        """Return how long to wait after so many tries; at random, so that workers do not all come back at once."""
        return min(self.pause * 2.0 ** (tries - 1), LONGEST_PAUSE) * (0.5 + random.random())


NO_RETRY = Retry()


async def attempt(
    once: Callable[[], Awaitable[Performed]], retry: Retry, sleep: Callable[[float], Awaitable[None]]
) -> Performed:
    """Perform a trial, again where its failure says nothing about the plan; all tries are paid for."""
    spent: list[float] = []
    for tries in itertools.count(1):
        done = await once()
        spent += [] if done.cost is None else [done.cost]
        done = done._replace(cost=math.fsum(spent) if spent else None, tries=tries)
        if not retry.wanted(done, tries):
            return done
        log.info("trying again: %s", done.note)
        await sleep(retry.seconds(tries))
    raise AssertionError("unreachable")


def attempt_here(once: Callable[[], Awaitable[Performed]], retry: Retry) -> Performed:
    """Do the same outside an event loop; `once` must not suspend."""
    try:
        attempt(once, retry, _sleep).send(None)
    except StopIteration as end:
        return cast(Performed, end.value)
    raise AssertionError("it suspended")


async def _sleep(duration: float) -> None:
    time.sleep(duration)


def read_retry(times: int, on: Any, pause: Any) -> Retry:
    """Check how trials are begun anew."""
    kinds = on if isinstance(on, (tuple, list)) else (on,)
    if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
        raise SettingError(f"retry_on takes types of exceptions, such as TimeoutError, not {on!r}")
    if bool(times) != bool(kinds):
        raise SettingError("retry says how often, retry_on after which exceptions a trial is begun anew: give both")
    return Retry(whole("retry", times, low=0, high=MOST_TRIES - 1), tuple(kinds), seconds(pause, "backoff"))


@dataclass(frozen=True)
class Call:
    """A function that performs trials, as it is called; it may be sent to another process."""

    function: Callable[..., Any]  # plain or async, with or without yield; of the plan and, where there is one, the case
    horizon: int  # number of scores
    retry: Retry = NO_RETRY

    @property
    def is_async(self) -> bool:
        """Return whether it runs in an event loop."""
        return _is(self.function, inspect.iscoroutinefunction) or _is(self.function, inspect.isasyncgenfunction)

    def __call__(self, trial: Trial) -> Performed:
        """Perform a trial here; what the function raises makes it a failed one."""
        if self.is_async:
            return asyncio.run(self.later(trial))
        return _together([attempt_here(once, self.retry) for once in self._each(trial)])

    async def later(self, trial: Trial) -> Performed:
        """Perform a trial in the running event loop, its cases at the same time."""
        return _together(
            await asyncio.gather(*(attempt(once, self.retry, asyncio.sleep) for once in self._each(trial)))
        )

    def end(self) -> None:
        """Leave what runs: nobody can stop a function of Python."""

    def _each(self, trial: Trial) -> list[Callable[[], Awaitable[Performed]]]:
        """List the calls that make up a trial: one for each case, or one where there are none."""
        return [functools.partial(self._once, trial.plan, case) for case in trial.cases or (None,)]

    async def _once(self, plan: Plan, case: str | None) -> Performed:
        """Call the function; a plain one never suspends this."""
        seen: list[Any] = []
        try:
            answer = self.function(dict(plan)) if case is None else self.function(dict(plan), case)
            if not self.is_async and (inspect.iscoroutine(answer) or inspect.isasyncgen(answer)):
                return Performed((), wrong="the function returned a coroutine; pass the async function itself")
            if inspect.isasyncgen(answer):
                async for item in answer:
                    if self._enough(seen, item):
                        break
                answer = seen
            elif self.is_async:
                answer = await answer
            elif isinstance(answer, Iterator):
                for item in answer:
                    if self._enough(seen, item):
                        break
                answer = seen
        except Exception as error:
            return _priced(Performed(tuple(seen), error_in_words(error), error))
        return _priced(Performed(answer))

    def _enough(self, seen: list[Any], item: Any) -> bool:
        """Keep what was yielded; return whether it is too much, which is refused where it is recorded."""
        seen.append(item)
        return sum(not isinstance(one, Cost) for one in seen) > self.horizon


def _priced(done: Performed) -> Performed:
    """Take the costs out of what a function gave."""
    rewards = done.rewards
    values = list(rewards.values()) if isinstance(rewards, dict) else rewards
    if not isinstance(values, (list, tuple)) or not any(isinstance(value, Cost) for value in values):
        return done
    cost = math.fsum(value for value in values if isinstance(value, Cost))
    if isinstance(rewards, dict):
        return done._replace(rewards={k: v for k, v in rewards.items() if not isinstance(v, Cost)}, cost=cost)
    rewards = [value for value in values if not isinstance(value, Cost)]
    if len(rewards) == 1 and isinstance(rewards[0], (list, tuple, dict, np.ndarray)):  # scores, Cost(...)
        rewards = rewards[0]
    return done._replace(rewards=rewards, cost=cost)


def _together(parts: list[Performed]) -> Performed:
    """Join what came of the cases of a trial; it failed where one of them did."""
    if len(parts) == 1:
        return parts[0]
    bad = next((part for part in parts if part.note is not None), parts[0])
    costs = [part.cost for part in parts if part.cost is not None]
    cost, tries = math.fsum(costs) if costs else None, max(part.tries for part in parts)
    return bad._replace(rewards=(), parts=tuple(parts), cost=cost, tries=tries)


class Loop:
    """An event loop in a thread of its own, in which coroutines of all workers run."""

    def __init__(self, call: Call) -> None:
        self._call, self._loop = call, asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="surepath-loop")
        self._thread.start()

    def __call__(self, trial: Trial) -> Performed:
        """Perform a trial in the loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(self._call.later(trial), self._loop).result()

    def end(self) -> None:
        """Cancel what still runs, let it end, and end the loop."""
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result(2 * ENDED_AFTER)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2 * ENDED_AFTER)
        if not self._thread.is_alive():
            self._loop.close()

    async def _finish(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=ENDED_AFTER)
        await self._loop.shutdown_asyncgens()


class Away:
    """Performs trials by an executor: in other processes, on other machines."""

    def __init__(self, call: Call, executor: Executor) -> None:
        self._call, self._executor, self._futures = call, executor, set[Future[Performed]]()

    def __call__(self, trial: Trial) -> Performed:
        """Perform a trial wherever the executor does, and wait for it."""
        try:
            future = self._executor.submit(_away, self._call, trial)
            self._futures.add(future)
            done = future.result()
        except Exception as error:  # what the function raises comes back as a failed trial: this is the executor's own
            raise StudyError(f"the executor failed on trial {trial.number}: {error_in_words(error)}") from error
        self._futures.discard(future)
        return done

    def end(self) -> None:
        """Cancel what has not begun."""
        for future in list(self._futures):
            future.cancel()


def performer(call: Call, executor: Executor | None = None) -> Call | Loop | Away:
    """Return what performs trials by a function; `end()` it when all are done, or to stop what can be stopped."""
    return Away(call, executor) if executor is not None else Loop(call) if call.is_async else call


def _away(call: Call, trial: Trial) -> Performed:
    """Perform a trial; exceptions are kept as words, since not all of them can be sent."""
    done = call(trial)
    return done._replace(error=None, parts=tuple(part._replace(error=None) for part in done.parts))


class RayExecutor(Executor):
    """An executor on a Ray cluster, for `optimize(executor=...)`; each trial is a task.

    Args:
        n_jobs: Trials at the same time; by default as many as the cluster has CPUs.
        options: Options of the tasks, as ray.remote takes them: num_gpus=1, resources={...}.
    """

    def __init__(self, n_jobs: int | None = None, **options: Any) -> None:
        self._ray = need("ray", "ray")
        if not self._ray.is_initialized():
            self._ray.init()
        self._max_workers = int(self._ray.cluster_resources().get("CPU", 1)) if n_jobs is None else n_jobs
        self._options = {"max_retries": 0, **options}  # a trial that is begun anew unseen would count for one try

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Run a function as a task of the cluster."""
        remote = self._ray.remote(**self._options)(function)
        return cast("Future[Any]", remote.remote(*arguments, **named).future())


def check_arguments(function: Callable[..., Any], cases: bool) -> None:
    """Refuse a function that cannot be called with a plan, or with a plan and a case."""
    given = ("a plan", "a case") if cases else ("a plan",)
    words = "a plan and a case" if cases else "a plan alone, as the study has no cases"
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        raise SettingError(
            f"optimize calls the function with {words}; {getattr(function, '__name__', function)} takes "
            f"{inspect.signature(function)}"
        ) from None
    except ValueError:  # a function of C that does not say what it takes
        return


def yields(function: Callable[..., Any]) -> bool:
    """Return whether a function is a generator."""
    return _is(function, inspect.isgeneratorfunction) or _is(function, inspect.isasyncgenfunction)


def _is(function: Callable[..., Any], kind: Callable[[Any], bool]) -> bool:
    """Return whether a function is of a kind, also as a method, a partial or the __call__ of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    call = getattr(type(function), "__call__", None)  # noqa: B004 (it is inspected, not called)
    return kind(function) or kind(call)


def error_in_words(error: BaseException) -> str:
    """Write an error as its type and message."""
    message = str(error).strip()
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
