"""Serve the studies of a storage: the address, what one connection may take, processes, and the log.

Connections that wait for a request, send one slowly or do not read their answer are closed; when there are too many,
the one that has waited longest makes room for a new one, so that nobody without a token can keep others out.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import resource
import signal
import socket
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.supervisors import Multiprocess

from surepath.errors import SettingError
from surepath.study.storage import Storage
from surepath.web.access import KEEP_ALIVE, PORT, Access, open_access
from surepath.web.app import create_app

SHUTDOWN_GRACE = 3  # seconds that requests have to end
START_PATIENCE = 60  # seconds that a further process has to start
MOST_CONNECTIONS = 1_000  # of one process
FILES_KEPT = 124  # open files that are left for the database, exports and the log
HEAD_PATIENCE = 10.0  # seconds for the head of a request, from the opening of its connection or the last answer on
READER_PATIENCE = 30.0  # seconds for which an answer may wait for a client that does not read
LARGEST_HEAD = 32_768  # bytes
MOST_LINES = 20  # of the log in a second
LEVELS = ("debug", "info", "warning", "error")


def serve(
    storage: str | Storage,
    host: str = "127.0.0.1",
    port: int = PORT,
    read_token: str | None = None,
    write_token: str | None = None,
    started: Callable[[str, Access, Any], None] | None = None,
    *,
    tokens: str | None = None,
    root_path: str = "",
    proxy: str | None = None,
    processes: int = 1,
    log_level: str = "warning",
) -> None:
    """Serve the studies of a storage until interrupted.

    Args:
        storage: "sqlite:///study.db", "postgresql://..." or a Storage.
        host: The address; one that others can reach needs a token.
        port: The port; 0 takes a free one.
        read_token: Lets people read.
        write_token: Lets people read, ask and tell.
        started: Called with the page's address, the tokens and, where one process serves, the application, just
            before requests are taken.
        tokens: A file of tokens, read again on SIGHUP; see `Access`.
        root_path: The path under which a proxy serves this, such as "/surepath".
        proxy: The address of a proxy whose X-Forwarded-For and X-Forwarded-Proto are believed.
        processes: How many processes serve; more than one need a database that they can share.
        log_level: One of LEVELS; "info" and below log every request.
    """
    if log_level not in LEVELS:
        raise SettingError(f"a log level is one of {', '.join(LEVELS)}, not {log_level!r}")
    if root_path and not root_path.startswith("/"):
        raise SettingError(f'a root path begins with a slash, as in "/surepath", not {root_path!r}')
    access = open_access(host, read_token, write_token, tokens)
    source = Source(storage, access)
    app = source()
    app.state.studies.names()  # a storage that cannot be read is refused here, in words
    place = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{place.getsockname()[1]}/"
    options: dict[str, Any] = {"root_path": root_path.rstrip("/"), "log_config": log_settings(log_level)}
    options |= {"access_log": LEVELS.index(log_level) < 2, "proxy_headers": bool(proxy), "forwarded_allow_ips": proxy}
    if started is not None:
        started(address, access, app if processes == 1 else None)
    if processes == 1:
        if access.file is not None:
            signal.signal(signal.SIGHUP, lambda *_: access.read_file())
        uvicorn.Server(configured(app, **options)).run(sockets=[place])
        return
    if not isinstance(storage, str) or app.state.studies.storage.in_memory:
        raise SettingError("several processes need a database that they can share: SQLite or PostgreSQL, by its URL")
    app.state.studies.close()
    with tempfile.TemporaryDirectory(prefix="surepath-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # where the processes add up what they count
        Multiprocess(configured(source, factory=True, workers=processes, **options), [place]).run()


@dataclass
class Source:
    """Makes the application, in every process that serves: whatever it needs can be sent there."""

    storage: str | Storage
    access: Access

    def __call__(self) -> Any:
        """Make the application; the file of tokens is read again. No process outlives the one that started it."""
        if multiprocessing.parent_process() is not None:
            threading.Thread(target=end_with_parent, daemon=True).start()
        self.access.read_file()
        return create_app(self.storage, self.access)


def end_with_parent() -> None:
    """Wait for the process that started this one to end, and end."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def configured(app: Any, **options: Any) -> uvicorn.Config:
    """Return uvicorn's settings for an application: all limits that it has, and ours."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * MOST_CONNECTIONS)), hard))
    limits: dict[str, Any] = {
        "http": Connection,
        "ws": "none",
        "timeout_graceful_shutdown": SHUTDOWN_GRACE,
        "timeout_keep_alive": KEEP_ALIVE,
        "h11_max_incomplete_event_size": LARGEST_HEAD,
        "timeout_worker_healthcheck": START_PATIENCE,
    }
    quiet = {"log_config": None, "access_log": False, "proxy_headers": False}
    return uvicorn.Config(app, **{**limits, **quiet, **options}, server_header=False, date_header=False)


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


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection that may not wait for ever: for its first request, for the rest of one, for a client that reads."""

    timeout_keep_alive_task: asyncio.TimerHandle | None
    _stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request; beyond the limit, the connection that has waited longest is closed."""
        super().connection_made(transport)
        self._count("inc")
        self._until = self.loop.time() + HEAD_PATIENCE
        self._wait()
        # Fewer where the process may open few files.
        if len(self.connections) > min(MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - FILES_KEPT):
            waiting = [one for one in self.connections if one.waits()]
            longest = min(waiting, key=lambda one: (one.cycle is not None, one._until))
            self.connections.discard(longest)
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._count("dec")
        if self._stuck is not None:
            self._stuck.cancel()

    def _count(self, how: str) -> None:
        if "metrics" in self.app_state:
            getattr(self.app_state["metrics"].connections, how)()

    def waits(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        if self.waits() and self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self.timeout_keep_alive_task = self.loop.call_at(self._until, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request; while its head is not complete, the time for it runs on."""
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._until = self.loop.time() + HEAD_PATIENCE
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Give a client that does not read some time, and then up."""
        super().pause_writing()
        self._stuck = self.loop.call_later(READER_PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on writing."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()

    def shutdown(self) -> None:
        """End the streams, which never end by themselves, and close when the answer is complete."""
        if "watchers" in self.app_state:
            self.app_state["watchers"].close()
        super().shutdown()


class Sparing(logging.Filter):
    """Lets so many lines a second through, and says how many it left out."""

    def __init__(self, most: int = MOST_LINES) -> None:
        super().__init__()
        self.most, self._second, self._lines, self._lock = most, 0.0, 0, threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written."""
        with self._lock:
            if record.created - self._second >= 1.0:
                left_out, self._second, self._lines = self._lines - self.most, record.created, 0
                if left_out > 0:
                    record.msg, record.args = f"{record.getMessage()} ({left_out:,} lines before it were left out)", ()
            self._lines += 1
            return self._lines <= self.most


def log_settings(level: str) -> dict[str, Any]:
    """Return the settings of the log: one line each on standard error."""
    line = {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
    handler = {"class": "logging.StreamHandler", "formatter": "line", "filters": ["sparing"]}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": line},
        "filters": {"sparing": {"()": Sparing}},
        "handlers": {"stderr": handler},
        "root": {"handlers": ["stderr"], "level": level.upper()},
    }
