"""Serve the studies of a storage: the application, its errors as answers, connections, processes, metrics, the log.

The API is under /api, described at /api/openapi.json. An error over HTTP is a status, a kind and a sentence; nothing of
the machine is in it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import resource
import signal
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from anyio import CapacityLimiter
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.supervisors import Multiprocess

from surepath._version import __version__
from surepath.errors import FileError, SettingError, StoppedError, StorageError, StudyError, SurepathError, UnknownError
from surepath.study.status import Status
from surepath.study.storage import Storage
from surepath.study.tables import READ_ONLY, TransientError
from surepath.web.client import KEEP_ALIVE, LARGEST_IMPORT, SLOWEST
from surepath.web.live import AWAY, MOST_OPEN, BusyError, OpenStudies, Pulse, Watchers
from surepath.web.routes import READERS, WRITE, Access, open_access, reading, role, writing

log = logging.getLogger("surepath.web")

PORT = 8700
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


# Application ----------------------------------------------------------------------------------------------------------

STATIC = Path(__file__).parent / "static"
BODY_PATIENCE = 10.0  # seconds for the body of a request, and more for a long one
LARGEST_BODY = 1_000_000  # bytes
READY_WITHIN = 2.0  # seconds
LONGEST_COLLECTION = 0.01  # seconds
AGAIN = {"Retry-After": "1"}
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
ABOUT = "Find the best plan when every trial is noisy and costly, and prove it: the verbs of a study over HTTP."


def create_app(storage: str | Storage, access: Access) -> FastAPI:
    """Make the application that serves the studies of a storage."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        collections = Collections()
        gc.callbacks.append(collections)
        threading.Thread(target=app.state.studies.open_the_only, daemon=True, name="surepath-open").start()
        yield {"watchers": app.state.watchers, "metrics": app.state.metrics}  # for connections, too
        gc.callbacks.remove(collections)
        app.state.watchers.close()
        app.state.studies.close()

    app = FastAPI(
        title="surepath",
        description=ABOUT,
        version=__version__,
        docs_url=None,  # the pages that FastAPI has for this load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=life,
    )
    app.state.access, app.state.studies = access, OpenStudies(storage)
    app.state.readers = CapacityLimiter(READERS)
    app.state.pulse = Pulse(app.state.studies.storage)
    app.state.watchers = Watchers(app.state.pulse)
    app.state.metrics = Metrics(app.state.studies)
    app.add_middleware(Guard)
    answer_errors(app)
    app.include_router(reading)
    app.include_router(writing)

    @app.get("/health", include_in_schema=False)
    async def health() -> dict[str, str]:
        return {"status": "alive", "version": __version__}

    @app.get("/ready", include_in_schema=False)
    async def ready() -> dict[str, str]:
        if not await app.state.pulse.beats(READY_WITHIN):
            raise TransientError(f"the database did not answer within {READY_WITHIN:g} s")
        return {"status": "ready"}

    @app.get("/metrics", include_in_schema=False, dependencies=[Depends(role)])
    def metrics() -> PlainTextResponse:
        return PlainTextResponse(app.state.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    @app.get("/", include_in_schema=False)
    def page() -> Any:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


class Collections:
    """Watches the garbage collector: what outlives a full collection that took long is left out of later ones.

    Compiled kernels and graphs are most of it. Looked through each time, they hold up every request for 0.1 s and more.
    """

    _begun = 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        """Note the beginning and the end of a collection."""
        if phase == "start":
            self._begun = time.thread_time()
        elif info["generation"] == 2 and time.thread_time() - self._begun > LONGEST_COLLECTION:
            gc.freeze()


def answer(status: int, kind: str, message: str, **headers: str) -> JSONResponse:
    """Make the answer that says what went wrong; the kind of an error of ours is its class, for the client."""
    return JSONResponse({"error": kind, "message": message}, status, headers or None)


def invalid_in_words(request: Request, first: dict[str, Any]) -> str:
    """Say what is wrong with what a request holds: where, what is expected, and what to do where that is plain."""
    kind, where = first["type"], first["loc"]
    place = ".".join(str(part) for part in where[1:] if not str(part).startswith(("list[", "dict["))) or "the body"
    if kind == "json_invalid":
        return f"the body is not JSON: {first.get('ctx', {}).get('error', first['msg'])}"
    if where == ("body",):
        if not request.headers.get("content-type", "").startswith("application/json"):
            return "the body must be JSON, sent with the header Content-Type: application/json"
        return "the body must be a JSON object, such as {}"
    if kind == "extra_forbidden":
        return f"there is no field {place} here; /api/openapi.json lists the fields"
    return f"{place}: {first['msg']}"


def answer_errors(app: FastAPI) -> None:
    """Register handlers that turn errors into answers."""

    @app.exception_handler(SurepathError)
    async def ours(_: Request, error: SurepathError) -> JSONResponse:
        if isinstance(error, TransientError):
            log.warning("storage: %s", error)
            return answer(503, "StorageError", str(error) if isinstance(error, BusyError) else AWAY, **AGAIN)
        if isinstance(error, StorageError) and READ_ONLY in str(error):
            return answer(409, "StorageError", f"this storage can be read and not written: {READ_ONLY}")
        if isinstance(error, (StorageError, FileError)):
            log.error("storage: %s", error)
            return answer(
                503, "StorageError", "the storage cannot be read or written; the server's log says why", **AGAIN
            )
        if isinstance(error, UnknownError):
            return answer(404, "StudyError", str(error))
        conflict = isinstance(error, (StudyError, StoppedError))
        return answer(409 if conflict else 422, type(error).__name__, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(422, "input", invalid_in_words(request, error.errors()[0])[:500])

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        kind = {401: "login", 403: "write-token", 404: "unknown", 413: "too-large"}.get(error.status_code, "input")
        headers, message = dict(error.headers or {}), str(error.detail)
        if error.status_code == 404:
            message = f"there is no {request.url.path[:200]} here; /api/openapi.json lists the routes"
        elif error.status_code == 405:
            message = (
                f"{request.url.path[:200]} does not take {request.method}; it takes {headers.get('Allow', 'others')}"
            )
        return answer(error.status_code, kind, message, **headers)

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, error: Exception) -> JSONResponse:
        log.error("unforeseen error", exc_info=error)
        return answer(500, "server", "something went wrong; the server's log says what")


class Guard:
    """Limit the body of every request, in size, time and to who has a token, and mark its answer, as middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body counted and its answer marked."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope["app"].state
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["method"] == "HEAD" and path != "/api/changes":
            scope = {**scope, "method": "GET"}  # uvicorn leaves the body away
        begun, status = time.perf_counter(), 500

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in (*HEADERS.items(), *([] if known else [("connection", "close")])):
                    headers.setdefault(name, value)
            await send(message)

        given, seen, complete = Headers(scope=scope), 0, False
        role = state.access.role(given.get("authorization")) if scope["method"] == "POST" else None
        known = scope["method"] != "POST" or role is not None
        largest = LARGEST_IMPORT if path == "/api/import" and role == WRITE else LARGEST_BODY
        words = f"the body of this request may have at most {largest:,} bytes"
        length = int(given.get("content-length", 0))  # the server itself refuses one that is no number
        end = asyncio.get_running_loop().time() + BODY_PATIENCE + length / SLOWEST

        async def counted() -> Message:
            nonlocal seen, complete
            if not known:  # nobody waits for the body of a request that will be refused: it could take all connections
                return {"type": "http.request", "body": b"", "more_body": False}
            if length > largest:
                raise HTTPException(413, words, {"Connection": "close"})
            if complete:  # what comes now is the end of the connection
                return await receive()
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the body of this request came too slowly", {"Connection": "close"}) from None
            complete = not message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > largest:
                raise HTTPException(413, words)
            return message

        try:
            await self.app(scope, counted, marked)
        finally:
            state.metrics.count(scope, status, time.perf_counter() - begun)


# Connections ----------------------------------------------------------------------------------------------------------
# Connections that wait for a request, send one slowly or do not read their answer are closed; when there are too many,
# the one that has waited longest makes room for a new one, so that nobody without a token can keep others out.


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


# Metrics --------------------------------------------------------------------------------------------------------------

BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)  # seconds
STREAM = "/api/changes"  # as long as its reader stays
PER_STUDY = {
    "surepath_open_trials": "Trials that run, or whose lease has ended and that are awaited.",
    "surepath_settled_trials": "Trials that are settled, up to the first one that still runs.",
    "surepath_certified_gap": "Proven distance of the current plan from the best; +Inf while nothing is proven.",
    "surepath_epsilon": "The distance that is asked for.",
    "surepath_done": "1 once that is proven.",
    "surepath_findings": "What the scores say against what was declared of them.",
}


class Metrics:
    """The counters of one process; with several, a scrape of any of them adds up all."""

    def __init__(self, studies: OpenStudies) -> None:
        self.studies, self.registry = studies, CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self._seconds = Histogram(
            "surepath_request_seconds", "From a request to the end of its answer.", ["route"], buckets=BUCKETS, **own
        )
        self._answers = Counter("surepath_answers", "Answers by status.", ["route", "status"], **own)
        own["multiprocess_mode"] = "livesum"
        self.streams = Gauge("surepath_streams", "Pages and programs that follow a study.", **own)
        self.connections = Gauge("surepath_connections", "Open connections.", **own)
        self.registry.register(self)

    def count(self, scope: Any, status: int, seconds: float) -> None:
        """Count an answer."""
        route = getattr(scope.get("route"), "path", "other")
        self._answers.labels(route, str(status)).inc()
        if route != STREAM:
            self._seconds.labels(route).observe(seconds)

    def collect(self) -> Iterator[Any]:
        """Yield what is known of each study; nothing of them while the database is away, which /ready says."""
        families = {name: GaugeMetricFamily(name, about, labels=["study"]) for name, about in PER_STUDY.items()}
        states = GaugeMetricFamily("surepath_trials", "Trials by state.", labels=["study", "state"])
        for now in self._statuses():
            waiting = now.states["running"] + len(now.overdue)
            values = waiting, now.settled, now.certified_gap, now.epsilon, now.done, len(now.findings)
            for family, value in zip(families.values(), values):
                family.add_metric([now.name], float(value))
            for state, number in now.states.items():
                states.add_metric([now.name, state], number)
        yield from families.values()
        yield states

    def _statuses(self) -> Iterator[Status]:
        with suppress(SurepathError):
            for name in self.studies.names()[:MOST_OPEN]:
                yield self.studies.get(name).still().status()

    def text(self) -> bytes:
        """Return everything in Prometheus's format."""
        registry = self.registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            registry.register(self)
        return bytes(generate_latest(registry))


# Log ------------------------------------------------------------------------------------------------------------------


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
