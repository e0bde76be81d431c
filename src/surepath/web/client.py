"""A client with the methods of Study, for workers that reach a server and not the database. It needs no extra.

A request whose answer was lost is sent again. That is safe: a tell says the same twice; an ask, a queued plan, an
import and a decision carry keys under which the log knows them again.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from surepath._checks import check_epsilon
from surepath._numbers import read_numbers, shortened
from surepath._types import IntArray
from surepath.errors import RewardError, SettingError
from surepath.study.trial import Trial, trial_number
from surepath.web.remote_view import RemoteView
from surepath.web.transport import SERVER_PATIENCE

if TYPE_CHECKING:
    from surepath.study.telling import Result

MOST_SENT = 500_000  # bytes of past results in one request
CHECK_EVERY = 5.0  # seconds between two checks whether more trials are of use


def connect(
    url: str, token: str | None = None, study: str | None = None, *, patience: float = SERVER_PATIENCE
) -> RemoteStudy:
    """Connect to a study on a server that `surepath serve` runs.

    Args:
        url: Its address, "http://127.0.0.1:8700", or the link that it prints, with a token in it.
        token: The read token, or to ask and tell the write token; by default the one of the link.
        study: Name of the study; not needed where there is only one.
        patience: Seconds for which a server that does not answer is tried again.
    """
    named = dict(parse_qsl(urlsplit(url).fragment))
    found = named.get("token") if token is None else token
    if not found:
        raise SettingError('give the token of the server, or the link that it prints ("http://.../#token=...")')
    return RemoteStudy(url, found, named.get("study") if study is None else study, patience=patience)


class RemoteStudy(RemoteView):
    """A study on a server; see `connect`."""

    _next_check, _enough = 0.0, False  # when to ask again whether what was reported suffices, and the last answer

    def ask(
        self,
        n: int | None = None,
        *,
        worker: str | None = None,
        request: str | None = None,
        budget: float | None = None,
    ) -> Any:
        """Ask for the next trial, or with n a list of trials; see Study.ask."""
        who = self.worker if worker is None else worker
        body = {"n": 1 if n is None else n, "worker": who, "request": _key(request), "budget": budget}
        trials = [self._trial(found) for found in self._call("ask", body)["trials"]]
        return trials[0] if n is None else trials

    def _trial(self, found: dict[str, Any]) -> Trial:
        path = self.mdp.check_path(found["path"])
        return Trial(found["number"], self.mdp.plan(path), path, found["lease_until"], found["source"], found["worker"])

    def tell(self, trial: Trial | int, rewards: Any) -> str:
        """Report a trial's rewards; see Study.tell."""
        return str(self._call(f"trials/{trial_number(trial)}/tell", {"rewards": _rewards(rewards)})["outcome"])

    def fail(self, trial: Trial | int, rewards: Any = (), note: str = "") -> str:
        """Report that a trial failed; see Study.fail."""
        body = {"rewards": _rewards(rewards), "note": note[:2_000]}
        return str(self._call(f"trials/{trial_number(trial)}/fail", body)["outcome"])

    def cancel(self, trial: Trial | int, note: str = "") -> None:
        """Cancel a trial that was not run, with a note that says why."""
        self._call(f"trials/{trial_number(trial)}/cancel", {"note": note[:2_000]})

    def renew(self, trial: Trial | int) -> float:
        """Extend a lease from now; returns when it ends."""
        return float(self._call(f"trials/{trial_number(trial)}/renew", {})["lease_until"])

    def enqueue(self, plan: Mapping[Any, Any] | Sequence[int] | IntArray, *, request: str | None = None) -> None:
        """Queue a plan of your own to be assigned next; see Study.enqueue."""
        self._call("enqueue", {"plan": self._path(plan), "request": _key(request)})

    def _path(self, plan: Any) -> list[int]:
        path = self.mdp.path(plan) if isinstance(plan, Mapping) else self.mdp.check_path(plan)
        return [int(arc) for arc in path]

    def tell_many(self, results: Iterable[Result]) -> list[str]:
        """Report many trials in one transaction; see Study.tell_many."""
        listed = [{**one._asdict(), "rewards": _rewards(one.rewards), "note": one.note[:2_000]} for one in results]
        return [str(outcome) for outcome in self._call("tell-many", {"results": listed})["outcomes"]]

    def import_trials(
        self,
        results: Iterable[tuple[Any, Any]],
        note: str = "imported",
        *,
        request: str | None = None,
        again: bool = False,
    ) -> int:
        """Import past results; see Study.import_trials. All are checked here; a long list goes in several requests."""
        from surepath.study.telling import past_result

        rows = [past_result(self.mdp, plan, rewards, note) for plan, rewards in results]
        parts: list[list[dict[str, Any]]] = [[]]
        size, key = 0, _key(request)
        for row in rows:
            entry = {"plan": list(row.path), "rewards": list(row.rewards)}
            size += len(json.dumps(entry)) + 2
            if size > MOST_SENT:
                parts.append([])
                size = 0
            parts[-1].append(entry)
        for i, part in enumerate(parts):
            name = key if i == 0 else hashlib.sha256(f"{key}\n{i}".encode()).hexdigest()
            body = {"results": part, "note": note[:2_000], "request": name, "again": again or i > 0}
            self._call("import", body)  # only the first part is compared: the others belong to the same import
        return len(rows)

    def exclude(self, option: Any, *, request: str | None = None) -> None:
        """Mark options as infeasible; see Study.exclude."""
        from surepath.model.plans import option_arcs

        self._call("exclude", {"option": option_arcs(self.mdp, option).tolist(), "request": _key(request)})

    def tighten(self, epsilon: float, *, request: str | None = None) -> None:
        """Continue with a smaller epsilon, all data kept."""
        self._call("tighten", {"epsilon": check_epsilon(epsilon), "request": _key(request)})

    def optimize(
        self,
        function: Callable[[Any], Any],
        n_jobs: int = 1,
        n_trials: int | None = None,
        timeout: Any = None,
        callbacks: Sequence[Callable[..., Any]] = (),
        progress: bool | None = None,
        budget: float | None = None,
    ) -> None:
        """Run trials here until the answer is proven, the budget is spent or the time is up; see Study.optimize."""
        from surepath.study.running.optimize import optimize

        optimize(cast(Any, self), function, n_jobs, n_trials, timeout, callbacks, progress, budget)

    def _holds(self) -> bool:
        """Return whether what was reported suffices once earlier trials are settled, as of a few seconds ago."""
        if time.monotonic() < self._next_check:
            return self._enough
        self._next_check = time.monotonic() + CHECK_EVERY
        self._enough = bool(self.overview().get("enough", False))
        return self._enough

    def _numbers_of(self, request: str) -> list[int]:
        return [int(trial["number"]) for trial in self._call("trials", request=request)["trials"]]


def _key(request: str | None) -> str:
    return uuid.uuid4().hex if request is None else request


def _rewards(rewards: Any) -> Any:
    """Turn rewards into plain numbers to be sent, whatever holds them; the server checks the rest."""
    try:
        if isinstance(rewards, Mapping):
            return {str(step): float(read_numbers(reward, booleans=True)) for step, reward in rewards.items()}
        return np.atleast_1d(read_numbers(rewards, booleans=True)).tolist()
    except (ValueError, TypeError):
        raise RewardError(f"rewards must be numbers, not {shortened(rewards)}") from None
