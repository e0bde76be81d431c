"""Routes that write: the verbs of Study. Each may be repeated after a lost answer and then changes nothing."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from surepath.study.telling import Result
from surepath.web import bodies
from surepath.web.dependencies import ANSWERS, Meant, Number, Writer
from surepath.web.faults import NotFound
from surepath.web.open_studies import Opened
from surepath.web.plain import plain
from surepath.web.threaded import ThreadedRoute

router = APIRouter(prefix="/api", tags=["writing"], responses=ANSWERS, route_class=ThreadedRoute)


def _known(at: Opened, number: int) -> int:
    if not 1 <= number <= len(at.study):
        raise NotFound(f"there is no trial {number}")
    return number


@router.post("/ask")
def ask(at: Meant, who: Writer, body: bodies.Ask) -> Any:
    """Assign the next trials."""
    trials = at.study.ask(body.n, worker=body.worker, request=body.request, budget=body.budget)
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
def cancel(at: Meant, who: Writer, number: Number, body: bodies.Cancel | None = None) -> dict[str, Any]:
    """Cancel a trial that was not run."""
    at.study.cancel(_known(at, number), "" if body is None else body.note)
    return {"outcome": "cancelled"}


@router.post("/enqueue")
def enqueue(at: Meant, who: Writer, body: bodies.Enqueue) -> dict[str, Any]:
    """Queue a plan to be assigned next."""
    at.study.enqueue(body.plan, request=body.request)
    return {"outcome": "queued"}


@router.post("/tell-many")
def tell_many(at: Meant, who: Writer, body: bodies.TellMany) -> dict[str, Any]:
    """Report the results of many trials in one transaction: all of them or, when one is refused, none."""
    if body.results:
        _known(at, max(one.number for one in body.results))
    results = [Result(**{**dict(one), "path": one.path and tuple(one.path)}) for one in body.results]
    return {"outcomes": at.study.tell_many(results)}


@router.post("/import")
def import_trials(at: Meant, who: Writer, body: bodies.Import) -> dict[str, Any]:
    """Import past results; valid if they were not picked by how they came out."""
    results = [(one.plan, one.rewards) for one in body.results]
    return {"results": at.study.import_trials(results, body.note, request=body.request, again=body.again)}


@router.post("/exclude")
def exclude(at: Meant, who: Writer, body: bodies.Exclude) -> dict[str, Any]:
    """Mark options as infeasible: a fact of the world, not a verdict on scores."""
    at.study.exclude(body.option, request=body.request)
    return {"outcome": "excluded"}


@router.post("/tighten")
def tighten(at: Meant, who: Writer, body: bodies.Tighten) -> dict[str, Any]:
    """Continue with a smaller epsilon, all data kept."""
    at.study.tighten(body.epsilon, request=body.request)
    return {"outcome": "tightened"}
