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
        raise SettingError(f'storage must be a URL such as "sqlite:///study.db", not {storage!r}')
    from surepath.study.storage.sql import SqlStorage

    return SqlStorage(storage)
