"""`surepath study`: real trials, kept in a database. Each command is a file of its own."""

from __future__ import annotations

import importlib

import typer

from surepath.cli.main import app

study = typer.Typer(
    help="Studies: run real trials, keep every result, prove the best plan.",
    no_args_is_help=True,
    epilog="Where: --storage, else SUREPATH_STORAGE, else sqlite:///study.db. Which: --name, unless there is only one.",
)
app.add_typer(study, name="study")

STUDY_COMMANDS = (
    "create",
    "list_studies",
    "show",
    "run",
    "ask",
    "tell",
    "fail",
    "cancel",
    "renew",
    "enqueue",
    "exclude",
    "tighten",
    "status",
    "certificate",
    "export",
    "import_log",
    "restore",
    "delete",
)
for _command in STUDY_COMMANDS:
    importlib.import_module(f"surepath.cli.study.{_command}")
