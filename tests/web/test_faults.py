"""What the API says when something is wrong: in words, and nothing of the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from surepath.study.sql import SqlStorage
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
    storage: SqlStorage, writer: Caller, client: TestClient, verb: str, body: Any, said: str | None
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


@pytest.mark.parametrize(
    ("method", "route", "body", "kind", "said"),
    [
        ("POST", "ask", "{}", "application/x-www-form-urlencoded", "JSON, sent with the header Content-Type: applicat"),
        ("POST", "ask", "{n: 1}", "application/json", "the body is no JSON: "),
        ("POST", "ask", "[1]", "application/json", "the body must be a JSON object, such as {}"),
        ("POST", "ask", '{"count": 2}', "application/json", "there is no field count here; /api/openapi.json lists"),
        ("POST", "ask", '{"n": 0}', "application/json", "n: Input should be greater than or equal to 1"),
        ("POST", "trials/1/tell", "{}", "application/json", "rewards is missing"),
        (
            "POST",
            "trials/1/tell",
            '{"rewards": ["a"]}',
            "application/json",
            "rewards.0: Input should be a valid number",
        ),
        ("GET", "trials?state=compleet", "", "", "state must be one of running, cancelled, complete, "),
        ("GET", "statu", "", "", "there is no /api/statu here; /api/openapi.json lists the routes"),
        ("GET", "ask", "", "", "/api/ask does not take GET; it takes POST"),
    ],
)
def test_a_request_that_is_none_is_told_what_to_send(
    storage: SqlStorage, writer: Caller, client: TestClient, method: str, route: str, body: str, kind: str, said: str
) -> None:
    new_study(storage)
    answer = client.request(
        method, f"/api/{route}", content=body, headers={**writer.headers, **({"Content-Type": kind} if kind else {})}
    )
    assert said in answer.json()["message"]


def test_a_trial_is_cancelled_with_or_without_a_note(storage: SqlStorage, writer: Caller, client: TestClient) -> None:
    new_study(storage)
    writer.post("ask", {"n": 2})
    assert client.post("/api/trials/1/cancel", headers=writer.headers).json() == {"outcome": "cancelled"}
    writer.post("trials/2/cancel", {"note": "no time"})
    assert [writer.get(f"trials/{number}")["note"] for number in (1, 2)] == ["", "no time"]


def test_unknown_studies_and_trials(storage: SqlStorage, writer: Caller) -> None:
    assert writer.get("studies") == {"studies": [], "total": 0}
    assert writer.get("status", expect=404)["message"] == "there is no study here yet"
    new_study(storage, "one/two <b>")
    new_study(storage, "..")
    said = writer.get("status", expect=404)["message"]
    assert said == "name the study, as in ?study=NAME: there are 2 here ('..', 'one/two <b>')"
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
