"""Many processes on one study, some killed at any moment.

No lock error reaches a user, no trial is assigned twice before its lease ends, no told score is lost or counts twice.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.study.postgres import Server
from tests.study.workers import ENDLESS, check_nothing_lost, kill, new_study, read_notes, start
from tests.study.worlds import states

PROCESSES = 8
KILLS = 80
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
    assert states(study) == {"complete": PROCESSES * TRIALS}
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


def unfinished(notes: Path) -> int:
    """Count trials that were asked for and, as far as their workers noted, not told."""
    found = read_notes(notes)
    return len(found["asked"]) - len(found["told"])


@pytest.mark.slow
def test_workers_are_killed_at_any_moment(url: str, tmp_path: Path) -> None:
    study = new_study(url, ENDLESS, lease=0.5, epsilon=0.2)
    study.sync()
    notes, rng = tmp_path / "notes", random.Random(1)
    crew = [start(study, notes) for _ in range(3)]
    kills = 0
    while kills < KILLS or unfinished(notes) < 8:  # some of them between ask and tell
        time.sleep(rng.uniform(0.0, 0.05))
        victim = rng.randrange(len(crew))
        if kill(crew[victim]):
            kills += 1
        elif study.done:  # there must be something to interrupt
            study.tighten(study.epsilon * 0.8)
        crew[victim] = start(study if kills % 4 else url, notes)  # inherited from this process, or opened anew
    end = time.monotonic() + 400  # a busy machine may need minutes
    while not study.done and time.monotonic() < end:
        crew = [process if process.is_alive() else start(study, notes) for process in crew]
        time.sleep(0.1)
    for process in crew:
        process.join(30)
    assert study.done
    found = read_notes(notes)
    assert found["error"] == []
    assert len(found["told"]) > 100
    check_nothing_lost(url, found)
    assert study.best_plan["first"] == "b"
    assert study.best_plan["third"] == "c"
    assert states(study)["expired"] > 3, states(study)
    study.close()
