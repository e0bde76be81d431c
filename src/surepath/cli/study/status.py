"""`surepath study status`: the status of a study, once or while it goes on."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Name, Storage, load


@study.command("status")
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Go on until the answer is proven; Ctrl-C ends it.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two readings.")] = 2.0,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Also guess by simulation what further trials would bring.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Also say which plans may still be better.")] = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Show the status of a study: trials, the best plan so far, what is proven, who works on it."""
    found = load(storage, name)
    _print_status(found, watch, every, as_json, forecast, explain)


def _print_status(found: Any, watch: bool, every: float, as_json: bool, forecast: bool, explain: bool) -> None:
    from surepath.study.status.in_words import status_in_words

    before = None
    while True:
        now = found.status()
        if (now.trials, now.states, now.epsilon) != before:
            before = (now.trials, now.states, now.epsilon)
            guess = found.forecast() if forecast else None
            if as_json:
                more = {} if guess is None else {"forecast": guess.to_dict()}
                print_json({**now.as_dict(), **more, **({"explanation": found.explain()} if explain else {})})
            else:
                lines = [status_in_words(now, brief=watch and not now.done, forecast=forecast)]
                lines += [found.explain()] if explain else []
                lines += [f"forecast: {guess}"] if guess is not None else []
                typer.echo("\n".join(lines))
        if not watch or now.done:
            return
        time.sleep(every)
