"""Studies that come and go in the storage while it is served, and what the stream tells of a change."""

from __future__ import annotations

import json
from pathlib import Path

from fastapi.testclient import TestClient

from surepath import Study
from surepath.study.sql import SqlStorage
from surepath.web.access import Access
from surepath.web.app import create_app
from surepath.web.changes import Watcher
from surepath.web.open_studies import OpenStudies
from tests.web.site import READ, WRITE, Caller, database, new_study


def test_a_study_deleted_and_created_anew_is_another(storage: SqlStorage, reader: Caller) -> None:
    new_study(storage, trials=5)
    assert reader.get("status")["trials"] == 5
    storage.delete("rag")
    assert "there is no study 'rag'" in reader.get("status", study="rag", expect=404)["message"]
    new_study(storage, epsilon=0.5)
    assert reader.get("status", study="rag")["trials"] == 0
    assert reader.get("status")["epsilon"] == 0.5


def test_the_stream_tells_only_what_differs(storage: SqlStorage) -> None:
    study = new_study(storage)
    watcher = Watcher(OpenStudies(storage).get("rag"))
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
    assert told["gap"][-1] == [1, None, 0.2]
    json.dumps(told, allow_nan=False)


def test_a_study_made_by_another_process_shows_up(tmp_path: Path) -> None:
    new_study(database(tmp_path), "first")
    with TestClient(create_app(database(tmp_path), Access(READ, WRITE))) as client:
        caller = Caller(client, READ)
        assert caller.get("studies")["studies"] == ["first"]
        other = Study.create(new_study("memory").mdp, database(tmp_path), "second", epsilon=0.2, delta=0.1)
        other.ask()
        assert caller.get("studies")["studies"] == ["first", "second"]
        assert caller.get("status", study="second")["trials"] == 1
