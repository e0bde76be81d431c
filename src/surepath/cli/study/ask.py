"""`surepath study ask`: take trials to run by hand, on the screen or as a CSV sheet to fill in."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import (
    DEFAULT_STORAGE,
    Force,
    Name,
    Storage,
    again,
    load,
    note,
    refuse_existing,
    shown_plan,
)

SHORT_LEASE = 3600.0


@study.command("ask")
def ask(
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many trials.")] = 1,
    sheet: Annotated[Path | None, typer.Option("--csv", help="Write them to this file, with empty scores.")] = None,
    worker: Annotated[str | None, typer.Option(help="Who runs them; by default host and process.")] = None,
    budget: Annotated[
        float | None, typer.Option(help="Take no trial that would bring what the study has spent above this.")
    ] = None,
    force: Force = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Take the next trials to run; exit code 1 when the answer is proven or the budget is spent: none are given."""
    from surepath.errors import BudgetError, StoppedError

    if sheet is not None:
        refuse_existing(sheet, force)
    found = load(storage, name)
    try:
        limit: dict[str, Any] = {} if budget is None else {"budget": budget}
        trials = found.ask(n, worker=worker, **limit)
    except BudgetError as error:
        note(str(error))
        if as_json:
            print_json({"trials": [], "done": False, "budget_spent": True, "spent": found.spent})
        raise typer.Exit(1) from None
    except StoppedError:
        options = again(found, storage)
        note(
            f"{shown(found.name)} is done: surepath study status{options} says its answer, "
            f"surepath study tighten{options} EPSILON goes on"
        )
        if as_json:
            print_json({"trials": [], "done": True})
        raise typer.Exit(1) from None
    if sheet is not None:
        _write(found, trials, sheet)
    if as_json:
        rows = [{"number": trial.number, "plan": trial.plan, "lease_until": trial.lease_until} for trial in trials]
        print_json({"trials": rows, "done": False, "written": None if sheet is None else str(sheet)})
        return
    if sheet is None:
        for trial in trials:
            typer.echo(f"trial {trial.number}: {shown_plan(trial.plan)}")
    else:
        numbers = f"trials {trials[0].number} to {trials[-1].number}" if n > 1 else f"trial {trials[0].number}"
        typer.echo(
            f"wrote {shown(sheet)}: {numbers}; fill in the scores (failed where a step failed), then\n"
            f"  surepath study tell {shown(quote(str(sheet)))}{again(found, storage)}"
        )


def _write(found: Any, trials: list[Any], sheet: Path) -> None:
    from surepath.model.sources.textfile import write_text
    from surepath.study.lease import in_words
    from surepath.study.sheets.sheet import sheet_text

    try:
        write_text(sheet, sheet_text(found.mdp, trials))
    except BaseException:
        for trial in trials:  # nobody will ever see these
            found.cancel(trial)
        raise
    lease = found.options.lease
    if lease < SHORT_LEASE:
        note(
            f"note: the lease of this study is {in_words(lease)}; scores reported later are kept, but the plans are "
            f"assigned again meanwhile. For work by hand, create a study with --lease 7d"
        )
