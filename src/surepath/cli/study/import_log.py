"""`surepath study import-log`: import results from before the study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surepath._text import many, shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Storage, load

ASSUMPTION = (
    "The proof now rests on this too: the file holds every result of these trials, or a part that was not picked by "
    "how they came out, and they were scored the same way as the study's."
)


@study.command("import-log")
def import_log(
    path: Annotated[Path, typer.Argument(help="A CSV file with columns plan.STEP (or STEP) and score.STEP.")],
    again: Annotated[
        bool,
        typer.Option("--again", help="Count results that are in the log already once more, as results of their own."),
    ] = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Import past results, all of the file or nothing; valid if they were not picked by how they came out."""
    from surepath.study.sheets.past import import_past

    found = load(storage, name)
    count = import_past(found, path, again=again)
    if as_json:
        print_json({**count._asdict(), "assumption": ASSUMPTION})
        return
    if not count.imported and count.repeated:
        typer.echo(f"{shown(path.name)} was imported before; nothing changed")
        return
    rest = f"; {many(count.empty, 'row')} without any score left out" if count.empty else ""
    typer.echo(f"imported {many(count.imported, 'trial')} from {shown(path.name)}{rest}\n{ASSUMPTION}")
