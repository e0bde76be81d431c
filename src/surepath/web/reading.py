"""Routes that read."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, JSONResponse
from starlette.background import BackgroundTask

from surepath._version import __version__
from surepath.study.storage import TransientError
from surepath.study.trial import SETTLED
from surepath.web import views
from surepath.web.challengers import explain_challengers
from surepath.web.dependencies import ANSWERS, Meant, Number, Reader
from surepath.web.faults import NotFound
from surepath.web.open_studies import Opened, OpenStudies
from surepath.web.picture import arc_values, chosen_arcs, graph
from surepath.web.plain import plain, rounded
from surepath.web.threaded import ThreadedRoute
from surepath.web.trial_pages import trial, trials_asked, trials_page

router = APIRouter(prefix="/api", tags=["reading"], responses=ANSWERS, route_class=ThreadedRoute)

MOST_NAMES = 1_000
LARGE_GRAPH = 2_000  # arcs beyond which the challengers are computed for the drawing
WAIT = 5.0  # seconds that a forecast waits for one that is being made
State = Annotated[str | None, Query(pattern="^(running|" + "|".join(sorted(SETTLED)) + ")$")]


@router.get("/session")
def session(who: Reader) -> dict[str, Any]:
    """Return what this token may do: read or write."""
    return {"role": who, "version": __version__}


@router.get("/studies")
def studies(request: Request, who: Reader) -> dict[str, Any]:
    """List the names of the studies."""
    opened: OpenStudies = request.app.state.studies
    names = opened.names()
    return {"studies": names[:MOST_NAMES], "total": len(names)}


@router.get("/status")
def status(at: Meant) -> Any:
    """Return what is proven now, and who works on it."""
    return _status(at)


def _status(at: Opened) -> Any:
    with at.synced() as fold, at.study.storage.reading(at.study.name) as log:
        return views.status(at.study, fold, log)


@router.get("/problem")
def problem(at: Meant) -> Any:
    """Return what was frozen when the study was created: the problem, the learner's settings, the options."""
    record = at.study.record
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


@router.get("/graph")
def show_graph(
    at: Meant,
    first: Annotated[int, Query(ge=0, le=10**9)] = 0,
    last: Annotated[int | None, Query(ge=0, le=10**9)] = None,
) -> Any:
    """Return the layered graph of stages first..last with what is known of each option.

    Of a large graph, the current plan, its challengers and what was visited most.
    """
    end = at.study.mdp.horizon - 1
    with at.synced() as fold:
        learner: Any = fold.view
        low, high = min(first, end), end if last is None else min(last, end)
        low = min(low, high)
        path = learner.recommend().tolist()
        large = int(at.study.mdp.n_arcs) > LARGE_GRAPH
        plans = [path, *(one["path"] for one in explain_challengers(learner, 3)["rivals"])] if large else [path]
        arcs = chosen_arcs(learner, plans, low, high)
        return {
            **graph(at.study.mdp, arcs),
            "arcs": arc_values(learner, arcs),
            "first": low,
            "last": high,
            "change": fold.change,
            "best_path": path,
            "delta": learner.delta,
        }


@router.get("/gap")
def gap(at: Meant) -> Any:
    """Return the proven gap over settled trials, thinned: [trials, gap or null, epsilon] each."""
    with at.synced():
        pass
    at.history.wait(0.5)
    points = at.history.points()
    return {
        "points": [[n, *rounded([gap, epsilon])] for n, gap, epsilon in points],
        "complete": at.history.complete,
        "missing": at.history.missing,
    }


@router.get("/trials")
def trials(
    at: Meant,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    state: State = None,
    text: Annotated[str, Query(max_length=200)] = "",
    request: Annotated[
        str | None, Query(max_length=200, description="Only the trials that a request asked for.")
    ] = None,
) -> Any:
    """List trials, newest first; `next` is the `before` of the next page, or null at the end."""
    with at.synced() as fold, at.study.storage.reading(at.study.name) as log:
        if request is not None:
            return trials_asked(at.study, log, request)
        return trials_page(at.study, fold, log, before, limit, state, text)


@router.get("/trials/{number}")
def one_trial(at: Meant, number: Number) -> Any:
    """Return one trial."""
    with at.study.storage.reading(at.study.name) as log:
        row = log.trial(number)
    if row is None:
        raise NotFound(f"there is no trial {number}")
    return plain(trial(at.study.mdp, row))


@router.get("/explain")
def explain(at: Meant, challengers: Annotated[int, Query(ge=0, le=20)] = 3) -> Any:
    """List the strongest challengers of the current plan, and where they differ from it."""
    with at.synced() as fold:
        return {**explain_challengers(fold.view, challengers), "words": at.study.explain()}


@router.get("/forecast")
def forecast(at: Meant) -> Any:
    """Return how many trials are left, as far as can be estimated."""
    return at.forecast.get()


@router.get("/forecast/worlds")
def worlds(
    request: Request,
    at: Meant,
    more: Annotated[int, Query(ge=1, le=10**6)] = 50,
    draws: Annotated[int, Query(ge=1, le=1_000)] = 32,
    seed: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Any:
    """Simulate how the study may go on, for about two seconds; one caller at a time, others get an error meanwhile."""
    busy: Lock = request.app.state.simulating
    if not busy.acquire(timeout=WAIT):
        raise TransientError("another forecast is being made")
    try:
        return plain(asdict(at.study.forecast(more, draws, seed)))
    finally:
        busy.release()


@router.get(
    "/export",
    response_class=FileResponse,
    responses={200: {"content": {"application/x-ndjson": {}, "text/csv": {}}, "description": "The log"}},
)
def export(at: Meant, format: Annotated[str, Query(pattern="^(jsonl|csv)$")] = "jsonl") -> FileResponse:
    """Return the whole log as a file: JSON lines, from which the same study can be made, or a table."""
    folder = TemporaryDirectory(prefix="surepath-export-")
    file = Path(folder.name) / f"study.{format}"
    trials = at.study.export(file)
    kind = "text/csv" if format == "csv" else "application/x-ndjson"
    headers = {"Surepath-Trials": str(trials)}
    return FileResponse(file, 200, headers, kind, BackgroundTask(folder.cleanup), filename=file.name)


@router.get("/certificate")
def certificate(at: Meant) -> JSONResponse:
    """Return the certificate, as a file to keep and to verify."""
    headers = {"Content-Disposition": 'attachment; filename="certificate.json"'}
    return JSONResponse(at.study.certificate().to_dict(), headers=headers)
