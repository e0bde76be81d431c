"""`surepath study cancel`: cancel trials that were not run."""

from __future__ import annotations

from typing import Annotated

import typer

from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Numbers, Storage, load, trial_row


@study.command("cancel")
def cancel(
    numbers: Numbers,
    reason: Annotated[str, typer.Option("--note", help="Why they were not run.")] = "",
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Cancel trials that were not run; those already reported stay as they are."""
    found = load(storage, name)
    for number in numbers:
        trial_row(found, number)  # a number that is none is refused before anything changes
    states = {}
    for number in numbers:
        found.cancel(number, reason)
        states[number] = trial_row(found, number).state
    if as_json:
        print_json({"states": states})
        return
    for number, state in states.items():
        typer.echo(f"trial {number}: {state}" + ("" if state == "cancelled" else ", and stays so"))
