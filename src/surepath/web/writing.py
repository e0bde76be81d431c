"""Routes that write: the verbs of Study. Each may be repeated after a lost answer and then changes nothing."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request

from surepath.web import bodies
from surepath.web.deps import ANSWERS, Meant, Number, Writer
from surepath.web.faults import NotFound
from surepath.web.plain import plain
from surepath.web.shelf import Opened

router = APIRouter(prefix="/api", tags=["writing"], responses=ANSWERS)


class Remembered:
    """The request keys of decisions, which the log does not know again; forgotten when the server restarts.

    Forgetting is safe: an option excluded twice is excluded, and a second tightening to the same epsilon is refused.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._keys: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self._lock, self._most = threading.Lock(), most

    def once(self, verb: str, study: str, key: str | None, do: Callable[[], None]) -> None:
        """Do it unless a request with this key has done it."""
        if key is None:
            do()
            return
        with self._lock:
            if (verb, study, key) in self._keys:
                return
            do()
            self._keys[verb, study, key] = None
            if len(self._keys) > self._most:
                self._keys.popitem(last=False)


def _known(at: Opened, number: int) -> int:
    if not 1 <= number <= len(at.study):
        raise NotFound(f"there is no trial {number}")
    return number


@router.post("/ask")
def ask(at: Meant, who: Writer, body: bodies.Ask) -> Any:
    """Hand out trials."""
    trials = at.study.ask(body.n, worker=body.worker, request=body.request)
    return {
        "trials": [
            {
                "number": trial.number,
                "plan": plain(trial.plan),
                "path": trial.path.tolist(),
                "known": at.study.mdp.is_known[trial.path].tolist(),
                "lease_until": trial.lease_until,
                "source": trial.source,
                "worker": trial.worker,
            }
            for trial in trials
        ]
    }


@router.post("/trials/{number}/tell")
def tell(at: Meant, who: Writer, number: Number, body: bodies.Tell) -> dict[str, Any]:
    """Report the scores of a trial."""
    return {"outcome": at.study.tell(_known(at, number), body.rewards)}


@router.post("/trials/{number}/fail")
def fail(at: Meant, who: Writer, number: Number, body: bodies.Fail) -> dict[str, Any]:
    """Report that a trial failed."""
    return {"outcome": at.study.fail(_known(at, number), body.rewards, body.note)}


@router.post("/trials/{number}/renew")
def renew(at: Meant, who: Writer, number: Number) -> dict[str, Any]:
    """Extend a lease from now."""
    return {"lease_until": at.study.renew(_known(at, number))}


@router.post("/trials/{number}/cancel")
def cancel(at: Meant, who: Writer, number: Number) -> dict[str, Any]:
    """Give a trial back that was not run."""
    at.study.cancel(_known(at, number))
    return {"outcome": "cancelled"}


@router.post("/enqueue")
def enqueue(at: Meant, who: Writer, body: bodies.Enqueue) -> dict[str, Any]:
    """Queue a plan to be handed out next."""
    at.study.enqueue(body.plan, request=body.request)
    return {"outcome": "queued"}


@router.post("/exclude")
def exclude(request: Request, at: Meant, who: Writer, body: bodies.Exclude) -> dict[str, Any]:
    """Mark options as infeasible: a fact of the world, not a verdict on scores."""
    request.app.state.remembered.once("exclude", at.study.name, body.request, lambda: at.study.exclude(body.option))
    return {"outcome": "excluded"}


@router.post("/tighten")
def tighten(request: Request, at: Meant, who: Writer, body: bodies.Tighten) -> dict[str, Any]:
    """Go on to a smaller epsilon with all data kept."""
    request.app.state.remembered.once("tighten", at.study.name, body.request, lambda: at.study.tighten(body.epsilon))
    return {"outcome": "tightened"}
