"""Many processes on one study: no lock error reaches a user, no trial is assigned twice before its lease ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.study.postgres import Server
from tests.study.workers import ENDLESS, check_nothing_lost, new_study, read_notes, start, states_of

PROCESSES = 8
TRIALS = int(os.environ.get("SUREPATH_TRIALS", "40"))  # of each process; 500 is the full size


@pytest.mark.slow
def test_processes_share_a_study(url: str, tmp_path: Path) -> None:
    study = new_study(url, ENDLESS, epsilon=0.001)
    study.sync()
    notes = tmp_path / "notes"
    crew = [start(url, notes, TRIALS) for _ in range(PROCESSES)]
    for process in crew:
        process.join(600)
    found = read_notes(notes)
    assert found["error"] == []
    assert [process.exitcode for process in crew] == [0] * PROCESSES
    numbers = [number for (number,) in found["asked"]]
    assert sorted(numbers) == list(range(1, PROCESSES * TRIALS + 1))
    assert states_of(url) == {"complete": PROCESSES * TRIALS}
    check_nothing_lost(url, found)
    study.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGQUIT, marks=pytest.mark.rare)])
def test_a_server_restarted_in_mid_study_is_waited_for(
    server: Server, postgres: str, tmp_path: Path, how: signal.Signals
) -> None:
    study = new_study(postgres, ENDLESS, epsilon=0.001)
    study.sync()
    notes = tmp_path / "notes"
    crew = [start(postgres, notes, 60) for _ in range(3)]
    while not notes.exists() or len(read_notes(notes)["told"]) < 15:
        time.sleep(0.02)
    server.stop(how)
    before = len(read_notes(notes)["told"])
    time.sleep(0.5)
    assert all(process.is_alive() for process in crew)  # they wait
    assert len(read_notes(notes)["told"]) <= before + len(crew)  # each may have been about to note its last one
    server.start()
    assert len(study) >= before  # so does a reader in this process, whose connection is lost
    for process in crew:
        process.join(120)
    found = read_notes(notes)
    assert found["error"] == []
    assert [process.exitcode for process in crew] == [0, 0, 0]
    assert len(found["told"]) == 180
    check_nothing_lost(postgres, found)
    study.close()
