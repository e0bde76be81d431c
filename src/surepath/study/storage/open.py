"""Storages by URL: "sqlite:///study.db" or a file name, "postgresql://...", "memory"."""

from __future__ import annotations

from typing import Any

from surepath.errors import SettingError
from surepath.study.storage.contract import Storage


def open_storage(storage: Any) -> Storage:
    """Return the storage that a URL names; a Storage is returned as it is."""
    if isinstance(storage, Storage):
        return storage
    if not isinstance(storage, str) or not storage:
        given = type(storage).__name__ if storage else "nothing"
        raise SettingError(f'storage must be a URL such as "sqlite:///study.db", not {given}')
    if storage in ("memory", "memory://"):
        from surepath.study.storage.memory import MemoryStorage

        return MemoryStorage()
    from surepath.study.storage.sql import SqlStorage

    return SqlStorage(storage)
