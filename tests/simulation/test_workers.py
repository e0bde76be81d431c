"""Runs over threads: order, errors, Ctrl-C, progress."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from surepath import MDP, Gaussian, Instance, families, simulate
from surepath.learners.runs import Cancelled, raise_if_cancelled
from surepath.simulation.simulate import play_all


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_records_come_in_order_whoever_played_them(workers: int) -> None:
    told: list[int] = []

    def some(first: int, count: int) -> list[int]:
        time.sleep(0.002 * (first % 3))
        return [10 * i for i in range(first, first + count)]

    records = play_all(some, 230, workers, told.append)
    assert [x for record in records for x in record] == [10 * i for i in range(230)]
    assert len(records) < 100  # short runs are played many at a time
    assert told == sorted(told)
    assert told[-1] == 230


def test_an_error_calls_off_the_other_runs() -> None:
    ended: list[str] = []
    begun = time.monotonic()

    def some(first: int, count: int) -> None:
        if first == 1:
            raise ValueError("run 1")
        try:
            while True:
                time.sleep(0.001)
                raise_if_cancelled()
        except Cancelled:
            ended.append("halted")
            raise

    with pytest.raises(ValueError, match="run 1"):
        play_all(some, 1000, 2, lambda done: None)
    assert ended == ["halted"]
    assert time.monotonic() - begun < 30


ENDLESS_RUNS = {
    "EPRL": ({"name": "EPRL", "elimination": "none"}, families.paper_random()),
    "Challenger": ({"name": "Challenger"}, Instance(MDP.from_arrays([[[0, 0]]]), Gaussian([0.0, 0.0]))),  # a tie
}


@pytest.mark.parametrize("learner", ENDLESS_RUNS)
def test_an_error_in_the_users_progress_function_ends_the_runs(learner: str) -> None:
    def stop(done: int, runs: int) -> None:
        raise RuntimeError("enough")

    begun = time.monotonic()
    spec, instance = ENDLESS_RUNS[learner]
    with pytest.raises(RuntimeError, match="enough"):
        simulate({**spec, "epsilon": 0.0, "delta": 0.1}, instance, 40, seed=0, workers=2, budget=10**12, progress=stop)
    assert time.monotonic() - begun < 30


ENDLESS = """
from surepath import families, simulate
spec = {"name": "EPRL", "epsilon": 0.0, "delta": 0.1, "elimination": "none", "sampling": "max-diameter"}
say = lambda done, runs: print("playing", flush=True)
simulate(spec, families.paper_random(), runs=40, seed=0, workers=2, budget=10**12, progress=say)
"""


def test_ctrl_c_ends_long_runs_soon() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "playing\n"
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - begun < 20
    assert "KeyboardInterrupt" in said
