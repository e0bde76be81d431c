"""`surepath study exclude`: exclude options that cannot be run."""

from __future__ import annotations

from typing import Annotated

import typer

from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Storage, load, pairs, shown_plan


@study.command("exclude")
def exclude(
    options: Annotated[list[str], typer.Argument(help="STEP=OPTION: that option of the step, in every state.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Exclude options that cannot be run: a fact of the world, never a verdict on their scores."""
    found = load(storage, name)
    out = pairs(options, "an option")
    found.exclude(out)
    if as_json:
        print_json({"excluded": out})
        return
    typer.echo(f"excluded {shown_plan(out)}")
