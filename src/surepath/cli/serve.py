"""`surepath serve`: the live page and the HTTP API of the studies in a storage."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from surepath.cli._output import AsJson, print_json
from surepath.cli.main import app


@app.command()
def serve(
    storage: Annotated[str, typer.Argument(help='The studies: "sqlite:///study.db", a file, or "postgresql://...".')],
    host: Annotated[str, typer.Option(help="The address to serve on; one that others can reach needs a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8700,
    read_token: Annotated[
        str | None, typer.Option(envvar="SUREPATH_READ_TOKEN", help="Lets people read; random by default.")
    ] = None,
    write_token: Annotated[
        str | None,
        typer.Option(envvar="SUREPATH_WRITE_TOKEN", help="Lets people read, ask and tell; random by default."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the studies of a storage on a live page, and let workers ask and tell over HTTP."""
    import logging

    from surepath.web.access import Access
    from surepath.web.server import serve as run

    def started(address: str, access: Access, _: Any) -> None:
        if as_json:
            print_json({"address": address, "read_token": access.read_token, "write_token": access.write_token})
        else:
            typer.echo("\n".join(lines(address, access)))

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    run(storage, host, port, read_token, write_token, started)


def lines(address: str, access: Any, rest: str = "") -> list[str]:
    """Return the address of the page; a link carries its token after #, which no browser sends and no server logs."""
    text = []
    if access.write_token is not None:
        text.append(f"to read, ask and tell:  {address}#token={quote(access.write_token, safe='')}{rest}")
    if access.read_token is not None:
        text.append(f"to read only:           {address}#token={quote(access.read_token, safe='')}{rest}")
    return [*text, "Ctrl-C ends it; nothing is lost"]
