"""The `surepath` program: exit codes, output, Ctrl-C. The other chapters of this folder hold its commands.

Exit codes: 0 done; 1 the answer is no (a check failed), or the reader of the output closed it; 2 bad usage; 3 bad input
(problem file, setting, data); 4 a missing extra; 5 the machine cannot (a file cannot be written, too little memory);
130 interrupted.

Ctrl-C ends a command within seconds, whatever it is computing. Python handles signals between its own steps, and one
call of a kernel or of the compiler is one step. So a thread receives the signal at once; if the command has not ended a
little later, the thread ends the process. Nothing is lost: files are written whole or not at all. LLVM calls Python
functions while it compiles, and an error that a signal raises there is lost or crashes the process: an interrupt waits
until LLVM has come back.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, TextIO

import typer

from surepath._text import shown
from surepath._version import __version__

app = typer.Typer(
    name="surepath",
    help="Find the best plan when every trial is noisy and costly, and prove it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 the answer is no; 2 bad usage; 3 bad input; 4 a missing extra; "
    "5 cannot write, or too little memory; 130 interrupted.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"surepath {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the best plan when every trial is noisy and costly, and prove it."""


def run() -> None:
    """Run the program: errors become one line and an exit code, and Ctrl-C is always handled."""
    handle_interrupts()
    # For users, not programmers.
    warnings.formatwarning = lambda message, *_, **__: fitted(f"warning: {shown(message)}\n", sys.stderr)
    code = _code()
    try:
        sys.stdout.flush()
    except OSError as error:
        if code != 5:  # else it has been printed
            code = _print_error(f"cannot write the output: {error.strerror or error}", 5)
        # What is left in the buffer cannot be written at the end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _code() -> int:
    from surepath.errors import FileError, MissingExtraError, SurepathError

    try:
        answer = app(standalone_mode=False)
        if answer == INTERRUPTED:  # Typer's answer to Ctrl-C
            typer.secho(_interrupt_text[0], fg=colour("yellow"), err=True)
        return answer if isinstance(answer, int) else 0
    except MissingExtraError as error:
        return _print_error(error, 4)
    except FileError as error:
        return _print_error(error, 5)
    except SurepathError as error:
        return _print_error(error, 3)
    except MemoryError:
        return _print_error("there is not enough memory for a problem of this size", 5)
    except OSError as error:
        what = "cannot go on" if error.filename is None else error.filename
        return _print_error(f"{what}: {error.strerror or error}", 5)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # no mistake in the words of the command line, so one of ours
            raise
        return _usage(error)


def _print_error(message: object, code: int) -> int:
    typer.secho(fitted(f"error: {shown(message)}", sys.stderr), fg=colour("red"), err=True)
    return code


def _usage(error: Any) -> int:
    """Return what the command-line library has to say, with the names in it shown."""
    from typer.rich_utils import rich_format_error

    words = "\n".join(shown(line) for line in error.format_message().expandtabs().split("\n"))
    if "unexpected extra argument" in words and " study " in getattr(error.ctx, "command_path", ""):
        words += "; storages are named with --storage"
    error.format_message = lambda: words
    rich_format_error(error)
    return int(getattr(error, "exit_code", 2))


MOST_WORKERS = 1024

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def this_program() -> str:
    """Return how to call surepath from here: by its name where the shell finds it, else by its path."""
    if shutil.which("surepath") is not None:
        return "surepath"
    called = Path(sys.argv[0])
    if called.name != "surepath" or not called.is_file():
        return f"{sys.executable} -m surepath"
    path, here = called.absolute(), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def colour(name: str) -> str | None:
    """Return a colour for a message, or None where the user wants none (NO_COLOR)."""
    return None if os.environ.get("NO_COLOR") else name


def say(text: str, *, err: bool = False) -> None:
    """Print text for people."""
    typer.echo(fitted(text, sys.stderr if err else sys.stdout), err=err)


def fitted(text: str, stream: TextIO) -> str:
    """Return the text as it is, but on a terminal with lines that are too long going on below, indented."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(line if len(line) <= width else _wrapped(line, width) for line in text.split("\n"))


def _wrapped(line: str, width: int) -> str:
    further = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)


def print_json(data: Any) -> None:
    """Print one JSON object on standard output; NaN and infinity become null, which JSON can hold."""
    from surepath._checks import plain

    typer.echo(json.dumps(plain(data), indent=2, allow_nan=False).replace("\x7f", "\\u007f"))


def answer(as_json: bool, facts: dict[str, Any], text: str) -> None:
    """Print what a command found: as one JSON object, or in words."""
    if as_json:
        print_json(facts)
    else:
        say(text)


def refuse_existing(path: Path, force: bool) -> None:
    """Refuse to replace a file that is there."""
    from surepath.errors import SettingError

    if path.exists() and not force:
        raise SettingError(f"{path} is there already; choose another name, or replace it with --force")


INTERRUPTED = 130
GRACE = 1.5  # seconds that a command has to end by itself
INTERRUPT_AGAIN_AFTER = 0.02  # seconds until an interrupt that came at a bad moment is tried again


_interrupt_text = ["interrupted"]
_more = [0.0]
_before_kill: list[Callable[[], None]] = []


def set_interrupt_text(text: str) -> None:
    """Set the text to print when the command is interrupted, however it then ends."""
    _interrupt_text[0] = text


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
