"""What holds for every request: a limit on its body, and headers that let the page load nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LARGEST_BODY = 1_000_000  # bytes
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Guard:
    """Limit the body of every request and add headers to every response, as ASGI middleware."""

    def __init__(self, app: App, largest: int = LARGEST_BODY) -> None:
        self.app, self.largest = app, largest

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on with its body counted and its answer marked."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                extra = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in present]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.largest:
            await self._too_large(marked)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.largest:
                raise HTTPException(413, self._words())
            return message

        await self.app(scope, counted, marked)

    def _words(self) -> str:
        return f"the body of a request may have at most {self.largest:,} bytes"

    async def _too_large(self, send: Send) -> None:
        body = json.dumps({"error": "too-large", "message": self._words()}).encode()
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body})
