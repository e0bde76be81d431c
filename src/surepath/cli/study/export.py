"""`surepath study export`: the whole log as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surepath._text import many, shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Force, Name, Storage, load, refuse_existing


@study.command("export")
def export(
    path: Annotated[Path, typer.Argument(help=".jsonl: all of it, for study restore; .csv: a table of the trials.")],
    force: Force = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Write the whole log to a file."""
    refuse_existing(path, force)
    trials = load(storage, name).export(path)
    if as_json:
        print_json({"written": str(path), "trials": trials})
        return
    typer.echo(f"wrote {shown(path)}: {many(trials, 'trial')}")
