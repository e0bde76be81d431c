"""Numba's cache of compiled functions, for our kernels alone: in our folder, and a damaged file is only a lost one.

Numba's own setting of the folder counts for the whole process; a user's functions must not land in ours, so each
kernel gets a cache object of its own.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator
from numba.core.runtime import rtsys


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

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what is kept for these types, or None.

        Numba would first import all that it can compile, 0.4 s; a compiled kernel needs none of it.
        """
        try:
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except Exception:  # whatever a damaged file may raise: forget what the index says
            with contextlib.suppress(OSError):
                os.unlink(self._cache_file._index_path)
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
