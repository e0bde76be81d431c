"""How a function is called: in one event loop, by executors, again after named exceptions, with cases and costs."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from surepath import MDP, Study
from surepath.errors import RewardError, SettingError, StudyError
from surepath.study.performing import Cost, RayExecutor, Retry
from surepath.study.runner import Command
from tests.cli.shell import SOURCE
from tests.study.worlds import BEST, NEVER, SCORE, new_study, rows, scores, states


class BusyError(Exception):
    """A rate limit."""


async def later(plan: dict[Any, Any]) -> list[float]:
    await asyncio.sleep(0.001)
    return scores(plan)


async def one_by_one(plan: dict[Any, Any]) -> AsyncIterator[float]:
    for score in scores(plan):
        await asyncio.sleep(0)
        yield score


def here(plan: dict[Any, Any]) -> Iterator[float]:
    yield from scores(plan)
    yield Cost(os.getpid())


@pytest.mark.parametrize("function", [later, one_by_one])
@pytest.mark.parametrize("n_jobs", [1, 5])
def test_an_async_function_finds_the_best_plan(function: Any, n_jobs: int) -> None:
    study = new_study()
    study.optimize(function, n_jobs=n_jobs)
    assert study.best_plan == BEST
    assert set(states(study)) <= {"complete"}


def test_all_coroutines_run_in_one_loop_at_the_same_time() -> None:
    loops, threads, meeting = set(), set(), asyncio.Barrier(8)

    async def function(plan: dict[Any, Any]) -> list[float]:
        loops.add(id(asyncio.get_running_loop()))
        threads.add(threading.get_ident())
        await asyncio.wait_for(meeting.wait(), 60)  # passes only when eight trials run at once
        return scores(plan)

    study = new_study(epsilon=NEVER)
    study.optimize(function, n_jobs=8, n_trials=24)
    assert (len(loops), len(threads), states(study)) == (1, 1, {"complete": 24})

    async def within() -> None:  # as in a notebook, where a loop runs already
        study.optimize(later, n_jobs=2, n_trials=4)

    asyncio.run(within())
    assert 24 < len(rows(study)) <= 28
    assert not any(thread.name == "surepath-loop" for thread in threading.enumerate())


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_a_coroutine_that_a_function_returns_is_no_answer() -> None:
    with pytest.raises(RewardError, match="the function returned a coroutine; pass the async function itself"):
        new_study().optimize(lambda plan: later(plan))


WORKER = """
import asyncio, sys
from surepath import Study
async def function(plan):
    print("begun", flush=True)
    try:
        await asyncio.sleep(600)
    finally:
        print("ended", flush=True)
Study.load("sqlite:///study.db").optimize(function, n_jobs=3)
"""


def test_ctrl_c_cancels_coroutines_and_their_trials(tmp_path: Path) -> None:
    study = new_study(f"sqlite:///{tmp_path / 'study.db'}", epsilon=NEVER)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert worker.stdout is not None
    for _ in range(3):
        assert worker.stdout.readline() == b"begun\n"
    worker.send_signal(signal.SIGINT)
    out, err = worker.communicate(timeout=60)
    assert out == b"ended\n" * 3, err.decode()
    assert b"KeyboardInterrupt" in err
    assert states(study) == {"cancelled": 3}


@pytest.mark.parametrize("kind", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_an_executor_runs_the_trials(kind: Callable[..., Any]) -> None:
    study = new_study()
    with kind(2) as executor:
        study.optimize(here, executor=executor)
    assert study.best_plan == BEST
    processes = {row.cost for row in rows(study)}
    assert (os.getpid() in processes) == (kind is ThreadPoolExecutor)
    assert 1 <= len(processes) <= 2


def dies(plan: dict[Any, Any]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_executor_that_breaks_ends_the_run_and_cancels_its_trials() -> None:
    study = new_study()
    with ProcessPoolExecutor(2) as executor, pytest.raises(StudyError, match=r"the executor failed on trial .: Broken"):
        study.optimize(dies, executor=executor)
    assert set(states(study)) == {"cancelled"}
    with ProcessPoolExecutor(1) as executor, pytest.raises(StudyError, match="the executor failed on trial"):
        study.optimize(lambda plan: scores(plan), executor=executor)  # which no other process can be sent


@pytest.mark.needs_ray
@pytest.mark.rare
def test_ray_runs_the_trials_in_processes_of_its_own() -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        study = new_study()
        study.optimize(here, executor=RayExecutor())
        assert study.best_plan == BEST
        assert os.getpid() not in {row.cost for row in rows(study)}
        study.tighten(NEVER)
        with pytest.raises(StudyError, match="the first 10 trials all failed, the last one with: ZeroDivisionError"):
            new_study().optimize(lambda plan: 1 / 0, executor=RayExecutor(2))
    finally:
        ray.shutdown()


@pytest.mark.parametrize("kind", ["plain", "yields", "async"])
def test_named_exceptions_are_tried_again_and_recorded(kind: str) -> None:
    calls: list[Any] = []

    def plain(plan: dict[Any, Any]) -> Any:
        calls.append(dict(plan))
        if len(calls) in (1, 2, 4):
            raise BusyError("slow down")
        return [*scores(plan), Cost(0.5)]

    def yielding(plan: dict[Any, Any]) -> Iterator[float]:
        yield Cost(0.25)
        yield 0.5  # of a try that breaks off after this, nothing counts
        yield plain(plan)[1]

    async def waiting(plan: dict[Any, Any]) -> Any:
        return plain(plan)

    study = new_study(epsilon=NEVER)
    function: Any = {"plain": plain, "yields": yielding, "async": waiting}[kind]
    study.optimize(function, n_trials=3, retry=2, retry_on=(BusyError, TimeoutError), backoff=0.001)
    found = rows(study)
    assert [(row.state, row.tries) for row in found] == [("complete", 3), ("complete", 2), ("complete", 1)]
    assert calls[0] == calls[1] == calls[2] == study.mdp.plan(list(found[0].path))
    assert [row.cost for row in found] == ([0.75, 0.5, 0.25] if kind == "yields" else [0.5, 0.5, 0.5])
    assert study.trials["tries"].to_list() == [3, 2, 1]


def test_what_is_not_named_or_never_ends_fails() -> None:
    def fails(plan: dict[Any, Any]) -> Any:
        raise BusyError if len(study) == 1 else KeyError("x")

    study = new_study(epsilon=NEVER)
    study.optimize(fails, n_trials=2, retry=3, retry_on=BusyError, backoff=0.001)
    assert [(row.state, row.tries, row.note) for row in rows(study)] == [
        ("failed", 4, "BusyError"),
        ("failed", 1, "KeyError: 'x'"),
    ]
    refused: list[tuple[dict[str, Any], str]] = [
        ({"retry": 2}, "retry says how often, retry_on after which exceptions"),
        ({"retry_on": BusyError}, "retry says how often, retry_on after which exceptions"),
        ({"retry": 2, "retry_on": "429"}, "retry_on takes types of exceptions, such as TimeoutError, not '429'"),
        ({"retry": 2, "retry_on": KeyboardInterrupt}, "retry_on takes types of exceptions"),
    ]
    for options, message in refused:
        with pytest.raises(SettingError, match=message):
            study.optimize(scores, **options)


def test_pauses_double_up_to_a_minute() -> None:
    random.seed(3)
    for tries, middle in [(1, 0.5), (2, 1.0), (5, 8.0), (40, 60.0)]:
        pauses = [Retry(9, (BusyError,), 0.5).seconds(tries) for _ in range(200)]
        assert 0.5 * middle <= min(pauses) < 0.6 * middle < 1.4 * middle < max(pauses) <= 1.5 * middle


def test_a_function_gets_the_case_and_a_batch_counts_by_its_mean() -> None:
    given: list[tuple[Any, str]] = []

    def function(plan: dict[Any, Any], case: str) -> Any:
        given.append((plan, case))
        return [SCORE[str(plan["model"])], float(case)], Cost(float(case))

    async def later(plan: dict[Any, Any], case: str) -> Any:
        return function(plan, case)

    for one in (function, later):
        study = new_study(epsilon=NEVER, cases=4, cases_per_trial=3)
        given.clear()
        study.optimize(one, n_trials=5)
        for i, row in enumerate(rows(study)):
            assert tuple(case for _, case in given[3 * i : 3 * i + 3]) == row.cases == study._cases.drawn(row.number)
            assert row.rewards[1] == pytest.approx(sum(map(float, row.cases)) / 3)
            assert row.cost == pytest.approx(sum(map(float, row.cases)))
    with pytest.raises(SettingError, match="calls the function with a plan and a case; scores takes"):
        study.optimize(scores)
    with pytest.raises(SettingError, match="with a plan alone, as the study has no cases; function takes"):
        new_study().optimize(function)


def test_a_batch_fails_where_one_of_its_cases_does() -> None:
    def function(plan: dict[Any, Any], case: str) -> Iterator[float]:
        yield 0.5
        if case == "2":
            raise ValueError("bad ticket")
        yield 1.0

    study = new_study(epsilon=NEVER, cases=["2"], cases_per_trial=2)
    study.optimize(function, n_trials=1)
    assert [(row.state, row.rewards, row.note) for row in rows(study)] == [
        ("partial", (0.5,), "ValueError: bad ticket")
    ]


def test_a_command_gets_the_case_tells_its_cost_and_is_run_again_after_named_codes(tmp_path: Path) -> None:
    script = tmp_path / "trial.sh"
    script.write_text(
        'echo x >> "$2"; test $(wc -l < "$2") -ge 3 || exit 75; echo cost 0.25; echo "0.$1 0.$SUREPATH_CASE"'
    )
    mdp = MDP.from_steps({"a": ["x", "y"], "b": ["u", "v"]}, sigma=1.0)
    study = Study.create(mdp, "memory", epsilon=1.0, delta=0.1, cases=["7"])
    trial = study.ask()
    command = f"sh {script} {{case}} {tmp_path / 'tries'}"
    done = Command(mdp, command, "s", True, 3, [75])(trial)
    assert (done.rewards, done.cost, done.tries, done.note) == ([0.7, 0.7], 0.25, 3, None)
    (tmp_path / "tries").unlink()
    begun = time.monotonic()
    assert Command(mdp, command, "s", True)(trial).note == "exit code 75"
    assert time.monotonic() - begun < 60
    with pytest.raises(SettingError, match="--retry says how often, --retry-on after which exit codes"):
        Command(mdp, command, "s", True, 3)
    with pytest.raises(SettingError, match=r"the command has {case}, but no step is called so"):
        Command(mdp, command)
