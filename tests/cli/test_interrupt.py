"""Ctrl-C ends every command soon, with exit code 130 and no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.shell import SOURCE, begin

LARGE = "layered-v1/s1000a10h100/seed0"  # a million arcs


def work_done(pid: int) -> float:
    """Seconds that all threads of a process have kept processors busy."""
    used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", LARGE, "--epsilon", "0.1", "--learner", "BPIUCRL", "--workers", "2", "--no-progress"],
        pytest.param(
            ["estimate", LARGE, "--epsilon", "0.1", "--delta", "0.1", "--seconds", "0"], marks=pytest.mark.rare
        ),
        pytest.param(["bound", LARGE, "--epsilon", "0.1", "--delta", "0.1", "--time"], marks=pytest.mark.rare),
    ],
    ids=["simulate", "estimate", "bound"],
)
def test_ctrl_c_is_heard_at_a_million_arcs(tmp_path: Path, words: list[str]) -> None:
    process = begin(*words, folder=tmp_path)
    end = time.monotonic() + 240
    while work_done(process.pid) < 6.0:  # not by the clock: a busy machine may still be importing after six seconds
        assert process.poll() is None, process.stderr.read()  # type: ignore[union-attr]
        assert time.monotonic() < end
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)  # it takes two seconds; a machine may be busy
    assert process.returncode == 130
    assert "Traceback" not in said
    assert said.rstrip().endswith("interrupted")


DEAF = """
import hashlib
import threading
from surepath.cli.main import handle_interrupts, set_interrupt_text
handle_interrupts(grace=0.2)
set_interrupt_text("so long")
threading.Timer(2.0, print, ["ready"], {"flush": True}).start()  # when the step below is well under way
hashlib.pbkdf2_hmac("sha256", b"", b"", 200_000_000)  # one long step in C, as a kernel is
"""


def test_a_step_that_never_checks_for_signals_is_ended() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.strip() == "so long"
    assert time.monotonic() - begun < 30


CALLED_BACK = """
import ctypes, os, signal, time
from surepath.cli.main import handle_interrupts
handle_interrupts(grace=60)
seen = []
def callback():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
    seen.append("the callback came to its end")
callback = type(callback)(callback.__code__, {**globals(), "__name__": "llvmlite.binding.pretended"})
try:
    ctypes.CFUNCTYPE(None)(callback)()  # what is raised in there goes nowhere
    time.sleep(30)
except KeyboardInterrupt:
    print(*seen)
"""


def test_an_interrupt_waits_until_the_compiler_has_come_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLED_BACK], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("the callback came to its end\n", "")
