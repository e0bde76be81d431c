"""Requests to a server, sent again when the answer does not come, and its errors as those of this package."""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from surepath import errors
from surepath.errors import SettingError, StorageError, StudyError, SurepathError
from surepath.web.access import is_loopback

SERVER_PATIENCE = 60.0  # seconds for which a server that does not answer is tried again
TIMEOUT = 60.0  # seconds for one answer
LONGEST_REQUEST_PAUSE = 5.0
BUSY_STATUSES = (502, 503, 504)
T = TypeVar("T")


class Transport:
    """Sends requests to one server with one token."""

    def __init__(self, url: str, token: str, patience: float = SERVER_PATIENCE) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingError(f'the address of a server is one such as "http://127.0.0.1:8700", not {url!r}')
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._token, self._patience = token, patience
        handlers: list[Any] = [_NoRedirect]  # a redirect would carry the token elsewhere
        if is_loopback(parts.hostname):
            handlers.append(urllib.request.ProxyHandler({}))
        self.opener = urllib.request.build_opener(*handlers)

    def call(self, verb: str, query: dict[str, Any], body: dict[str, Any] | None = None) -> Any:
        """Send a request and read its answer as JSON; a body makes it a POST."""
        data = None if body is None else json.dumps(body).encode()
        return self._send(verb, query, data, lambda answer: json.loads(answer.read()))

    def download(self, verb: str, query: dict[str, Any]) -> tuple[bytes, Any]:
        """Return an answer that is a file, and its headers."""
        return self._send(verb, query, None, lambda answer: (answer.read(), answer.headers))

    def _send(self, verb: str, query: dict[str, Any], data: bytes | None, read: Callable[[Any], T]) -> T:
        wanted = {key: value for key, value in query.items() if value is not None}
        address = f"{self.url}/api/{verb}" + (f"?{urlencode(wanted)}" if wanted else "")
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        end, pause = time.monotonic() + self._patience, 0.05
        while True:
            try:
                request = urllib.request.Request(address, data, headers)
                with self.opener.open(request, timeout=TIMEOUT) as answer:
                    return read(answer)
            except urllib.error.HTTPError as error:
                if error.code not in BUSY_STATUSES or time.monotonic() + pause > end:
                    raise raised(error) from None
            except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
                if time.monotonic() + pause > end:
                    reason = getattr(error, "reason", error)
                    raise StorageError(f"{self.url} does not answer: {reason}") from error
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, LONGEST_REQUEST_PAUSE)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect."""


def raised(answer: urllib.error.HTTPError) -> Exception:
    """Make the error that the server means."""
    try:
        content = json.loads(answer.read())
        kind, message = str(content["error"]), str(content["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return StorageError(f"the server answered {answer.code} {answer.reason}")
    if answer.code in (401, 403, 413) or kind == "input":
        return SettingError(message)
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, SurepathError):
        return found(message)
    return StudyError(message)
