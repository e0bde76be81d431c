"""`surepath study tighten`: go on to a smaller epsilon."""

from __future__ import annotations

from math import isfinite
from typing import Annotated

import typer

from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Storage, load


@study.command("tighten")
def tighten(
    epsilon: Annotated[float, typer.Argument(help="The new, smaller epsilon.")],
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Continue with a smaller epsilon, all data kept."""
    from surepath.study.status.progress import gap_in_words

    found = load(storage, name)
    found.tighten(epsilon)
    if as_json:
        print_json({"epsilon": found.epsilon, "certified_gap": found.certified_gap, "done": found.done})
        return
    proven = found.done and isfinite(found.certified_gap)
    state = "proven already" if proven else gap_in_words(found.certified_gap, found.epsilon)
    typer.echo(f"epsilon is {found.epsilon:g} now; {state}")
