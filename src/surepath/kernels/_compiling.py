"""Announce compilation, once in a process and only when a kernel of this package is compiled.

Numba's events are a documented part of it; nothing else of the compiler is touched.
"""

from __future__ import annotations

import sys
from typing import Any

from numba.core import event

from surepath.kernels.cache_folder import Folder


class Announcer(event.Listener):  # type: ignore[misc]
    """Print on stderr that kernels are being compiled, and where they are kept."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.said = False

    def on_start(self, event: Any) -> None:
        """Announce compilation when the first kernel of this package starts."""
        if not self.said and event.data["dispatcher"].py_func.__module__.startswith("surepath."):
            self.said = True
            print(f"surepath: {words(self.folder)}", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Do nothing when a compilation ends."""


def words(folder: Folder) -> str:
    """Write the announcement: that compilation happens once, or why there is no folder to keep kernels in."""
    path, trouble = folder
    if path is None:
        return (
            "compiling kernels; this takes a few seconds in every process, for want of a private folder to keep "
            f"them in ({trouble}); name one with SUREPATH_CACHE_DIR"
        )
    where = f", kept in {path} because {trouble}" if trouble else ""
    return f"compiling kernels, once; this takes a few seconds{where}"


def announce(folder: Folder) -> None:
    """Announce compilation from now on; kernels are kept in this folder."""
    event.register("numba:compile", Announcer(folder))
