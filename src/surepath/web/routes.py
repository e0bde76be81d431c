"""The routes of the API: who may call each, what it takes, and the method of Study that it calls.

Each one that writes may be repeated after a lost answer and then changes nothing.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

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
from surepath.errors import SettingError
from surepath.study.status import points_of
from surepath.study.study import Study
from surepath.study.trial import SETTLED, Result, Trial, options_of
from surepath.web.client import is_loopback
from surepath.web.live import MOST_STREAMS, BusyError, Opened, OpenStudies, Watchers, drawn
from surepath.web.views import (
    arc_values,
    chosen_arcs,
    explain_challengers,
    graph,
    pace_of,
    page_status,
    scores_of,
    trials_asked,
    trials_page,
)

log = logging.getLogger("surepath.web")

# Tokens ---------------------------------------------------------------------------------------------------------------
# Who may read and who may write: tokens, given or made here, or named in a file; compared in constant time.

READ, WRITE = "read", "write"
SHORTEST = 16  # characters of a token that others may guess at
LONGEST_TOKEN = 500


class Token(NamedTuple):
    """A token of a file: whose it is, what it allows, and when it ends, in seconds since 1970."""

    role: str
    name: str
    secret: str
    until: float | None


@dataclass
class Access:
    """The tokens of a server; a write token may read too, and without a write token nobody may write.

    A file of tokens has one a line: the role (read or write), a name, the token, and if it ends the last day, in UTC,
    as in "write alice 3f9c62d1a8e44b07 2027-03-31". What follows # is a remark.

    Attributes:
        generated: Whether they were made here: then they are shown once, to whoever started the server. Tokens that
            were given are known, and never printed.
        file: Where further ones are.
    """

    read_token: str | None = field(repr=False)
    write_token: str | None = field(repr=False)
    generated: bool = False
    file: Path | None = None
    named: tuple[Token, ...] = field(default=(), repr=False)

    def role(self, header: str | None) -> str | None:
        """Return "write", "read" or None for an Authorization header."""
        kind, _, token = (header or "").partition(" ")
        if kind.lower() != "bearer":
            return None
        given, now, found = token.strip().encode(), time.time(), None
        own = (Token(READ, "", self.read_token or "", None), Token(WRITE, "", self.write_token or "", None))
        for one in (*own, *self.named):
            if one.secret and hmac.compare_digest(given, one.secret.encode()):
                found = one.role if one.until is None or now < one.until else None
        return found

    def read_file(self) -> None:
        """Read the file of tokens again, if any; what cannot be read is logged, and the tokens stay as they were."""
        if self.file is None:
            return
        try:
            self.named = read_tokens(self.file)
            log.info("%d tokens read from %s", len(self.named), self.file)
        except SettingError as error:
            log.error("the tokens stay as they were: %s", error)


def read_tokens(file: Path) -> tuple[Token, ...]:
    """Read a file of tokens; see `Access`."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise SettingError(
            f"the tokens in {file} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    found: list[Token] = []
    for number, line in enumerate(lines, start=1):
        words, place = line.partition("#")[0].split(), f"{file}, line {number}"
        if not words:
            continue
        if len(words) not in (3, 4) or words[0] not in (READ, WRITE):
            raise SettingError(
                f'{place}: a token is a line such as "write alice TOKEN" or "read board TOKEN 2027-03-31"'
            )
        role, name, secret = words[:3]
        check_token(f"token of {name} ({place})", secret)
        if len(secret) < SHORTEST:
            raise SettingError(f"the token of {name} ({place}) needs {SHORTEST} characters or more")
        if any(secret == other.secret for other in found):
            raise SettingError(f"the token of {name} ({place}) is another one's too: each must differ")
        until = None
        if len(words) == 4:
            try:
                until = (datetime.strptime(words[3], "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)).timestamp()
            except (ValueError, OverflowError):
                day = f'{place}: the last day of a token is one such as "2027-03-31", not {words[3]!r}'
                raise SettingError(day) from None
        found.append(Token(role, name, secret, until))
    return tuple(found)


def check_token(what: str, token: str) -> None:
    """Refuse a token that cannot be sent in a header."""
    if not (token.isascii() and token.isprintable() and 1 <= len(token.strip()) <= LONGEST_TOKEN):
        raise SettingError(f"the {what} must be 1 to {LONGEST_TOKEN} printable ASCII characters")


def open_access(host: str, read_token: str | None, write_token: str | None, tokens: str | None = None) -> Access:
    """Choose the tokens of a server: what is given; on a loopback address random ones where nothing is.

    Raises:
        SettingError: For a public address without any token, or with one that is easily guessed.
    """
    given = {"read token": read_token, "write token": write_token}
    for what, token in given.items():
        if token is not None:
            check_token(what, token)
    if read_token is not None and read_token == write_token:
        raise SettingError("the read token and the write token must differ")
    few = [token for token in given.values() if token is not None]
    if not few and tokens is None:
        if is_loopback(host):
            return Access(secrets.token_urlsafe(16), secrets.token_urlsafe(16), generated=True)
        raise SettingError(
            f"{host} can be reached from other machines: give --read-token, --write-token or --tokens, or serve on "
            f"127.0.0.1"
        )
    if not is_loopback(host) and any(len(token) < SHORTEST for token in few):
        raise SettingError(f"{host} can be reached from other machines: a token needs {SHORTEST} characters or more")
    file = None if tokens is None else Path(tokens)
    return Access(read_token, write_token, file=file, named=() if file is None else read_tokens(file))


# Routes ---------------------------------------------------------------------------------------------------------------

MOST_ASKED_PER_REQUEST = 1_000
MOST_NAMES = 1_000
LARGE_GRAPH = 2_000  # arcs beyond which the challengers are computed for the drawing
READERS = 4  # requests that read at the same time
MOST_WAITING = 100  # that wait for their turn

bearer = HTTPBearer(auto_error=False, description="The read token or the write token of the server.")


class Problem(BaseModel):
    """An error: its kind, for programs, and a sentence, for people."""

    error: str
    message: str


# What any route may answer beside its result; part of the description at /api/openapi.json.
ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": said}
    for status, said in {
        401: "No token, or a wrong one",
        403: "The token may only read",
        404: "No such study or trial",
        409: "The study refuses: done, settled otherwise, or read-only",
        413: "The body is too large",
        422: "The input is wrong",
        503: "The storage is busy or unavailable",
    }.items()
}


async def role(request: Request, _: Annotated[object, Depends(bearer)]) -> str:
    """Return the caller's role, or refuse; a wrong token is logged."""
    access: Access = request.app.state.access
    header = request.headers.get("authorization")
    found = access.role(header)
    if found is None:
        told = "this needs a token: Authorization: Bearer ..."
        if header is not None:
            told = "this token was not accepted"
            log.warning("refused a wrong token from %s", request.client.host if request.client else "unknown")
        raise HTTPException(401, told, {"WWW-Authenticate": "Bearer"})
    return found


async def may_write(who: Annotated[str, Depends(role)]) -> None:
    """Refuse callers who may only read."""
    if who != WRITE:
        raise HTTPException(403, "this token may only read; writing needs the write token")


async def opened(
    request: Request,
    study: Annotated[str | None, Query(description="Name of the study; not needed where there is only one.")] = None,
) -> Opened:
    """Open the study that a request names, or the only one there is."""
    studies: OpenStudies = request.app.state.studies
    found = studies.kept(study)
    return found if found is not None else await run_in_threadpool(studies.get, study)


Chosen = Annotated[Opened, Depends(opened)]
Number = Annotated[int, InPath(ge=1, le=2**53, description="Number of the trial.", examples=[1])]


class InTurn(APIRoute):
    """A route that few requests read at the same time, so that those who write always find a thread.

    One that takes long is asked for: whether the database answers at all.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **{**options, "response_model": None})  # what is written here is not checked

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            state, reads = request.app.state, request.method == "GET"
            call = asyncio.ensure_future(in_turn(state.readers, answer(request)) if reads else answer(request))
            await state.pulse.outlasted_by(call)
            return call.result()

        return handle


async def in_turn(turns: anyio.CapacityLimiter, call: Coroutine[Any, Any, Response]) -> Response:
    """Answer a reader when it is its turn; where too many wait, it is sent away."""
    if not turns.available_tokens and turns.statistics().tasks_waiting >= MOST_WAITING:
        call.close()
        raise BusyError("too many people read at the same time; try again")
    async with turns:
        return await call


options: dict[str, Any] = {"prefix": "/api", "responses": ANSWERS, "route_class": InTurn}
reading = APIRouter(tags=["reading"], dependencies=[Depends(role)], **options)
writing = APIRouter(tags=["writing"], dependencies=[Depends(may_write)], **options)

Score = Annotated[float, Field(strict=True)]
Scores = list[Score] | dict[str, Score]
PlanOrArcs = dict[str, str | int] | list[int]


class Body(BaseModel):
    """A request's body: unknown fields are refused. How long names, keys and notes may be is the study's affair."""

    model_config = ConfigDict(extra="forbid")


class Report(Body):
    """What came of a trial."""

    rewards: Scores = Field(default_factory=list, description="One per step, in order or by step; those seen.")
    failed: bool = Field(default=False, description="Whether it failed, with the scores seen before.")
    note: str = Field(default="", description="What went wrong.")
    cost: float | None = Field(default=None, ge=0, description="What the trial really cost.")
    tries: int = Field(default=1, ge=1, description="How often it was begun.")
    path: tuple[int, ...] | None = Field(
        default=None, description="What was played, to be compared with what was asked."
    )
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
    """Report one trial; `ask` asks for the next one in the same request."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rewards": [0.5, 0.8, 0.1], "ask": {}}]})
    ask: AskOne | None = None


class Cancel(Body):
    """Cancel a trial that was not run, and say why."""

    note: str = ""


class ReportedResult(Report):
    """One result among many; `path` and `case` are what was played, to be compared, `where` its place for messages."""

    number: int = Field(ge=1, le=2**53)
    where: str = ""
    case: str | None = None


class TellMany(Body):
    """Report many trials, all of them or, when one is refused, none; `ask` asks for the next one."""

    results: list[ReportedResult] = Field(examples=[[{"number": 1, "rewards": [0.5, 0.8, 0.1]}]])
    ask: AskOne | None = None


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
def session(who: Annotated[str, Depends(role)]) -> dict[str, Any]:
    """Return what this token may do: read or write."""
    return {"role": who, "version": __version__}


@reading.get("/studies")
def studies(request: Request) -> dict[str, Any]:
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
async def ask(at: Chosen, body: Ask) -> JSONResponse:
    """Assign the next trials."""
    _, found = await asyncio.wrap_future(at.carry_out([], at.study._wanted(**body.model_dump())))
    return JSONResponse({"trials": [assigned(at.study, trial) for trial in found]})


def assigned(study: Study, trial: Trial) -> dict[str, Any]:
    """Return a trial as whoever runs it needs it."""
    return {
        **plain(trial.__dict__),
        "options": options_of(study.mdp, trial.path),
        "known": study.mdp.unscored[trial.path].tolist(),
    }


async def reported(at: Opened, results: list[tuple[int, Report]], ask: AskOne | None) -> dict[str, Any]:
    """Report some trials, and ask for the next one where that is wanted."""
    reports = [Result(number, **one.model_dump(exclude={"number", "ask"})) for number, one in results]
    wanted = None if ask is None else at.study._wanted(1, **ask.model_dump())
    outcomes, found = await asyncio.wrap_future(at.carry_out(reports, wanted))
    following = {} if ask is None else {"next": assigned(at.study, found[0]) if found else None}
    return {"outcomes": outcomes, **following}


@writing.post("/trials/{number}/tell")
async def tell(at: Chosen, number: Number, body: Tell) -> JSONResponse:
    """Report a trial."""
    found = await reported(at, [(number, body)], body.ask)
    return JSONResponse({"outcome": found.pop("outcomes")[0], **found})


@writing.post("/tell-many")
async def tell_many(at: Chosen, body: TellMany) -> JSONResponse:
    """Report many trials in one transaction: all of them or, when one is refused, none."""
    return JSONResponse(await reported(at, [(one.number, one) for one in body.results], body.ask))


@writing.post("/trials/{number}/renew")
def renew(at: Chosen, number: Number) -> dict[str, Any]:
    """Extend a lease from now."""
    return {"lease_until": at.study.renew(number)}


@writing.post("/trials/{number}/cancel")
def cancel(at: Chosen, number: Number, body: Cancel) -> dict[str, Any]:
    """Cancel a trial that was not run."""
    at.study.cancel(number, body.note)
    return {"outcome": "cancelled"}


@writing.post("/enqueue")
def enqueue(at: Chosen, body: Enqueue) -> dict[str, Any]:
    """Queue a plan to be assigned next."""
    at.study.enqueue(body.plan, request=body.request)
    return {"outcome": "queued"}


@writing.post("/import")
def import_trials(at: Chosen, body: Import) -> dict[str, Any]:
    """Import past results; valid if they were not picked by how they came out."""
    results = [(one.plan, one.rewards) for one in body.results]
    return {"results": at.study.import_trials(results, body.note, request=body.request, again=body.again)}


@writing.post("/exclude")
def exclude(at: Chosen, body: Exclude) -> dict[str, Any]:
    """Mark options as infeasible: a fact of the world, not a verdict on scores."""
    at.study.exclude(body.option, request=body.request)
    return {"outcome": "excluded"}


@writing.post("/tighten")
def tighten(at: Chosen, body: Tighten) -> dict[str, Any]:
    """Continue with a smaller epsilon, all data kept."""
    at.study.tighten(body.epsilon, request=body.request)
    return {"outcome": "tightened"}
