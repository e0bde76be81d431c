"""Processes that work on a study as users' workers do, for tests that kill them, crowd them or stop their server."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from surepath import MDP
from surepath.errors import StoppedError
from surepath.study import Study
from surepath.study import tables as sql
from surepath.study.storage import Storage

FORK = multiprocessing.get_context("fork")
SCORES = {"a": 0.2, "b": 0.8, "c": 0.5, "d": 0.1, "equal to c": 0.5}
TAKES = 0.005  # seconds; a trial takes a moment, else hardly any kill would hit one
STEPS = {"first": ["a", "b"], "second": ["c", "d"], "third": ["a", "c"]}
ENDLESS = {**STEPS, "second": ["c", "equal to c"]}  # two best plans: with a small epsilon it takes for ever,
SURE = 1e-9  # unless one of the two is ruled out by chance, which happens in up to delta of the runs


def new_study(storage: Any, steps: dict[str, list[str]] = STEPS, **settings: Any) -> Study:
    """Create a study of eight plans."""
    given = {"epsilon": 0.02, "delta": SURE if steps is ENDLESS else 0.1, "sigma": 0.3, "lease": 60, **settings}
    return Study.create(MDP.from_steps(steps), storage, "work", **given)


def rewards_of(trial: Any, seed: int = 0) -> list[float]:
    """Draw a trial's scores; the same trial scores the same whoever runs it."""
    noise = np.random.default_rng([seed, trial.number]).normal(scale=0.3, size=len(trial.plan))
    return [SCORES[option] + float(x) for option, x in zip(trial.plan.values(), noise)]


def work(place: str | Study, notes: str, trials: int | None = None) -> None:
    """Run trials until the study is done or `trials` were run; note what was assigned and what was acknowledged.

    Args:
        place: An address, or a study that this process inherits from its parent.
        notes: A file to append to.
        trials: How many.
    """
    file = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        study = place if isinstance(place, Study) else Study.load(place)
        count = 0
        while trials is None or count < trials:
            try:
                trial = study.ask(attended=True)
            except StoppedError:
                return
            os.write(file, (json.dumps(["asked", trial.number]) + "\n").encode())
            rewards = rewards_of(trial)
            time.sleep(TAKES)
            study.tell(trial, rewards)
            os.write(file, (json.dumps(["told", trial.number, rewards]) + "\n").encode())
            count += 1
    except BaseException:
        os.write(file, (json.dumps(["error", traceback.format_exc()]) + "\n").encode())
        os._exit(1)


def start(place: str | Study, notes: Path, trials: int | None = None) -> Any:
    """Start a worker."""
    process = FORK.Process(target=work, args=(place, str(notes), trials), daemon=True)
    process.start()
    return process


def kill(process: Any) -> bool:
    """End a worker as a power failure would; False when it had ended already."""
    process.kill()
    process.join()
    return bool(process.exitcode == -signal.SIGKILL)


def read_notes(notes: Path) -> dict[str, list[Any]]:
    """Read what the workers noted, by kind."""
    found: dict[str, list[Any]] = {"asked": [], "told": [], "error": []}
    for line in notes.read_text().splitlines():
        entry = json.loads(line)
        found[entry[0]].append(entry[1:])
    return found


def check_nothing_lost(url: str, notes: dict[str, list[Any]]) -> None:
    """Compare the log with what was acknowledged and with a fold of its own; a replay must give the same."""
    study = Study.load(url)
    study.sync()
    with study.storage.reading(study.name) as log:
        rows = log.trials(1, 10**9)
        last = log.last_number
    assert [row.number for row in rows] == list(range(1, last + 1))
    by_number = {row.number: row for row in rows}
    late = {row.of: row for row in rows if row.source == "late"}
    assert len(late) == sum(row.source == "late" for row in rows)  # none counted twice
    for number, rewards in notes["told"]:
        row = by_number[number]
        told = row if row.state == "complete" else late[number]
        assert list(told.rewards) == rewards, number
    prefix = rows[: study._fold.prefix]
    assert all(row.settled for row in prefix)
    visits, sums = np.zeros(study.mdp.n_arcs, dtype=int), np.zeros(study.mdp.n_arcs)
    for row in prefix:
        for arc, reward in zip(row.path, row.rewards) if row.source != "late" else ():
            visits[arc] += 1
            sums[arc] += reward
    assert study.learner.visits.tolist() == visits.tolist()
    np.testing.assert_allclose(study.learner.sums, sums, rtol=1e-9)
    forget_snapshots(url)
    replay = Study.load(url)
    replay.sync()
    assert replay._fold.digest == study._fold.digest
    assert replay.learner.sums.tolist() == study.learner.sums.tolist()
    assert replay.learner.active.tolist() == study.learner.active.tolist()
    assert replay.best_plan == study.best_plan
    if not study.done:
        assert replay._fold.choose(3).tolist() == study._fold.choose(3).tolist()
    assert replay.done == study.done
    study.close()
    replay.close()


def forget_snapshots(place: str | Storage) -> None:
    """Delete the cache."""
    storage = Storage(place) if isinstance(place, str) else place
    with storage.writing("work") as log:
        log.run(sql.DROP_SNAPSHOTS)
    storage.close()


def in_child(do: Callable[[], Any]) -> Any:
    """Run a function in a process of its own; return what it returns, or the name and words of what it raised."""
    parent, child = FORK.Pipe()

    def run() -> None:
        try:
            child.send(do())
        except BaseException as error:
            child.send((type(error).__name__, str(error)))

    process = FORK.Process(target=run)
    process.start()
    answer = parent.recv() if parent.poll(60) else None
    process.join()
    return answer
