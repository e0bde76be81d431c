"""`surepath study certificate`: what is proven, as a file that anybody can check."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Force, Name, Storage, load, refuse_existing


@study.command("certificate")
def certificate(
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("certificate.json"),
    force: Force = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Write what is proven so far as a file that surepath verify checks."""
    refuse_existing(out, force)
    made = load(storage, name).certificate()
    made.save(out)
    if as_json:
        print_json({"written": str(out), "certified_gap": made.certified_gap, "statement": made["statement"]})
        return
    typer.echo(f"wrote {shown(out)}: {made}\ncheck it with surepath verify {shown(quote(str(out)))}")
