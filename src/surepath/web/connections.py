"""The connections to one server, kept open between requests: one for each request that is under way at a time.

A connection belongs to one request from its first byte to the last of its answer, and is kept only after that: whatever
ends a request early (an error, a timeout, an interrupt) closes it, so that no request reads the answer to another. A
kept connection is used again by the process that opened it, while it is young, and where the server has not closed it.
"""

from __future__ import annotations

import http.client
import os
import select
import time
import weakref
from collections import deque
from email.message import Message
from typing import Any, NamedTuple
from urllib.parse import SplitResult

from surepath.web.route import route

LONGEST_IDLE = 4.0  # seconds; less than a server waits, which must not close one just as a request goes out


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    reason: str
    headers: Message
    content: bytes


class Kept(NamedTuple):
    """An idle connection, kept open for the next request."""

    connection: http.client.HTTPConnection
    process: int
    since: float


class Connections:
    """The connections to one server, made when they are needed; threads may share this."""

    def __init__(self, parts: SplitResult) -> None:
        self._route = route(parts)
        self._kept: deque[Kept] = deque()  # the last used is the last; its methods need no lock
        self._closings = 0
        weakref.finalize(self, close_all, self._kept)  # also at exit

    def exchange(self, target: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        """Send a request and read its answer; a body makes it a POST.

        A request over a kept connection that breaks goes out again over a new one: requests must bear being repeated.
        """
        kept = self._take()
        if kept is not None:
            try:
                return self._over(kept, target, body, headers)
            except ConnectionError:  # the server closed it just now
                pass
        return self._over(self._route.connection(), target, body, headers)

    def _over(
        self, connection: http.client.HTTPConnection, target: str, body: bytes | None, headers: dict[str, str]
    ) -> Answer:
        closings = self._closings
        try:
            method = "GET" if body is None else "POST"
            connection.request(method, self._route.prefix + target, body, {**headers, **self._route.headers})
            with connection.getresponse() as answer:
                found = Answer(answer.status, answer.reason, answer.headers, answer.read())
        except BaseException:
            connection.close()
            raise
        if connection.sock is not None and closings == self._closings:  # None: the server said that it closes
            self._kept.append(Kept(connection, os.getpid(), time.monotonic()))
            self._drop_old()
        else:
            connection.close()
        return found

    def _take(self) -> http.client.HTTPConnection | None:
        """Take an idle connection that this process opened and the server has not closed; None if there is none."""
        while True:
            try:
                connection, process, since = self._kept.pop()
            except IndexError:
                return None
            young = time.monotonic() - since < LONGEST_IDLE
            if young and process == os.getpid() and not readable(connection.sock):
                return connection
            connection.close()  # of a process that forked, this closes our copy alone

    def _drop_old(self) -> None:
        """Close connections that have waited for long: fewer requests are under way at a time than once were."""
        try:
            while time.monotonic() - self._kept[0].since > LONGEST_IDLE:
                self._kept.popleft().connection.close()
        except IndexError:  # another thread was faster
            pass

    def close(self) -> None:
        """Close every connection, those in use when their answers have come; a request after this opens a new one."""
        self._closings += 1
        close_all(self._kept)


def close_all(kept: deque[Kept]) -> None:
    """Close idle connections."""
    while kept:
        try:
            kept.pop().connection.close()
        except IndexError:  # another thread was faster
            return


def readable(sock: Any) -> bool:
    """Return whether a connection on which nothing is awaited can be read: its end came, or what nobody asked for."""
    if not hasattr(select, "poll"):
        return bool(select.select([sock], [], [], 0)[0])
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
