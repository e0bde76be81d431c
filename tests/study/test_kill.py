"""Workers that die at any moment: no told reward is lost, none counts twice, the study goes on and finishes."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.study.workers import ENDLESS, check_nothing_lost, kill, new_study, read_notes, start, states_of

KILLS = 80


@pytest.mark.slow
def test_workers_are_killed_at_any_moment(url: str, tmp_path: Path) -> None:
    study = new_study(url, ENDLESS, lease=0.5, epsilon=0.2)
    study.sync()
    notes, rng = tmp_path / "notes", random.Random(1)
    crew = [start(study, notes) for _ in range(3)]
    kills = 0
    while kills < KILLS:
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
    counts = states_of(url)
    assert counts["expired"] > 3, counts  # kills did hit workers between ask and tell
    study.close()
