"""What the API says when something is wrong: in words, and nothing of the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from surepath.study.storage.memory import MemoryStorage
from surepath.web.access import Access
from surepath.web.app import create_app
from tests.web.site import READ, WRITE, Caller, database, new_study


@pytest.mark.parametrize(
    ("verb", "body", "said"),
    [
        ("trials/1/tell", {"rewards": [0.1]}, None),
        ("trials/1/tell", {"rewards": ["a", 1, 2]}, "input"),
        ("trials/1/tell", {"rewards": [0.1, 0.2, 0.3], "more": 1}, "input"),
        ("trials/1/tell", {"rewards": [1e400, 0.2, 0.3]}, "RewardError"),
        ("trials/1/tell", {"rewards": [0.1] * 4}, "RewardError"),
        ("ask", {"n": 0}, "input"),
        ("ask", {"n": 1_001}, "input"),
        ("ask", {"request": "a\nb"}, "SettingError"),
        ("tell-many", {"results": [{"number": 1, "rewards": ["a"]}]}, "input"),
        ("import", {"results": [{"plan": [5, 5, 5], "rewards": [0.1]}]}, "PathError"),
        ("import", {"results": [{"plan": [0, 2, 8], "rewards": []}]}, "SettingError"),
        ("enqueue", {"plan": {"chunk": "1024"}}, "PathError"),
        ("enqueue", {"plan": [5, 5, 5]}, "PathError"),
        ("exclude", {"option": {"chunk": "nothing"}}, None),
    ],
)
def test_what_is_wrong_is_said_in_words(
    storage: MemoryStorage, writer: Caller, client: TestClient, verb: str, body: Any, said: str | None
) -> None:
    new_study(storage)
    writer.post("ask")
    headers = {**writer.headers, "Content-Type": "application/json"}
    answer = client.post(f"/api/{verb}", content=json.dumps(body), headers=headers)
    if verb == "trials/1/tell" and said is None:
        assert answer.json() == {"outcome": "told"}  # a prefix is data
        return
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"] == (said or "SettingError")


def test_unknown_studies_and_trials(storage: MemoryStorage, writer: Caller) -> None:
    assert writer.get("studies") == {"studies": [], "total": 0}
    assert writer.get("status", expect=404)["message"] == "name the study: there are 0 here"
    new_study(storage, "one/two <b>")
    new_study(storage, "..")
    assert writer.get("studies")["studies"] == ["..", "one/two <b>"]
    assert writer.get("status", study="..")["study"] == ".."
    assert writer.get("status", study="one/two <b>")["study"] == "one/two <b>"
    assert "there is no study 'three'" in writer.get("status", study="three", expect=404)["message"]
    for verb in ("tell", "fail", "renew", "cancel"):
        body = {"rewards": [1.0]} if verb == "tell" else {}
        assert writer.post(f"trials/7/{verb}", body, study="..", expect=404)["message"] == "there is no trial 7"
    assert writer.get("trials/5", study="..", expect=404)["error"] == "StudyError"
    assert writer.get("trials/0", study="..", expect=422)["error"] == "input"


def test_errors_say_nothing_of_the_machine(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    new_study(database(tmp_path))
    app = create_app(database(tmp_path), Access(READ, WRITE))
    with TestClient(app, raise_server_exceptions=False) as client:
        caller = Caller(client, WRITE)
        caller.get("status")
        for file in tmp_path.iterdir():
            file.write_bytes(b"no database")
        app.state.studies.close()
        told = caller.get("status", expect=503)
        assert told == {
            "error": "StorageError",
            "message": "the storage cannot be read or written; the server's log says why",
        }
        assert str(tmp_path) in caplog.text
        app.state.studies.get = None
        told = caller.get("status", expect=500)
        assert told["message"] == "something went wrong; the server's log says what"
