"""Who may do what: tokens, refused logins, public addresses, the size of a request, what every answer forbids."""

from __future__ import annotations

import logging

import pytest
from fastapi.testclient import TestClient

from surepath.errors import SettingError
from surepath.study.sql import SqlStorage
from surepath.web.access import Access, open_access
from surepath.web.guard import LARGEST_BODY
from tests.web.site import READ, WRITE, Caller, new_study


def test_who_has_no_token_sees_nothing(client: TestClient, storage: SqlStorage) -> None:
    new_study(storage)
    described = client.get("/api/openapi.json").json()
    for path, verbs in described["paths"].items():
        for verb in verbs:
            answer = client.request(verb, path.replace("{number}", "1"), json={})
            assert answer.status_code == 401, path
            assert "rag" not in answer.text


def test_a_read_token_cannot_write(client: TestClient, storage: SqlStorage, reader: Caller) -> None:
    study = new_study(storage)
    described = client.get("/api/openapi.json").json()
    bodies = {"tell": {"rewards": []}, "enqueue": {"plan": []}, "exclude": {"option": []}, "tighten": {"epsilon": 0.1}}
    bodies |= {"tell-many": {"results": []}, "import": {"results": []}}
    posts = [path for path, verbs in described["paths"].items() if "post" in verbs]
    assert len(posts) == 10
    for path in posts:
        verb = path.removeprefix("/api/").replace("{number}", "1")
        assert reader.post(verb, bodies.get(verb.rpartition("/")[2]), expect=403)["error"] == "write-token"
    assert len(study) == 0


def test_refused_logins_are_logged_with_their_rate(caplog: pytest.LogCaptureFixture) -> None:
    access = Access(READ, WRITE)
    assert access.role(f"Bearer {READ}") == "read"
    assert access.role(f"bearer {WRITE}") == "write"
    for header in (None, "", READ, f"Basic {READ}", "Bearer ", "Bearer x" + READ):
        assert access.role(header) is None
    with caplog.at_level(logging.WARNING, "surepath.web"):
        for second in range(20):
            access.refuse("10.0.0.7", now=float(second))
        assert access.refuse("10.0.0.7", now=500.0) == 1
    assert [record.message for record in caplog.records] == [
        "refused a wrong token from 10.0.0.7; 1 in the last minute",
        "refused a wrong token from 10.0.0.7; 6 in the last minute",
        "refused a wrong token from 10.0.0.7; 11 in the last minute",
        "refused a wrong token from 10.0.0.7; 16 in the last minute",
        "refused a wrong token from 10.0.0.7; 1 in the last minute",
    ]
    assert READ not in caplog.text


def test_a_public_address_needs_a_token_that_is_hard_to_guess() -> None:
    with pytest.raises(SettingError, match=r"0.0.0.0 can be reached from other machines: give --read-token"):
        open_access("0.0.0.0", None, None)
    with pytest.raises(SettingError, match="a token needs 16 characters"):
        open_access("::", None, "short")
    with pytest.raises(SettingError, match="must differ"):
        open_access("127.0.0.1", "same", "same")
    with pytest.raises(SettingError, match="printable ASCII"):
        open_access("127.0.0.1", "a\nb", None)
    only_read = open_access("10.0.0.1", "a" * 16, None)
    assert only_read.role("Bearer " + "a" * 16) == "read"
    for host in ("127.0.0.1", "::1", "localhost"):
        first, second = open_access(host, None, None), open_access(host, None, None)
        assert first.write_token
        assert len(first.write_token) >= 16
        assert len({first.write_token, first.read_token, second.write_token, second.read_token}) == 4


def test_large_bodies_are_refused(client: TestClient, writer: Caller, storage: SqlStorage) -> None:
    new_study(storage)
    big = b'{"note": "' + b"x" * LARGEST_BODY + b'"}'
    headers = {**writer.headers, "Content-Type": "application/json"}
    told = client.post("/api/trials/1/fail", content=big, headers=headers)
    chunks = (big[i : i + 50_000] for i in range(0, len(big), 50_000))
    streamed = client.post("/api/trials/1/fail", content=chunks, headers=headers)
    for answer in (told, streamed):
        assert answer.status_code == 413
        assert answer.json()["message"] == "the body of a request may have at most 1,000,000 bytes"


def test_every_answer_forbids_loading_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/api/status", "/static/page.css", "/nothing"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert client.get("/docs").status_code == 404
