"""The way to a server: straight, or by the proxy that the environment names for it."""

from __future__ import annotations

import base64
import http.client
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from surepath.web.access import is_loopback

TIMEOUT = 60.0  # seconds for one answer


class Route(NamedTuple):
    """Where connections go and what requests carry on the way."""

    secure: bool
    place: str  # host and port of the server or of a proxy
    tunnel: str | None = None  # the server, where a proxy passes its bytes on unread
    prefix: str = ""  # before the path in a request, for a proxy that reads it
    proxy_headers: Mapping[str, str] = MappingProxyType({})

    def connection(self) -> http.client.HTTPConnection:
        """Make a connection, which opens with its first request."""
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        connection = kind(self.place, timeout=TIMEOUT)
        if self.tunnel is not None:
            connection.set_tunnel(self.tunnel, headers=dict(self.proxy_headers))
        return connection

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that a request carries for the proxy; in a tunnel the server would read them."""
        return dict(self.proxy_headers) if self.tunnel is None else {}


def route(parts: SplitResult) -> Route:
    """Find the way to a server; one on this machine needs no proxy."""
    secure = parts.scheme == "https"
    straight = is_loopback(parts.hostname or "") or proxy_bypass(parts.netloc)
    proxy = None if straight else getproxies().get(parts.scheme)
    if not proxy:
        return Route(secure, parts.netloc)
    found = urlsplit(proxy if "://" in proxy else f"{parts.scheme}://{proxy}")
    headers = {}
    if found.username is not None:
        pair = f"{unquote(found.username)}:{unquote(found.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    place = found.netloc.rpartition("@")[2]
    if secure:
        return Route(True, place, parts.netloc, "", headers)
    return Route(found.scheme == "https", place, None, f"http://{parts.netloc}", headers)
