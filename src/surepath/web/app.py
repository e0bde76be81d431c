"""The application: the API under /api, described at /api/openapi.json, the page, and errors as answers.

An error over HTTP is a status, a kind and a sentence; nothing of the machine is in it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from surepath._version import __version__
from surepath.errors import FileError, StoppedError, StorageError, StudyError, SurepathError
from surepath.study.storage import Storage
from surepath.study.tables import READ_ONLY, TransientError
from surepath.study.telling import UnknownTrialError
from surepath.web.access import Access, Guard
from surepath.web.live import NotFound, OpenStudies, Watchers
from surepath.web.routes import reading, writing

log = logging.getLogger("surepath.web")

STATIC = Path(__file__).parent / "static"
ABOUT = "Find the best plan when every trial is noisy and costly, and prove it: the verbs of a study over HTTP."


def create_app(storage: str | Storage, access: Access) -> FastAPI:
    """Make the application that serves the studies of a storage."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        yield
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
    app.state.watchers, app.state.simulating = Watchers(), Lock()
    app.add_middleware(Guard)
    answer_errors(app)
    app.include_router(reading)
    app.include_router(writing)

    @app.get("/", include_in_schema=False)
    def page() -> Any:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app


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
    if kind == "missing":
        return f"{place} is missing"
    if kind == "extra_forbidden":
        return f"there is no field {place} here; /api/openapi.json lists the fields"
    if kind == "string_pattern_mismatch":
        valid = str(first["ctx"]["pattern"]).strip("^()$").replace("|", ", ")
        return f"{place} must be one of {valid}, not {str(first['input'])[:100]!r}"
    return f"{place}: {first['msg']}"


def answer_errors(app: FastAPI) -> None:
    """Register handlers that turn errors into answers."""

    @app.exception_handler(SurepathError)
    async def ours(_: Request, error: SurepathError) -> JSONResponse:
        if isinstance(error, TransientError):
            log.warning("storage: %s", error)
            return answer(503, "StorageError", "the storage is busy or unavailable; try again", **{"Retry-After": "1"})
        if isinstance(error, StorageError) and READ_ONLY in str(error):
            return answer(409, "StorageError", f"this storage can be read and not written: {READ_ONLY}")
        if isinstance(error, (StorageError, FileError)):
            log.error("storage: %s", error)
            return answer(503, "StorageError", "the storage cannot be read or written; the server's log says why")
        conflict = isinstance(error, (StudyError, StoppedError))
        return answer(409 if conflict else 422, type(error).__name__, str(error))

    @app.exception_handler(UnknownTrialError)
    @app.exception_handler(NotFound)
    async def missing(_: Request, error: Exception) -> JSONResponse:
        return answer(404, "StudyError", str(error))

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
