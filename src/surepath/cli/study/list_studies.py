"""`surepath study list`: the studies of a storage."""

from __future__ import annotations

from typing import Any

import typer

from surepath._text import many, shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Storage, moment


@study.command("list")
def list_studies(storage: Storage = DEFAULT_STORAGE, as_json: AsJson = False) -> None:
    """List the studies of a storage."""
    from surepath.study.storage import open_storage

    place = open_storage(storage)
    found: list[dict[str, Any]] = []
    for name in place.names():
        record = place.load(name)
        with place.reading(name) as log:
            found.append({"name": name, "trials": log.last_number(), "created": record.created})
    if as_json:
        print_json({"studies": found})
        return
    for row in found:
        typer.echo(f"{shown(row['name'])}: {many(row['trials'], 'trial')}, created {moment(row['created'])}")
    if not found:
        typer.echo("no studies here; surepath study create makes one")
