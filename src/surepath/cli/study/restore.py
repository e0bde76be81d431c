"""`surepath study restore`: make the study of an exported log again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surepath._text import many, shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Storage


@study.command("restore")
def restore(
    path: Annotated[Path, typer.Argument(help="A .jsonl file from study export.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Annotated[str | None, typer.Option(help="A new name; by default its own.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make the study of an exported log in a storage: the same trials, the same state."""
    from surepath.study.study import Study

    made = Study.from_export(path, storage, name)
    if as_json:
        print_json({"name": made.name, "trials": len(made), "digest": made.digest})
        return
    typer.echo(f"restored {shown(made.name)}: {many(len(made), 'trial')}")
