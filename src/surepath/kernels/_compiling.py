"""Announce compilation, once in a process and only when a kernel of this package is compiled.

Numba's events are a documented part of it; nothing else of the compiler is touched.
"""

from __future__ import annotations

import sys
from typing import Any

from numba.core import event


class Announcer(event.Listener):  # type: ignore[misc]
    """Print a sentence on stderr when the first kernel of this package is compiled."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence

    def on_start(self, event: Any) -> None:
        """Print the sentence, the first time."""
        if self.sentence and event.data["dispatcher"].py_func.__module__.startswith("surepath."):
            print(f"surepath: {self.sentence}", file=sys.stderr, flush=True)
            self.sentence = ""

    def on_end(self, event: Any) -> None:
        """Do nothing when a compilation ends."""
