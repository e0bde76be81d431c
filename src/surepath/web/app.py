"""The application: the API under /api, described at /api/openapi.json, the page, and errors as answers.

An error over HTTP is a status, a kind and a sentence; nothing of the machine is in it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

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

from surepath._version import __version__
from surepath.errors import FileError, StoppedError, StorageError, StudyError, SurepathError
from surepath.study.status import Status
from surepath.study.storage import Storage, UnknownError
from surepath.study.tables import READ_ONLY, TransientError
from surepath.web.access import LARGEST_IMPORT, SLOWEST, WRITE, Access
from surepath.web.live import AWAY, MOST_OPEN, BusyError, OpenStudies, Pulse, Watchers
from surepath.web.routes import READERS, reading, role, writing

log = logging.getLogger("surepath.web")

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
