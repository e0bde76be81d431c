"""Requests to a server, sent again when the answer does not come, and its errors as those of this package."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

from surepath import errors
from surepath.errors import SettingError, StorageError, StudyError, SurepathError
from surepath.web.connections import Answer, Connections

SERVER_PATIENCE = 60.0  # seconds for which a server that does not answer is tried again
LONGEST_REQUEST_PAUSE = 5.0
BUSY_STATUSES = (502, 503, 504)
T = TypeVar("T")


def _has_valid_port(parts: SplitResult) -> bool:
    """Return whether the port of an address is a port, or is left out."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


class Transport:
    """Sends requests to one server with one token."""

    def __init__(self, url: str, token: str, patience: float = SERVER_PATIENCE) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or not _has_valid_port(parts):
            raise SettingError(f'the address of a server is one such as "http://127.0.0.1:8700", not {url!r}')
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._token, self._patience = token, patience
        self.connections = Connections(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as an address and a token: connections stay where they are."""
        return type(self), (self.url, self._token, self._patience)

    def call(self, verb: str, query: dict[str, Any], body: dict[str, Any] | None = None) -> Any:
        """Send a request and read its answer as JSON; a body makes it a POST."""
        data = None if body is None else json.dumps(body).encode()
        return self._send(verb, query, data, lambda answer: json.loads(answer.content))

    def download(self, verb: str, query: dict[str, Any]) -> tuple[bytes, Any]:
        """Return an answer that is a file, and its headers."""
        return self._send(verb, query, None, lambda answer: (answer.content, answer.headers))

    def close(self) -> None:
        """Close the connections to the server; a later request opens one again."""
        self.connections.close()

    def _send(self, verb: str, query: dict[str, Any], data: bytes | None, read: Callable[[Answer], T]) -> T:
        wanted = {key: value for key, value in query.items() if value is not None}
        target = f"/api/{verb}" + (f"?{urlencode(wanted)}" if wanted else "")
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        end, pause = time.monotonic() + self._patience, 0.05
        while True:
            reason: Exception
            try:
                answer = self.connections.exchange(target, data, headers)
                if 200 <= answer.status < 300:  # no redirect is followed: it would carry the token elsewhere
                    return read(answer)
                reason = raised(answer)
                again = answer.status in BUSY_STATUSES
            except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
                reason, again = StorageError(f"{self.url} does not answer: {error}"), True
                reason.__cause__ = error
            if not again or time.monotonic() + pause > end:
                raise reason
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, LONGEST_REQUEST_PAUSE)


def raised(answer: Answer) -> Exception:
    """Build the error that a server's answer describes."""
    try:
        content = json.loads(answer.content)
        kind, message = str(content["error"]), str(content["message"])
    except (ValueError, KeyError, TypeError):
        return StorageError(f"the server answered {answer.status} {answer.reason}")
    if answer.status in (401, 403, 413) or kind == "input":
        return SettingError(message)
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, SurepathError):
        return found(message)
    return StudyError(message)
