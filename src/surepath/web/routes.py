"""The routes of the API: what each takes, who may call it, and the method of Study that it calls.

Each one that writes may be repeated after a lost answer and then changes nothing.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi import Path as InPath
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from surepath._checks import plain
from surepath._version import __version__
from surepath.study.forecast import forecast as make_forecast
from surepath.study.status import points_of
from surepath.study.study import Study, Wanted
from surepath.study.telling import Result
from surepath.study.trial import SETTLED, Trial
from surepath.web.access import READ, WRITE, Access
from surepath.web.live import MOST_STREAMS, BusyError, Opened, OpenStudies, Watchers, drawn
from surepath.web.views import (
    arc_values,
    chosen_arcs,
    explain_challengers,
    graph,
    options_of,
    pace_of,
    page_status,
    scores_of,
    trials_asked,
    trials_page,
)

MOST_ASKED_PER_REQUEST = 1_000
MOST_NAMES = 1_000
LARGE_GRAPH = 2_000  # arcs beyond which the challengers are computed for the drawing
WAIT = 2.0  # seconds that a forecast waits for one that is being made
READERS = 4  # requests that read at the same time
MOST_WAITING = 100  # that wait for their turn

bearer = HTTPBearer(auto_error=False, description="The read token or the write token of the server.")


class Problem(BaseModel):
    """An error: its kind, for programs, and a sentence, for people."""

    error: str
    message: str


# What any route may answer beside its result; part of the description at /api/openapi.json.
ANSWERS: dict[int | str, dict[str, object]] = {
    401: {"model": Problem, "description": "No token, or a wrong one"},
    403: {"model": Problem, "description": "The token may only read"},
    404: {"model": Problem, "description": "No such study or trial"},
    409: {
        "model": Problem,
        "description": "The study refuses: done, settled otherwise, or read-only",
    },
    413: {"model": Problem, "description": "The body is too large"},
    422: {"model": Problem, "description": "The input is wrong"},
    503: {"model": Problem, "description": "The storage is busy or unavailable"},
}


async def role(request: Request, _: Annotated[object, Depends(bearer)]) -> str:
    """Return the caller's role, or refuse; a refused login is counted and logged."""
    access: Access = request.app.state.access
    header = request.headers.get("authorization")
    found = access.role(header)
    if found is None:
        if header is not None:
            access.refuse(request.client.host if request.client else "unknown")
            raise HTTPException(401, "this token was not accepted", {"WWW-Authenticate": "Bearer"})
        raise HTTPException(401, "this needs a token: Authorization: Bearer ...", {"WWW-Authenticate": "Bearer"})
    return found


async def may_write(who: Annotated[str, Depends(role)]) -> str:
    """Refuse callers who may only read."""
    if who != WRITE:
        raise HTTPException(403, "this token may only read; writing needs the write token")
    return who


async def opened(
    request: Request,
    who: Annotated[str, Depends(role)],
    study: Annotated[str | None, Query(description="Name of the study; not needed where there is only one.")] = None,
) -> Opened:
    """Open the study that a request names, or the only one there is."""
    assert who in (READ, WRITE)
    studies: OpenStudies = request.app.state.studies
    found = studies.kept(study)
    return found if found is not None else await run_in_threadpool(studies.get, study)


Reader = Annotated[str, Depends(role)]
Writer = Annotated[str, Depends(may_write)]
Chosen = Annotated[Opened, Depends(opened)]
Number = Annotated[int, InPath(ge=1, le=2**53, description="Number of the trial.", examples=[1])]


class ThreadedRoute(APIRoute):
    """A route whose function takes one turn in a thread, unless it is a coroutine.

    Few requests read at the same time, so that those who write always find a thread. One that takes long is asked for:
    whether the database answers at all, and whether its reader is still there.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint if inspect.iscoroutinefunction(endpoint) else threaded(endpoint), **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            gone = request.state.gone = Event()
            state, reads = request.app.state, request.method == "GET"

            async def still_wanted() -> None:
                if reads and await request.is_disconnected():
                    gone.set()

            call = asyncio.ensure_future(in_turn(state.readers, answer(request)) if reads else answer(request))
            await state.pulse.outlasted_by(call, still_wanted)
            return call.result()

        return handle


async def in_turn(turns: anyio.CapacityLimiter, call: Coroutine[Any, Any, Response]) -> Response:
    """Answer a reader when it is its turn; where too many wait, it is sent away."""
    if not turns.available_tokens and turns.statistics().tasks_waiting >= MOST_WAITING:
        call.close()
        raise BusyError("too many people read at the same time; try again")
    async with turns:
        return await call


def threaded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a coroutine that runs a function in a thread, with the function's signature."""

    @functools.wraps(function)
    async def run(*arguments: Any, **named: Any) -> Any:
        return await run_in_threadpool(function, *arguments, **named)

    run.__signature__ = inspect.signature(function, eval_str=True)  # type: ignore[attr-defined]
    return run


reading = APIRouter(prefix="/api", tags=["reading"], responses=ANSWERS, route_class=ThreadedRoute)
writing = APIRouter(prefix="/api", tags=["writing"], responses=ANSWERS, route_class=ThreadedRoute)

Score = Annotated[float, Field(strict=True)]
Scores = list[Score] | dict[str, Score]
PlanOrArcs = dict[str, str | int] | list[int]


class Body(BaseModel):
    """A request's body: unknown fields are refused. How long names, keys and notes may be is the study's affair."""

    model_config = ConfigDict(extra="forbid")


class Report(Body):
    """What is reported of a trial beside its scores."""

    cost: float | None = Field(default=None, ge=0, description="What the trial really cost.")
    tries: int = Field(default=1, ge=1, description="How often it was begun.")
    path: list[int] | None = Field(default=None, description="What was played, to be compared with what was asked.")
    baseline: float | list[float] | None = Field(default=None, description="What each score counts less.")


class AskOne(Body):
    """Ask for one trial; the same request key again gives the same one."""

    worker: str = "web"
    request: str | None = None
    budget: float | None = Field(default=None, gt=0, description="What the study may spend in all.")
    attended: bool = Field(default=False, description="Whether the lease is renewed while the trial runs.")


class Ask(AskOne):
    """Ask for trials; the same request key again gives the same trials."""

    n: int = Field(default=1, ge=1, le=MOST_ASKED_PER_REQUEST)


class Tell(Report):
    """Report scores: one per step, in order or by step; `ask` asks for the next trial in the same request."""

    rewards: Scores = Field(examples=[[0.5, 0.8, 0.1], {"retriever": 0.8}])
    ask: AskOne | None = None


class Fail(Report):
    """Report a failure, with the scores seen before it."""

    rewards: Scores = Field(default_factory=list)
    note: str = ""


class Cancel(Body):
    """Cancel a trial that was not run, and say why."""

    note: str = ""


class ReportedResult(Report):
    """One result among many; `path` and `case` are what was played, to be compared, `where` its place for messages."""

    number: int = Field(ge=1, le=2**53)
    rewards: Scores = Field(default_factory=list)
    failed: bool = False
    note: str = ""
    where: str = ""
    path: list[int] | None = None
    case: str | None = None


class TellMany(Body):
    """Report many trials: all of them or, when one is refused, none."""

    results: list[ReportedResult] = Field(examples=[[{"number": 1, "rewards": [0.5, 0.8, 0.1]}]])


class Past(Body):
    """A result from before the study."""

    plan: PlanOrArcs
    rewards: Scores


class Import(Body):
    """Import past results; the same request key again changes nothing."""

    results: list[Past] = Field(examples=[[{"plan": [0, 2, 8], "rewards": [0.5, 0.8, 0.1]}]])
    note: str = "imported"
    request: str | None = None
    again: bool = Field(default=False, description="Count results that an earlier import held once more.")


class Enqueue(Body):
    """Queue a plan of your own: {step: option}, or arcs."""

    plan: PlanOrArcs = Field(examples=[{"retriever": "bm25", "model": "small"}, [0, 2, 8]])
    request: str | None = None


class Exclude(Body):
    """Mark options as infeasible: {step: option}, or arcs."""

    option: PlanOrArcs = Field(examples=[{"retriever": "bm25"}, [2]])
    request: str | None = None


class Tighten(Body):
    """Continue with a smaller epsilon."""

    epsilon: Score = Field(examples=[0.1])
    request: str | None = None


State = Annotated[str | None, Query(pattern="^(running|" + "|".join(sorted(SETTLED)) + ")$")]


@reading.get("/session")
def session(who: Reader) -> dict[str, Any]:
    """Return what this token may do: read or write."""
    return {"role": who, "version": __version__}


@reading.get("/studies")
def studies(request: Request, who: Reader) -> dict[str, Any]:
    """List the names of the studies."""
    opened: OpenStudies = request.app.state.studies
    names = opened.names()
    return {"studies": names[:MOST_NAMES], "total": len(names)}


@reading.get("/status")
def status(at: Chosen) -> Any:
    """Return what is proven now, and who works on it."""
    with at.synced() as still, still.storage.reading(still.name) as log:
        return page_status(still, still._fold, log)


@reading.get("/enough")
def enough(at: Chosen) -> dict[str, bool]:
    """Return whether what was reported suffices, perhaps once earlier trials are settled: then ask for no more."""
    return {"enough": at.study._holds()}


@reading.get("/problem")
def problem(at: Chosen) -> Any:
    """Return what was frozen when the study was created: the problem, the learner's settings, the options."""
    record = at.study.record
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


@reading.get("/graph")
def show_graph(
    at: Chosen,
    first: Annotated[int, Query(ge=0, le=10**9)] = 0,
    last: Annotated[int | None, Query(ge=0, le=10**9)] = None,
) -> Any:
    """Return the layered graph of stages first..last with what is known of each option.

    Of a large graph, the current plan, its challengers and what was visited most.
    """
    end = at.study.mdp.horizon - 1
    with at.synced() as still:
        learner: Any = still.learner
        low, high = min(first, end), end if last is None else min(last, end)
        low = min(low, high)
        path = learner.recommend().tolist()
        large = int(at.study.mdp.n_arcs) > LARGE_GRAPH
        plans = [path, *(one["path"] for one in explain_challengers(learner, 3))] if large else [path]
        arcs = chosen_arcs(learner, plans, low, high)
        return {
            **graph(at.study.mdp, arcs),
            "arcs": arc_values(learner, arcs),
            "first": low,
            "last": high,
            "change": still._fold.change,
            "best_path": path,
            "delta": learner.delta,
        }


@reading.get("/gap")
def gap(at: Chosen) -> Any:
    """Return the proven gap over settled trials: [trials, gap or null, epsilon, number of the plan] each."""
    with at.synced() as still:
        return {"points": list(map(drawn, points_of(still._fold)))}


@reading.get("/trials")
def trials(
    at: Chosen,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    state: State = None,
    text: Annotated[str, Query()] = "",
    request: Annotated[str | None, Query(description="Only the trials that a request asked for.")] = None,
    sort: Annotated[str, Query(pattern="^(|-?total)$", description="Sort by total: largest or, with -, least.")] = "",
) -> Any:
    """List trials, newest first; `next` is the `before` of the next page, or null at the end."""
    still = at.still()
    with still.storage.reading(still.name) as log:
        if request is not None:
            return trials_asked(still, log, request)
        return trials_page(still, still._fold, log, before, limit, state, text, sort)


@reading.get("/scores")
def scores(at: Chosen, stage: Annotated[int, Query(ge=0, le=10**9)], option: str) -> Any:
    """Return the scores that an option of a step had, whatever was chosen before it."""
    with at.study.storage.reading(at.study.name) as log:
        return scores_of(at.study.mdp, log, stage, option)


@reading.get("/explain")
def explain(at: Chosen, challengers: Annotated[int, Query(ge=0, le=20)] = 3) -> Any:
    """List the strongest challengers of the current plan, and where they differ from it."""
    with at.synced() as still:
        return still.once(
            f"explain {challengers}",
            lambda: {"rivals": explain_challengers(still.learner, challengers), "words": still.explain()},
        )


@reading.get("/cases")
def cases(at: Chosen) -> Any:
    """List the cases that were played, the hardest first, with the mean and the spread of their totals."""
    return {"cases": plain([one._asdict() for one in at.still().cases])}


@reading.get("/pace")
def pace(at: Chosen) -> Any:
    """Return how many results came in and what they cost over time: [seconds, results, spent or null] each."""
    with at.study.storage.reading(at.study.name) as log:
        return {"points": pace_of(log)}


@reading.get("/forecast")
def forecast(at: Chosen) -> Any:
    """Return how many trials are left, as far as can be estimated."""
    return at.forecast.get()


@reading.get("/forecast/worlds")
def worlds(
    request: Request,
    at: Chosen,
    more: Annotated[int, Query(ge=1, le=10**6)] = 50,
    draws: Annotated[int, Query(ge=1, le=1_000)] = 32,
    seed: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Any:
    """Simulate how the study may go on, for about two seconds; one caller at a time, others get an error meanwhile."""
    busy: Lock = request.app.state.simulating
    if not busy.acquire(timeout=WAIT):
        raise BusyError("another forecast is being made; try again")
    try:
        return plain(asdict(make_forecast(at.still(), more, draws, seed, ended=request.state.gone.is_set)))
    finally:
        busy.release()


@reading.get("/changes", response_class=StreamingResponse)
async def changes(request: Request, at: Chosen) -> StreamingResponse:
    """Stream what changes in a study as server-sent events: `hello`, then `change` with what differs."""
    watchers: Watchers = request.app.state.watchers
    if watchers.count() >= MOST_STREAMS:
        raise BusyError("too many pages follow a study; try again")

    async def counted() -> AsyncIterator[str]:
        with request.app.state.metrics.streams.track_inprogress():
            async for text in watchers.stream(at):
                yield text

    return StreamingResponse(counted(), media_type="text/event-stream")


@reading.get(
    "/export",
    response_class=FileResponse,
    responses={200: {"content": {"application/x-ndjson": {}, "text/csv": {}}, "description": "The log"}},
)
def export(at: Chosen, format: Annotated[str, Query(pattern="^(jsonl|csv)$")] = "jsonl") -> FileResponse:
    """Return the whole log as a file: JSON lines, from which the same study can be made, or a table."""
    folder = TemporaryDirectory(prefix="surepath-export-")
    file = Path(folder.name) / f"study.{format}"
    trials = at.still().export(file)
    kind = "text/csv" if format == "csv" else "application/x-ndjson"
    headers = {"Surepath-Trials": str(trials)}
    return FileResponse(file, 200, headers, kind, BackgroundTask(folder.cleanup), filename=file.name)


@reading.get("/certificate")
def certificate(at: Chosen) -> JSONResponse:
    """Return the certificate, as a file to keep and to verify."""
    headers = {"Content-Disposition": 'attachment; filename="certificate.json"'}
    return JSONResponse(at.still().certificate().to_dict(), headers=headers)


@writing.post("/ask")
async def ask(at: Chosen, who: Writer, body: Ask) -> JSONResponse:
    """Assign the next trials."""
    _, found = await carried_out(at, None, at.study._wanted(**body.model_dump()))
    return JSONResponse({"trials": [assigned(at.study, trial) for trial in found]})


async def carried_out(at: Opened, report: Result | None, wanted: Wanted | None) -> tuple[str | None, list[Trial]]:
    """Wait for this request's turn."""
    return await asyncio.wrap_future(at.carry_out(report, wanted))


def played(study: Study, number: int, path: list[int] | None) -> Trial | int:
    """Return a trial as it was played: after a backup was restored, its number may be another one's."""
    return number if path is None else Trial(number, {}, study.mdp.check_path(path), 0.0, "", "", ())


def assigned(study: Study, trial: Trial) -> dict[str, Any]:
    """Return a trial as whoever runs it needs it."""
    return {
        **plain(trial.__dict__),
        "options": options_of(study.mdp, trial.path),
        "known": study.mdp.unscored[trial.path].tolist(),
    }


@writing.post("/trials/{number}/tell")
async def tell(at: Chosen, who: Writer, number: Number, body: Tell) -> JSONResponse:
    """Report the scores of a trial, and ask for the next one where that is wanted."""
    path = None if body.path is None else tuple(at.study.mdp.check_path(body.path).tolist())
    report = Result(number, path=path, **body.model_dump(exclude={"ask", "path"}))
    wanted = None if body.ask is None else at.study._wanted(None, **body.ask.model_dump())
    outcome, found = await carried_out(at, report, wanted)
    following = {} if body.ask is None else {"next": assigned(at.study, found[0]) if found else None}
    return JSONResponse({"outcome": outcome, **following})


@writing.post("/trials/{number}/fail")
def fail(at: Chosen, who: Writer, number: Number, body: Fail) -> dict[str, Any]:
    """Report that a trial failed."""
    return {"outcome": at.study.fail(played(at.study, number, body.path), **body.model_dump(exclude={"path"}))}


@writing.post("/trials/{number}/renew")
def renew(at: Chosen, who: Writer, number: Number) -> dict[str, Any]:
    """Extend a lease from now."""
    return {"lease_until": at.study.renew(number)}


@writing.post("/trials/{number}/cancel")
def cancel(at: Chosen, who: Writer, number: Number, body: Cancel | None = None) -> dict[str, Any]:
    """Cancel a trial that was not run."""
    at.study.cancel(number, "" if body is None else body.note)
    return {"outcome": "cancelled"}


@writing.post("/enqueue")
def enqueue(at: Chosen, who: Writer, body: Enqueue) -> dict[str, Any]:
    """Queue a plan to be assigned next."""
    at.study.enqueue(body.plan, request=body.request)
    return {"outcome": "queued"}


@writing.post("/tell-many")
def tell_many(at: Chosen, who: Writer, body: TellMany) -> dict[str, Any]:
    """Report the results of many trials in one transaction: all of them or, when one is refused, none."""
    results = [Result(**{**dict(one), "path": one.path and tuple(one.path)}) for one in body.results]
    return {"outcomes": at.study.tell_many(results)}


@writing.post("/import")
def import_trials(at: Chosen, who: Writer, body: Import) -> dict[str, Any]:
    """Import past results; valid if they were not picked by how they came out."""
    results = [(one.plan, one.rewards) for one in body.results]
    return {"results": at.study.import_trials(results, body.note, request=body.request, again=body.again)}


@writing.post("/exclude")
def exclude(at: Chosen, who: Writer, body: Exclude) -> dict[str, Any]:
    """Mark options as infeasible: a fact of the world, not a verdict on scores."""
    at.study.exclude(body.option, request=body.request)
    return {"outcome": "excluded"}


@writing.post("/tighten")
def tighten(at: Chosen, who: Writer, body: Tighten) -> dict[str, Any]:
    """Continue with a smaller epsilon, all data kept."""
    at.study.tighten(body.epsilon, request=body.request)
    return {"outcome": "tightened"}
