"""Serve the studies of a storage until interrupted."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Any

from surepath._optional import need
from surepath.errors import SettingError
from surepath.study.storage import Storage
from surepath.web.access import Access, open_access

PORT = 8700
SHUTDOWN_GRACE = 3  # seconds that requests have to end
KEEP_ALIVE = 5  # seconds that a connection is kept open for its next request; each is an open file


def listen(host: str, port: int) -> socket.socket:
    """Open the address to serve on; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's algorithm on: the body of an answer then waits for a receipt of its head,
    # which over a connection that is kept open comes 40 ms later.
    place = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((host, port))
    except (OSError, OverflowError) as error:
        place.close()
        why = getattr(error, "strerror", None) or error
        raise SettingError(f"cannot serve on {host}, port {port}: {why}; choose another with --port") from None
    place.listen(128)
    return place


def serve(
    storage: str | Storage,
    host: str = "127.0.0.1",
    port: int = PORT,
    read_token: str | None = None,
    write_token: str | None = None,
    started: Callable[[str, Access, Any], None] | None = None,
) -> None:
    """Serve the studies of a storage until interrupted.

    Args:
        storage: "sqlite:///study.db", "postgresql://..." or a Storage.
        host: The address; one that others can reach needs a token.
        port: The port; 0 takes a free one.
        read_token: Lets people read.
        write_token: Lets people read, ask and tell.
        started: Called with the page's address, the tokens and the application, just before requests are taken.
    """
    need("fastapi", "web")
    uvicorn: Any = need("uvicorn", "web")
    from surepath.web.app import create_app

    access = open_access(host, read_token, write_token)
    app = create_app(storage, access)
    app.state.studies.names()  # a storage that cannot be read is refused here, in words
    place = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{place.getsockname()[1]}/"

    class Server(uvicorn.Server):  # type: ignore[misc]
        def handle_exit(self, sig: int, frame: Any) -> None:
            app.state.watchers.close()  # streams never end by themselves
            super().handle_exit(sig, frame)

    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_GRACE,
        timeout_keep_alive=KEEP_ALIVE,
        server_header=False,
        date_header=False,
    )
    if started is not None:
        started(address, access, app)
    Server(config).run(sockets=[place])
