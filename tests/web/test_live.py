"""What a server keeps: open studies, the gap over trials, forecasts, streams of changes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from fastapi.testclient import TestClient

from surepath import MDP, Study
from surepath.errors import UnknownError
from surepath.study.status import points_of
from surepath.study.storage import Storage
from surepath.study.trial import Result
from surepath.web.live import Opened, OpenStudies, Pulse, Watcher
from surepath.web.routes import Access
from surepath.web.server import create_app
from tests.web.site import READ, STEPS, WRITE, Caller, database, new_study, score


def test_a_study_deleted_and_created_anew_is_another(storage: Storage, reader: Caller) -> None:
    new_study(storage, trials=5)
    assert reader.get("status")["trials"] == 5
    storage.delete("rag")
    assert "there is no study 'rag'" in reader.get("status", study="rag", expect=404)["message"]
    new_study(storage, epsilon=0.5)
    assert reader.get("status", study="rag")["trials"] == 0
    assert reader.get("status")["epsilon"] == 0.5


def test_the_only_study_is_open_before_anybody_asks(storage: Storage) -> None:
    new_study(storage)
    with TestClient(create_app(storage, Access(READ, WRITE))) as client:
        end = time.monotonic() + 60
        while client.app.state.studies.kept("rag") is None:  # type: ignore[attr-defined]
            assert time.monotonic() < end
            time.sleep(0.01)


def test_what_waits_is_carried_out_together_and_an_error_is_that_of_its_request(storage: Storage) -> None:
    new_study(storage)
    at, alone = OpenStudies(storage).get("rag"), new_study(Storage("memory"))

    def carried_out(*requests: tuple[Any, str | None]) -> list[Any]:
        with at.study._lock:
            answers = [
                at.carry_out(
                    [] if number is None else [Result(number, [0.1, 0.2, 0.3])],
                    None if key is None else at.study._wanted(1, "me", key, None, False),
                )
                for number, key in requests
            ]
        return [answer.exception() or answer.result() for answer in answers]

    carried_out((None, "first"))  # the thread is at work from here on; what follows waits for it together
    before = storage_change(storage)
    together = carried_out(*[(None, str(i)) for i in range(6)], (None, "3"))
    assert [trials[0].number for _, trials in together] == [2, 3, 4, 5, 6, 7, 5]
    assert storage_change(storage) - before <= 2  # the first may have gone alone
    one_by_one = [alone.ask().path.tolist() for _ in range(7)]
    assert [trials[0].path.tolist() for _, trials in together[:6]] == one_by_one[1:]
    before = storage_change(storage)
    told = carried_out((1, None), (99, None), (2, "a"), (3, None), (99, "b"), (3, None), (4, "c"))
    assert [one if isinstance(one, Exception) else one[0] for one in (told[0], *told[2:4], *told[5:])] == [
        ["told"], ["told"], ["told"], ["repeated"], ["told"]
    ]  # fmt: skip
    assert all(isinstance(told[i], UnknownError) for i in (1, 4))
    assert [len(told[i][1]) for i in (0, 2, 3, 5, 6)] == [0, 1, 0, 0, 1]
    assert at.still().status().states["complete"] == 4


def storage_change(storage: Storage) -> int:
    with storage.reading("rag") as log:
        return log.last_change


def test_the_stream_tells_only_what_differs(storage: Storage) -> None:
    study = new_study(storage)
    watcher = Watcher(OpenStudies(storage).get("rag"), Pulse(storage))
    first = watcher.poll()
    assert first is not None
    assert first["status"]["trials"] == 0
    assert watcher.poll() is None
    trial = study.ask(worker="me")
    asked = watcher.poll()
    assert asked is not None
    assert asked["since"] == first["change"] < asked["change"]
    assert asked["status"]["trials"] == 1
    assert "best_plan" not in asked["status"]
    assert "delta" not in asked["status"]
    assert asked["arcs"]["arc"] == []
    study.tell(trial, [0.1, 0.2, 0.3])
    told = watcher.poll()
    assert told is not None
    assert told["since"] == asked["change"]
    assert told["arcs"]["arc"] == trial.path.tolist()
    assert told["arcs"]["mean"] == [0.1, 0.2, 0.3]
    assert told["gap"][-1][:3] == [1, None, 0.2]
    json.dumps(told, allow_nan=False)


def told(trials: int) -> tuple[Study, list[float]]:
    """A study with failures, an exclusion and a smaller epsilon on its way, and what was proven after every trial."""
    mdp = MDP.from_steps(STEPS, sigma=1.0)
    study = Study.create(mdp, "memory", epsilon=0.5, delta=0.1)
    rng, gaps = np.random.default_rng(0), []
    for number in range(trials):
        trial = study.ask()
        if number % 9 == 5:
            study.fail(trial, [0.3])
        elif number % 9 == 7:
            study.cancel(trial)
        else:
            study.tell(trial, np.array(score(trial.plan)) + rng.standard_normal(3))
        gaps.append(study.certified_gap)
        if number == 30:
            study.exclude({"chunk": "256"})
        if number == 40:
            study.tighten(0.25)
    return study, gaps


def test_the_past_is_what_was_proven_at_the_time() -> None:
    study, gaps = told(60)
    points = points_of(study._fold)
    assert [point.trials for point in points] == list(range(1, 61))
    assert [point.epsilon for point in points] == [0.5] * 40 + [0.25] * 20  # with what was decided after a trial
    seen = np.array([point.gap for point in points])
    assert np.isfinite(seen).any()
    same = np.delete(np.arange(60), [30, 40])
    np.testing.assert_allclose(seen[same], np.array(gaps)[same], rtol=1e-9)


def test_a_study_opened_from_its_snapshot_knows_its_past(tmp_path: Path) -> None:
    study = new_study(database(tmp_path), epsilon=0.001, sigma=1.0)
    for _ in range(130):
        trial = study.ask()
        study.tell(trial, score(trial.plan))
    study.sync()
    with study.storage.writing(study.name) as log:
        log.save_snapshot(study._fold.snapshot())
    points = points_of(study._fold)
    again = Study.load(database(tmp_path), study.name)
    again.sync()
    assert again._fold.saved == 130
    assert points_of(again._fold) == points


def test_a_forecast_is_made_beside_the_answers() -> None:
    background = Opened(new_study("memory", trials=60, sigma=1.0), lambda: None).forecast
    assert (background.get()["pending"], background.get()["words"]) == (True, "")
    background._worker.join()
    found = background.get()
    assert not found["pending"]
    assert found["words"].endswith(".")
    json.dumps(found, allow_nan=False)
