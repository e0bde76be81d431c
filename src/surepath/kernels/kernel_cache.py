"""Numba's cache of compiled functions, for our kernels alone: in our folder, and a damaged file is only a lost one.

Numba's own setting of the folder counts for the whole process; a user's functions must not land in ours, so each
kernel gets a cache object of its own. Files carry a checksum, because machine code with a hole in it would crash.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import pickle
import sys
from pathlib import Path
from typing import Any, ClassVar

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, InTreeCacheLocator

_DIGEST = hashlib.sha256().digest_size


class DamagedFileError(Exception):
    """Report a file that is not what was written."""


class ChecksummedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """Read and write the index and the data files of one kernel, each after its checksum."""

    def _load_index(self) -> dict[Any, str]:
        try:
            version, stamp, overloads = pickle.loads(_read(self._index_path))
        except FileNotFoundError:
            return {}
        except Exception:
            with contextlib.suppress(OSError):
                os.unlink(self._index_path)
            return {}
        return dict(overloads) if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, self._dump((self._version, self._source_stamp, overloads)))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_read(self._data_path(name)))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), self._dump(data))

    def _write(self, path: str, data: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(data).digest())
            file.write(data)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        digest, data = file.read(_DIGEST), file.read()
    if hashlib.sha256(data).digest() != digest:
        raise DamagedFileError(path)
    return data


class FolderLocator(InTreeCacheLocator):  # type: ignore[misc]
    """Locate our folder instead of the one beside a function's file."""

    folder: ClassVar[Path]

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = str(self.folder / self.get_suitable_cache_subpath(py_file))


class KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    """Store compiled functions in our folder."""

    _locator_classes: ClassVar[list[type]] = [FolderLocator]

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._locator = FolderLocator(py_func, inspect.getfile(py_func))  # whatever other places Numba is set up with


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Cache one kernel, and never fail: what cannot be read is compiled, what cannot be written is not kept."""

    _impl_class = KernelCacheImpl
    said = False

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = ChecksummedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what is kept for these types, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever a damaged file may raise
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function; a full disk is no reason to stop."""
        try:
            super().save_overload(sig, data)
        except OSError as cause:
            if not KernelCache.said:
                KernelCache.said = True
                why = f"{FolderLocator.folder}: {cause.strerror or cause}"
                print(f"surepath: compiled kernels cannot be kept in {why}", file=sys.stderr, flush=True)
