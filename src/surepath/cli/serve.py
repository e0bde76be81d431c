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
    from surepath.web.access import serve as run

    def started(address: str, access: Access, _: Any) -> None:
        if as_json:
            tokens = {"read_token": access.read_token, "write_token": access.write_token} if access.generated else {}
            print_json({"address": address, **tokens})
        else:
            typer.echo("\n".join(lines(address, access)))

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    run(storage, host, port, read_token, write_token, started)


def lines(address: str, access: Any, rest: str = "") -> list[str]:
    """Return the address of the page; a link carries its token after #, which no browser sends and no server logs.

    Tokens that were given, by an option or the environment, are not printed: what is printed ends up in logs.
    """
    text = []
    for what, kind, token in (
        ("to read, ask and tell:", "write", access.write_token),
        ("to read only:", "read", access.read_token),
    ):
        if token is not None:
            link = f"#token={quote(token, safe='')}{rest}" if access.generated else f"  with the {kind} token given"
            text.append(f"{what:24}{address}{link}")
    return [*text, "Ctrl-C ends it; nothing is lost"]
