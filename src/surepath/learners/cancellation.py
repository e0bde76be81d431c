"""Cancel simulated runs: each thread has a flag that long runs test between two stretches of compiled work."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

_mine = threading.local()


class Cancelled(Exception):
    """The run of this worker was cancelled."""


def raise_if_cancelled() -> None:
    """Raise `Cancelled` if this thread's runs are cancelled; called between runs, in long ones between kernels too."""
    halt: threading.Event | None = getattr(_mine, "halt", None)
    if halt is not None and halt.is_set():
        raise Cancelled


@contextlib.contextmanager
def cancelled_by(halt: threading.Event) -> Iterator[None]:
    """Let runs on this thread end at their next `raise_if_cancelled` once the event is set."""
    before = getattr(_mine, "halt", None)
    _mine.halt = halt
    try:
        yield
    finally:
        _mine.halt = before
