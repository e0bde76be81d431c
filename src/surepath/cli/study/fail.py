"""`surepath study fail`: report a trial that failed."""

from __future__ import annotations

from typing import Annotated

import typer

from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import (
    DEFAULT_STORAGE,
    TAKES_SCORES,
    Name,
    Number,
    Storage,
    late_rows,
    load,
    scores,
    trial_row,
    why_late,
)


@study.command("fail", context_settings=TAKES_SCORES)
def fail(
    number: Number,
    values: Annotated[
        list[str] | None, typer.Argument(help="Scores seen before it failed, in the order of the steps.")
    ] = None,
    reason: Annotated[str, typer.Option("--note", help="Why it failed.")] = "",
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Report that a trial failed at the step after the given scores."""
    found = load(storage, name)
    answer = found.fail(number, scores(values or []), reason)
    if as_json:
        print_json({"number": number, "answer": answer})
        return
    if answer == "repeated":
        typer.echo(f"trial {number}: {trial_row(found, number).state} before, nothing changed")
        return
    kept = f", its first {len(values)} scores are kept" if values and len(values) > 1 else ""
    kept = ", its first score is kept" if values and len(values) == 1 else kept
    late = ""
    if answer == "late":
        late = f"; it {why_late(found, number)}, kept as trial {late_rows(found, [number])[0].number}"
    typer.echo(f"trial {number}: failed{kept}{late}")
