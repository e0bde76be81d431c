"""Ctrl-C that is always handled: a command ends within seconds, whatever it is computing.

Python handles signals between its own steps, and one call of a kernel or of the compiler is one step. So a thread of
its own receives the signal at once; if the command has not come to its end a little later, the thread ends the process.
Nothing is lost by that: files are written whole or not at all.

LLVM calls Python functions while it compiles. An error that a signal raises there is lost, or the process crashes: an
interrupt waits until LLVM has come back.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType

INTERRUPTED = 130
GRACE = 1.5  # seconds that a command has to end by itself
INTERRUPT_AGAIN_AFTER = 0.02  # seconds until an interrupt that came at a bad moment is tried again


_interrupt_text = ["interrupted"]


def set_interrupt_text(text: str) -> None:
    """Set the text to print when the command is interrupted, however it then ends."""
    _interrupt_text[0] = text


def interrupt_text() -> str:
    """Return the text to print when the command is interrupted."""
    return _interrupt_text[0]


_more = [0.0]
_before_kill: list[Callable[[], None]] = []


def call_before_kill(do: Callable[[], None]) -> None:
    """Register a function, which must be quick, to call before the process is ended from outside the command."""
    _before_kill.append(do)


def allow_seconds(seconds: float) -> None:
    """Allow the command so many seconds to end by itself: it has trials to cancel. A second Ctrl-C ends it at once."""
    _more[0] = seconds


def handle_interrupts(grace: float = GRACE) -> None:
    """Handle Ctrl-C from now on; for the main thread of a command."""
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(receiver, sender, grace), daemon=True, name="surepath-interrupt").start()
    if hasattr(signal, "setitimer"):
        for number in (signal.SIGINT, signal.SIGALRM):
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, as Python does, but in no function that LLVM has called: try again a little later."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("llvmlite."):
            signal.setitimer(signal.ITIMER_REAL, INTERRUPT_AGAIN_AFTER)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _listen(receiver: socket.socket, sender: socket.socket, grace: float) -> None:
    """Wait for a first SIGINT, then for a second one or for the time to pass; `sender` is held open meanwhile."""
    while signal.SIGINT not in receiver.recv(64):
        pass
    receiver.settimeout(max(grace, _more[0]))
    try:
        while signal.SIGINT not in receiver.recv(64):
            pass
    except TimeoutError:
        pass
    for do in _before_kill:
        with contextlib.suppress(Exception):
            do()
    shown = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar may have hidden the cursor
    os.write(2, f"{shown}\n{_interrupt_text[0]}\n".encode())
    os._exit(INTERRUPTED)
