"""What every route needs: the open studies, the study that is meant, and the caller's right to read or write.

What does not wait is a coroutine: a plain function would go to a thread and back for every request.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Path, Query, Request
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from surepath.study.creation import LONGEST_NAME
from surepath.web.access import READ, WRITE, Access
from surepath.web.open_studies import Opened, OpenStudies

bearer = HTTPBearer(auto_error=False, description="The read token or the write token of the server.")


class Problem(BaseModel):
    """What went wrong: its kind, for programs, and a sentence, for people."""

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
    study: Annotated[
        str | None, Query(max_length=LONGEST_NAME, description="Name of the study; not needed where there is only one.")
    ] = None,
) -> Opened:
    """Open the study that a request names, or the only one there is."""
    assert who in (READ, WRITE)
    studies: OpenStudies = request.app.state.studies
    found = studies.kept(study)
    return found if found is not None else await run_in_threadpool(studies.get, study)


Reader = Annotated[str, Depends(role)]
Writer = Annotated[str, Depends(may_write)]
Meant = Annotated[Opened, Depends(opened)]
Number = Annotated[int, Path(ge=1, le=2**53, description="Number of the trial.", examples=[1])]
