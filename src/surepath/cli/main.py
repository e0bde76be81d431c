"""The `surepath` command. Each command has a module of its own, which imports what is heavy only when it runs.

Exit codes: 0 done; 1 the answer is no (a check failed), or the reader of the output closed it; 2 bad usage; 3 bad input
(problem file, setting, data); 4 a missing extra; 5 the machine cannot (a file cannot be written, too little memory);
130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Annotated, Any

import typer

from surepath._text import choose_words_of_users, shown
from surepath._version import __version__
from surepath.cli._interrupt import INTERRUPTED, handle_interrupts, interrupt_text
from surepath.cli._output import colour

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
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the best plan when every trial is noisy and costly, and prove it."""
    before = choose_words_of_users(True)
    context.call_on_close(lambda: choose_words_of_users(before))


def run() -> None:
    """Run the program: errors become one line and an exit code, and Ctrl-C is always handled."""
    handle_interrupts()
    warnings.formatwarning = lambda message, *_, **__: f"warning: {shown(message)}\n"  # for users, not programmers
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
            typer.secho(interrupt_text(), fg=colour("yellow"), err=True)
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
    typer.secho(f"error: {shown(message)}", fg=colour("red"), err=True)
    return code


def _usage(error: Any) -> int:
    """Return what the command-line library has to say, with the names in it shown."""
    words = "\n".join(shown(line) for line in error.format_message().expandtabs().split("\n"))
    if "unexpected extra argument" in words and ".study." in getattr(error.ctx.command.callback, "__module__", ""):
        words += "; storages are named with --storage"
    error.format_message = lambda: words
    try:
        from typer.rich_utils import rich_format_error
    except ImportError:
        error.show()
    else:
        rich_format_error(error)
    return int(getattr(error, "exit_code", 2))


# Importing a command's module registers it; the order is that of the help page.
COMMANDS = (
    "demo",
    "new",
    "show",
    "schema",
    "bound",
    "estimate",
    "pilot",
    "simulate",
    "study",
    "plot",
    "experiment",
    "reproduce",
    "verify",
    "serve",
)
for _command in COMMANDS:
    importlib.import_module(f"surepath.cli.{_command}")
