"""The `surepath` command. Each command lives in a module of its own, which imports what is heavy only when it runs.

Exit codes: 0 done; 1 the answer is no (a check failed); 2 bad usage; 3 bad input (problem file, setting, data);
4 a missing extra; 130 interrupted.
"""

from __future__ import annotations

import importlib
import sys
from typing import Annotated

import typer

from surepath._version import __version__

app = typer.Typer(
    name="surepath",
    help="Find the best plan when every trial is noisy and costly, and prove it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 the answer is no; 2 bad usage; 3 bad input; 4 a missing extra; 130 interrupted.",
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
    """Entry point: errors raised on purpose become one line and an exit code."""
    from surepath.errors import MissingExtraError, SurepathError

    try:
        app()
    except MissingExtraError as error:
        typer.secho(f"error: {error}", fg="red", err=True)
        sys.exit(4)
    except SurepathError as error:
        typer.secho(f"error: {error}", fg="red", err=True)
        sys.exit(3)


# Importing a command's module registers it; the order is that of the help page.
COMMANDS = (
    "demo",
    "new",
    "show",
    "schema",
    "bound",
    "estimate",
    "simulate",
    "experiment",
    "reproduce",
)
for _command in COMMANDS:
    importlib.import_module(f"surepath.cli.{_command}")
