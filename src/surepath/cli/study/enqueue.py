"""`surepath study enqueue`: have a plan of one's own tried next."""

from __future__ import annotations

from typing import Annotated

import typer

from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Storage, load, pairs, shown_plan


@study.command("enqueue")
def enqueue(
    plan: Annotated[list[str], typer.Argument(help="STEP=OPTION for every step, or one JSON object.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Queue a plan of your own to be assigned next; any plan is valid data."""
    found = load(storage, name)
    path = found.mdp.path(pairs(plan, "a plan"))
    found.enqueue(path)
    named = found.mdp.plan(path)
    if as_json:
        print_json({"plan": named})
        return
    typer.echo(f"queued {shown_plan(named)}")
