"""A study whose file can be read and not written: the page shows it, and who wants to write is told why not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from surepath.web.access import Access
from surepath.web.app import create_app
from tests.study.test_bad_places import as_nobody
from tests.web.site import READ, WRITE, Caller, database, new_study

WRITES: list[tuple[str, Any]] = [
    ("ask", {"request": "a"}),
    ("trials/21/fail", {}),
    ("trials/21/renew", {}),
    ("enqueue", {"plan": [0, 2, 8]}),
    ("exclude", {"option": {"retriever": "bm25"}}),
    ("tighten", {"epsilon": 0.1}),
    ("import", {"results": [{"plan": [0, 2, 8], "rewards": [0.1, 0.2, 0.3]}]}),
    ("tell-many", {"results": [{"number": 21, "rewards": [0.1, 0.2, 0.3]}]}),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)
        os.chmod(name, 0o755)


def visit(place: str) -> dict[str, Any]:
    """Read all there is to read, and try every way to write."""
    found: dict[str, Any] = {}
    with TestClient(create_app(place, Access(READ, WRITE)), raise_server_exceptions=False) as client:
        caller = Caller(client, WRITE)
        found["trials"] = caller.get("status")["trials"]
        for verb in ("graph", "gap", "explain", "forecast", "certificate", "trials", "trials/1", "problem", "studies"):
            caller.get(verb)
        found["export"] = len(client.get("/api/export", headers=caller.headers).text.splitlines())
        found["writes"] = [caller.post(verb, body, expect=409) for verb, body in WRITES]
    return found


@pytest.mark.parametrize("sealed", [True, False])
def test_a_read_only_file_is_shown_and_not_written(folder: Path, sealed: bool) -> None:
    """Sealed: neither the file nor its folder can be written; else a writer has it open beside us."""
    study = new_study(database(folder), trials=20, sigma=1.0)
    study.ask()
    if sealed:
        study.close()
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    before = (folder / "study.db").read_bytes()
    found = as_nobody(lambda: visit(database(folder)))
    assert found["trials"] == 21
    assert found["export"] == 22
    message = "this storage can be read and not written: the file or its folder is read-only"
    assert found["writes"] == [{"error": "StorageError", "message": message}] * len(WRITES)
    assert (folder / "study.db").read_bytes() == before
    study.close()
