"""What every route needs: the shelf, the study that is meant, and the caller's right to read or write."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Query, Request

from surepath.study.creation import LONGEST_NAME
from surepath.web.access import READ, WRITE, Access
from surepath.web.shelf import Opened, Shelf


def role(request: Request) -> str:
    """Return the caller's role, or refuse; a refused login is counted and logged."""
    access: Access = request.app.state.access
    header = request.headers.get("authorization")
    found = access.role(header)
    if found is None:
        if header is not None:
            access.refuse(request.client.host if request.client else "unknown")
        raise HTTPException(401, "this needs a token: Authorization: Bearer ...", {"WWW-Authenticate": "Bearer"})
    return found


def may_write(who: Annotated[str, Depends(role)]) -> str:
    """Refuse callers who may only read."""
    if who != WRITE:
        raise HTTPException(403, "this token may only read; writing needs the write token")
    return who


def opened(
    request: Request,
    who: Annotated[str, Depends(role)],
    study: Annotated[
        str | None, Query(max_length=LONGEST_NAME, description="Name of the study; not needed where there is only one.")
    ] = None,
) -> Opened:
    """Open the study that is meant."""
    assert who in (READ, WRITE)
    shelf: Shelf = request.app.state.shelf
    return shelf.get(study)


Reader = Annotated[str, Depends(role)]
Writer = Annotated[str, Depends(may_write)]
Meant = Annotated[Opened, Depends(opened)]
