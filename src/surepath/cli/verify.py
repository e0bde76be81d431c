"""`surepath verify`: whether a certificate holds, by a second implementation that trusts nothing in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.main import app


@app.command()
def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate, as `surepath study certificate` writes it.")],
    storage: Annotated[
        str | None, typer.Option(help="The study's storage, to compare with its log: sqlite:///study.db, ...")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The study's name there; by default the certificate's.")] = None,
    log: Annotated[Path | None, typer.Option(help="An exported log (.csv, .jsonl) in place of the storage.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a certificate: compute its bound again, and its sums from the log. Exit code 0 for yes, 1 for no."""
    from surepath.study.certificate import read
    from surepath.study.verify import verify as check

    if storage is not None and log is not None:
        raise typer.BadParameter("give --storage or --log, not both")
    if name is not None and storage is None:
        raise typer.BadParameter("--name needs --storage")
    verdict = check(certificate, storage, name, log)
    if as_json:
        print_json({"certificate": str(certificate), **verdict.to_dict()})
    else:
        typer.echo(f"{verdict.answer}: {_headline(verdict.answer)}")
        if verdict.holds:
            content = read(certificate)
            for line in (content["statement"], *(f"assuming: {line}" for line in content["assumptions"])):
                typer.echo(shown(line))
            for found in content["warnings"]:
                typer.echo(f"warning: {shown(found['message'])}; {shown(found['advice'])}")
        for line in (*verdict.differences, *verdict.notes):
            typer.echo(f"- {shown(line)}")
    if not verdict.holds:
        raise typer.Exit(1)


def _headline(answer: str) -> str:
    return {
        "yes": "the certificate holds",
        "no": "the certificate does not hold",
        "open": "not proven by this file alone",
    }[answer]
