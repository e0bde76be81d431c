"""Storages for tests: memory, a SQLite file, and a database of its own on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from surepath.study.storage import Storage


class Clock:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each kind that processes can share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return str(request.getfixturevalue("postgres"))


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def opening(kind: str, clock: Clock, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[], Storage]]:
    """A function that opens the same place as often as called, as another process would."""
    opened: list[Storage] = [Storage("memory", clock)] if kind == "memory" else []
    url = f"sqlite:///{tmp_path / 'study.db'}" if kind == "sqlite" else ""
    if kind == "postgresql":
        url = request.getfixturevalue("postgres")

    def open_it() -> Storage:
        if kind == "memory":
            return opened[0]
        opened.append(Storage(url, clock))
        return opened[-1]

    yield open_it
    for storage in opened:
        storage.close()
