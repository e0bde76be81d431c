"""`surepath new`: a starter problem with remarks, ready to be changed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.main import app


class Kind(StrEnum):
    """The starter problems that can be written."""

    steps = "steps"
    routes = "routes"
    lab = "lab"


@app.command()
def new(
    path: Annotated[Path, typer.Argument(help="The file to write; .csv gives an edge table.")] = Path("problem.json"),
    kind: Annotated[
        Kind,
        typer.Option(
            help="steps: a workflow scored step by step; routes: times to minimise; lab: a protocol by its steps."
        ),
    ] = Kind.steps,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented starter problem."""
    from importlib import resources

    from surepath.errors import ProblemError
    from surepath.model.sources.textfile import write_text

    if path.exists() and not force:
        raise ProblemError(f"{path} is there already; choose another name, or replace it with --force")
    if path.suffix.lower() not in (".json", ".csv"):
        raise ProblemError(f"a problem file ends in .json or .csv, not {path.suffix or 'nothing'!r}: {path}")
    if kind is Kind.lab and path.suffix.lower() == ".csv":
        raise ProblemError("the lab starter lists steps and options, which a CSV cannot; name a .json file")
    starter = resources.files("surepath.model").joinpath(f"examples/starter_{kind.value}{path.suffix.lower()}")
    write_text(path, starter.read_text("utf-8"))
    follow = f"surepath show {path}"
    if as_json:
        print_json({"written": str(path), "kind": kind.value, "next": follow})
        return
    typer.echo(f"wrote {shown(path)}; change it to your own steps, then check it with\n  {shown(follow)}")
