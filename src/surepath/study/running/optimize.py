"""`study.optimize`: run a Python function on one plan after another until the answer is proven."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from logging import INFO
from typing import TYPE_CHECKING, Any

from surepath.errors import SettingError
from surepath.study.running.performed import Performed
from surepath.study.running.runner import Runner
from surepath.study.status.progress import log
from surepath.study.trial import WORST, Trial

if TYPE_CHECKING:
    from surepath.study.study import Study


def optimize(
    study: Study,
    function: Callable[[Any], Any],
    n_jobs: int,
    n_trials: int | None,
    timeout: Any,
    callbacks: Sequence[Callable[..., Any]],
    progress: bool | None,
    budget: float | None = None,
) -> None:
    """Run trials of a study by calling a function; see Study.optimize."""
    if not callable(function):
        raise SettingError(f"optimize needs a function from a plan to its scores, not {function!r}")
    if study.options.on_failure == WORST and study.mdp.horizon > 1 and not yields(function):
        raise SettingError(
            'with on_failure="worst" the study must know which step of a trial failed: write the function as a '
            "generator that yields each score as soon as its step is done"
        )
    runner = Runner(
        study,
        functools.partial(perform, function, study.mdp.horizon),
        n_trials=n_trials,
        timeout=timeout,
        callbacks=callbacks,
        progress=progress,
        budget=budget,
    )
    runner.run(n_jobs)
    line = runner.progress
    if (line.shown or log.isEnabledFor(INFO)) and (doubt := study.status().doubt) is not None:
        line.say(doubt)
    if (n_trials is not None or runner.out_of_budget) and (line.shown or log.isEnabledFor(INFO)) and not study.done:
        line.say(f"the budget is spent; {study.forecast()}")


def yields(function: Callable[..., Any]) -> bool:
    """Return whether a function is a generator, also as a method, a partial or the __call__ of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    call = getattr(type(function), "__call__", None)  # noqa: B004 (it is inspected, not called)
    return inspect.isgeneratorfunction(function) or inspect.isgeneratorfunction(call)


def perform(function: Callable[[Any], Any], horizon: int, trial: Trial) -> Performed:
    """Call the function with a copy of the plan; what it raises makes the trial a failed one."""
    seen: list[Any] = []
    try:
        answer = function(dict(trial.plan))
        if not isinstance(answer, Iterator):
            return Performed(answer)
        for reward in answer:
            seen.append(reward)
            if len(seen) > horizon:  # too many, which is refused where it is recorded; it may never end
                break
    except Exception as error:
        return Performed(tuple(seen), error_in_words(error), error)
    return Performed(seen)


def error_in_words(error: BaseException) -> str:
    """Write an error as its type and message."""
    message = str(error).strip()
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
