"""The application: the API under /api, described at /api/openapi.json, and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles

from surepath._version import __version__
from surepath.study.storage import Storage
from surepath.web import faults, reading, writing
from surepath.web.access import Access
from surepath.web.changes import Watchers
from surepath.web.dependencies import ANSWERS, Meant
from surepath.web.guard import Guard
from surepath.web.open_studies import OpenStudies

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
    faults.install(app)
    app.include_router(reading.router)
    app.include_router(writing.router)

    @app.get("/api/changes", tags=["reading"], responses=ANSWERS, response_class=StreamingResponse)
    async def changes(request: Request, at: Meant) -> StreamingResponse:
        """Stream what changes in a study as server-sent events: `hello`, then `change` with what differs."""
        watchers: Watchers = request.app.state.watchers
        return StreamingResponse(watchers.stream(at), media_type="text/event-stream")

    @app.get("/", include_in_schema=False)
    def page() -> Any:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return app
