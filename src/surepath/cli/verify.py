"""`surepath verify`: whether a certificate holds, by a second implementation that trusts nothing in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.main import app

if TYPE_CHECKING:
    from surepath.verify.verify import Verdict


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
    """Check a certificate: compute its bound again, and its sums from the log. Exit code 0 for yes, else 1."""
    from surepath.verify.file import read
    from surepath.verify.verify import verify as check_alone

    if storage is not None and log is not None:
        raise typer.BadParameter("give --storage or --log, not both")
    if name is not None and storage is None:
        raise typer.BadParameter("--name needs --storage")
    if storage is None and log is None:
        verdict = check_alone(certificate)
    else:
        from surepath.study.certificate import verify as check

        verdict = check(certificate, storage, name, log)
    if as_json:
        print_json({"certificate": str(certificate), **verdict.to_dict()})
    else:
        typer.echo(f"{verdict.answer}: {_headline(verdict)}")
        if verdict.holds or verdict.answer == "in doubt":
            content = read(certificate)
            for line in (content["statement"], *(f"assuming: {line}" for line in content["assumptions"])):
                typer.echo(shown(line))
            for advice in dict.fromkeys(found["advice"] for found in content["warnings"]):
                typer.echo(f"what to do: {shown(advice)}")
        said = verdict.differences[1:] if verdict.answer == "in doubt" else verdict.differences
        for line in (*said, *verdict.notes):
            typer.echo(f"- {shown(line)}")
    if not verdict.holds:
        raise typer.Exit(1)


def _headline(verdict: Verdict) -> str:
    return {
        "in doubt": f"the arithmetic holds, but {shown(verdict.differences[0]) if verdict.differences else ''}",
        "yes": "the certificate holds",
        "no": "the certificate does not hold",
        "open": "not proven by this file alone",
    }[verdict.answer]
