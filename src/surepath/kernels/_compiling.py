"""While kernels are compiled: say so once, and spend no time on what the result does not need.

Numba optimises every kernel by itself before it takes it into its caller and optimises it there again. Only the last
time counts, when the kernel that Python calls is compiled with all it takes in; the ones inside get a light touch.
And the compiler makes many objects that live on, which the garbage collector would look through again and again.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

from numba.core import config, event

from surepath.kernels.cache_folder import Folder

# Numba's settings for kernels inside others; one that a later Numba does not know is left out.
_LIGHT = {"OPT": 1, "LOOP_VECTORIZE": 0, "SLP_VECTORIZE": 0}


class Compiling(event.Listener):  # type: ignore[misc]
    """Hears of each kernel that is about to be compiled, and of those it calls in turn. Numba holds its lock then."""

    said = False

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.light: list[bool] = []  # for each kernel under way, outermost first
        self.collecting = False
        self.usual: dict[str, Any] = {}

    def on_start(self, event: Any) -> None:
        """Announce the first kernel of ours, and go light where it has no way in from Python of its own."""
        dispatcher = event.data["dispatcher"]
        if not self.light:
            if not dispatcher.py_func.__module__.startswith("surepath."):
                return
            self.collecting = gc.isenabled()
            self.usual = {name: getattr(config, name) for name in _LIGHT if hasattr(config, name)}
            gc.disable()
        inside = dispatcher.targetoptions.get("no_cpython_wrapper", False)
        self.light.append(bool(self.light) and inside)
        self._set()
        if not Compiling.said:
            Compiling.said = True
            print(f"surepath: {self.words()}", file=sys.stderr, flush=True)

    def words(self) -> str:
        """What is said when the first kernel is compiled."""
        path, trouble = self.folder
        if path is None:
            return (
                "compiling kernels; this takes a few seconds in every process, for want of a private folder to keep "
                f"them in ({trouble}); name one with SUREPATH_CACHE_DIR"
            )
        where = f", kept in {path} because {trouble}" if trouble else ""
        return f"compiling kernels, once; this takes a few seconds{where}"

    def on_end(self, event: Any) -> None:
        """Back to the kernel around it; Numba says so after an error too."""
        if self.light:
            self.light.pop()
            self._set()
            if not self.light and self.collecting:
                gc.enable()

    def _set(self) -> None:
        light = bool(self.light) and self.light[-1]
        for name, usual in self.usual.items():
            setattr(config, name, type(usual)(min(usual, _LIGHT[name])) if light else usual)


def listen(folder: Folder) -> None:
    """From now on; kernels are kept in this folder."""
    event.register("numba:compile", Compiling(folder))
