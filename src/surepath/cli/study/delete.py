"""`surepath study delete`: remove a study and its log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from surepath._text import many, shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Storage, load, note, refuse_existing


@study.command("delete")
def delete(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    keep: Annotated[Path | None, typer.Option("--export", help="Write the log to this .jsonl file first.")] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Remove a study and its log for good, after asking; --export keeps the log in a file."""
    found = load(storage, name)
    if keep is not None:
        if keep.suffix.lower() != ".jsonl":
            raise typer.BadParameter("--export takes a .jsonl file: only that holds all of the log")
        refuse_existing(keep, force=False)
    trials = len(found)
    if not yes and not _agreed(found.name, trials, keep):
        note("nothing was deleted")
        raise typer.Exit(1)
    if keep is not None:
        found.export(keep)
    found.storage.delete(found.name)
    if as_json:
        print_json({"deleted": found.name, "trials": trials, "written": None if keep is None else str(keep)})
        return
    typer.echo(f"deleted {shown(found.name)}" + ("" if keep is None else f"; its log is in {shown(keep)}"))


def _agreed(name: str, trials: int, keep: Path | None) -> bool:
    kept = "is lost (--export FILE.jsonl keeps it)" if keep is None else f"goes to {shown(keep)}"
    typer.echo(f"Its log {kept}. Delete {shown(name)} with {many(trials, 'trial')}? [y/N] ", nl=False, err=True)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        typer.echo(err=True)
    return answer.strip().lower() in ("y", "yes")
