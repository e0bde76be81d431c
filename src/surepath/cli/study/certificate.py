"""`surepath study certificate`: what is proven, as a file that anybody can check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surepath.cli._output import AsJson
from surepath.cli.study import study
from surepath.cli.study._open import DEFAULT_STORAGE, Force, Name, Storage


@study.command("certificate")
def certificate(
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("certificate.json"),
    force: Force = False,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Write what is proven so far as a file that surepath verify checks."""
    raise NotImplementedError
