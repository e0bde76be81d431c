"""Serve the studies of a storage: the address, who may read and who may write, what holds for every request.

Two tokens, compared in constant time; refused logins are logged with their rate. FastAPI and uvicorn are imported when
a server starts: clients read this file too.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import logging
import secrets
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from surepath._optional import need
from surepath.errors import SettingError
from surepath.study.storage import Storage

log = logging.getLogger("surepath.web")

PORT = 8700
SHUTDOWN_GRACE = 3  # seconds that requests have to end
KEEP_ALIVE = 5  # seconds that a connection is kept open for its next request; each is an open file
READ, WRITE = "read", "write"
SHORTEST = 16  # characters of a token that others may guess at
LONGEST_TOKEN = 500
WINDOW = 60.0  # seconds over which refused logins are counted
QUIET = 5.0  # seconds between two log lines about them
LARGEST_BODY = 1_000_000  # bytes
LARGEST_IMPORT = 64_000_000  # past results are taken as a whole, from who may write
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


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


@dataclass
class Access:
    """The tokens of a server; a write token may read too, and without a write token nobody may write.

    Attributes:
        generated: Whether they were made here: then they are shown once, to whoever started the server. Tokens that
            were given are known, and never printed.
    """

    read_token: str | None = field(repr=False)
    write_token: str | None = field(repr=False)
    generated: bool = False
    _refused: deque[float] = field(default_factory=lambda: deque(maxlen=10_000), repr=False)
    _logged: float = -QUIET

    def role(self, header: str | None) -> str | None:
        """Return "write", "read" or None for an Authorization header."""
        kind, _, token = (header or "").partition(" ")
        if kind.lower() != "bearer":
            return None
        given = token.strip().encode()
        found = None
        for role, wanted in ((READ, self.read_token), (WRITE, self.write_token)):
            if wanted is not None and hmac.compare_digest(given, wanted.encode()):
                found = role
        return found

    def refuse(self, client: str, now: float | None = None) -> int:
        """Count a refused login and log it, with the rate, at most every few seconds; returns how many a minute."""
        at = time.monotonic() if now is None else now
        self._refused.append(at)
        while self._refused[0] < at - WINDOW:
            self._refused.popleft()
        if at - self._logged >= QUIET:
            self._logged = at
            log.warning("refused a wrong token from %s; %d in the last minute", client, len(self._refused))
        return len(self._refused)


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_access(host: str, read_token: str | None, write_token: str | None) -> Access:
    """Choose the tokens of a server: what is given; on a loopback address random ones where nothing is.

    Raises:
        SettingError: For a public address without any token, or with one that is easily guessed.
    """
    for what, token in (("read token", read_token), ("write token", write_token)):
        if token is not None and not (
            token.isascii() and token.isprintable() and 1 <= len(token.strip()) <= LONGEST_TOKEN
        ):
            raise SettingError(f"the {what} must be 1 to {LONGEST_TOKEN} printable ASCII characters")
    if read_token is not None and read_token == write_token:
        raise SettingError("the read token and the write token must differ")
    given = [token for token in (read_token, write_token) if token is not None]
    if is_loopback(host):
        if not given:
            return Access(secrets.token_urlsafe(16), secrets.token_urlsafe(16), generated=True)
        return Access(read_token, write_token)
    if not given:
        raise SettingError(
            f"{host} can be reached from other machines: give --read-token or --write-token, or serve on 127.0.0.1"
        )
    if any(len(token) < SHORTEST for token in given):
        raise SettingError(f"{host} can be reached from other machines: a token needs {SHORTEST} characters or more")
    return Access(read_token, write_token)


class Guard:
    """Limit the body of every request and add headers to every response, as ASGI middleware."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on with its body counted and its answer marked."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        from starlette.exceptions import HTTPException

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                extra = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in present]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        headers, largest, seen = dict(scope["headers"]), LARGEST_BODY, 0
        if scope["path"] == "/api/import":
            role = scope["app"].state.access.role(headers.get(b"authorization", b"").decode("latin-1"))
            largest = LARGEST_IMPORT if role == WRITE else LARGEST_BODY
        words = f"the body of this request may have at most {largest:,} bytes"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > largest:
            body = json.dumps({"error": "too-large", "message": words}).encode()
            told = [(b"content-type", b"application/json"), (b"connection", b"close")]
            await marked({"type": "http.response.start", "status": 413, "headers": told})
            await marked({"type": "http.response.body", "body": body})
            return

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > largest:
                raise HTTPException(413, words)
            return message

        await self.app(scope, counted, marked)
