"""Routes that wait for a storage take one turn in a thread."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
import pytest

from surepath.study.sql import SqlStorage
from tests.web.site import Caller, new_study


def test_a_request_takes_one_turn_in_a_thread(
    writer: Caller, storage: SqlStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_study(storage, "rag")
    writer.post("ask", study="rag")  # the study is open
    turns, real = [0], anyio.to_thread.run_sync

    async def counted(*arguments: Any, **options: Any) -> Any:
        turns[0] += 1
        return await real(*arguments, **options)

    monkeypatch.setattr(anyio.to_thread, "run_sync", counted)
    assert writer.post("trials/1/tell", {"rewards": [0.1, 0.2, 0.3]}, study="rag") == {"outcome": "told"}
    assert turns == [1]
    assert writer.get("status", study="rag")["trials"] == 1
    assert turns == [2]
