"""A client with the methods of Study, for workers that reach a server and not the database. It needs no extra.

A request whose answer was lost is sent again. That is safe: an ask carries a key under which the log knows it again, a
tell says the same twice, the other verbs carry keys that the server remembers.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode, urlsplit

import numpy as np

from surepath import errors
from surepath._types import IntArray
from surepath.errors import SettingError, StorageError, StudyError, SurepathError
from surepath.model.mdp import MDP
from surepath.model.plans import Plan
from surepath.study.creation import Options
from surepath.study.trial import Trial
from surepath.web.access import is_loopback

if TYPE_CHECKING:
    from surepath.study.certificate import Certificate
    from surepath.study.status import Status

PATIENCE = 60.0  # seconds for which a server that does not answer is tried again
TIMEOUT = 60.0  # seconds for one answer
LONGEST_PAUSE = 5.0
AGAIN = (502, 503, 504)


def connect(url: str, token: str, study: str | None = None, *, patience: float = PATIENCE) -> RemoteStudy:
    """Connect to a study on a server that `surepath serve` runs.

    Args:
        url: Its address, "http://127.0.0.1:8700".
        token: The read token, or to ask and tell the write token.
        study: Name of the study; not needed where there is only one.
        patience: Seconds for which a server that does not answer is tried again.
    """
    return RemoteStudy(url, token, study, patience=patience)


class RemoteStudy:
    """A study on a server; see `connect`."""

    def __init__(self, url: str, token: str, study: str | None = None, *, patience: float = PATIENCE) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingError(f'the address of a server looks like "http://127.0.0.1:8700", not {url!r}')
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._token, self._patience = token, patience
        handlers: list[Any] = [_NoRedirect]  # a redirect would carry the token elsewhere
        if is_loopback(parts.hostname):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)
        self.worker = f"{socket.gethostname()}:{os.getpid()}"
        self._study = study
        self.name = str(self._record["name"])
        self._study = self.name

    # Requests ----------------------------------------------------------------------------------------------------

    def _call(self, verb: str, body: dict[str, Any] | None = None, **query: Any) -> Any:
        """Send a request, again when the answer does not come; a body makes it a POST."""
        wanted = {key: value for key, value in {"study": self._study, **query}.items() if value is not None}
        address = f"{self.url}/api/{verb}" + (f"?{urlencode(wanted)}" if wanted else "")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        end, pause = time.monotonic() + self._patience, 0.05
        while True:
            try:
                request = urllib.request.Request(address, data, headers)
                with self._opener.open(request, timeout=TIMEOUT) as answer:
                    return json.loads(answer.read())
            except urllib.error.HTTPError as error:
                if error.code not in AGAIN or time.monotonic() + pause > end:
                    raise _raised(error) from None
            except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
                if time.monotonic() + pause > end:
                    reason = getattr(error, "reason", error)
                    raise StorageError(f"{self.url} does not answer: {reason}") from error
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, LONGEST_PAUSE)

    @cached_property
    def _record(self) -> dict[str, Any]:
        return dict(self._call("problem"))

    @cached_property
    def mdp(self) -> MDP:
        """The problem's graph."""
        from surepath.model.sources.files import parse_json_problem

        return parse_json_problem(self._record["problem"]).mdp

    @cached_property
    def options(self) -> Options:
        """The options of the study that are not its learner's."""
        return Options(**json.loads(self._record["options"]))

    # Trials ------------------------------------------------------------------------------------------------------

    def ask(self, n: int | None = None, *, worker: str | None = None, request: str | None = None) -> Any:
        """Hand out the next trial, or with n a list of trials; see Study.ask."""
        key = request or uuid.uuid4().hex
        body = {"n": 1 if n is None else n, "worker": worker or self.worker, "request": key}
        trials = [self._trial(found) for found in self._call("ask", body)["trials"]]
        return trials[0] if n is None else trials

    def _trial(self, found: dict[str, Any]) -> Trial:
        path = self.mdp.check_path(found["path"])
        return Trial(found["number"], self.mdp.plan(path), path, found["lease_until"], found["source"], found["worker"])

    def tell(self, trial: Trial | int, rewards: Any) -> str:
        """Report a trial's rewards; see Study.tell."""
        return str(self._call(f"trials/{_number(trial)}/tell", {"rewards": _rewards(rewards)})["outcome"])

    def fail(self, trial: Trial | int, rewards: Any = (), note: str = "") -> str:
        """Report that a trial failed; see Study.fail."""
        body = {"rewards": _rewards(rewards), "note": note[:2_000]}
        return str(self._call(f"trials/{_number(trial)}/fail", body)["outcome"])

    def cancel(self, trial: Trial | int) -> None:
        """Give a trial back that was not run."""
        self._call(f"trials/{_number(trial)}/cancel", {})

    def renew(self, trial: Trial | int) -> float:
        """Extend a lease from now; returns when it ends."""
        return float(self._call(f"trials/{_number(trial)}/renew", {})["lease_until"])

    def enqueue(self, plan: Mapping[Any, Any] | Sequence[int] | IntArray) -> None:
        """Queue a plan of your own to be handed out next."""
        path = self.mdp.path(plan) if isinstance(plan, Mapping) else self.mdp.check_path(plan)
        self._call("enqueue", {"plan": path.tolist(), "request": uuid.uuid4().hex})

    def exclude(self, option: Any) -> None:
        """Mark options as infeasible; see Study.exclude."""
        from surepath.learners.options import option_arcs

        arcs = option_arcs(self.mdp, option).tolist()
        self._call("exclude", {"option": arcs, "request": uuid.uuid4().hex})

    def tighten(self, epsilon: float) -> None:
        """Go on to a smaller epsilon with all data kept."""
        self._call("tighten", {"epsilon": float(epsilon), "request": uuid.uuid4().hex})

    def optimize(
        self,
        function: Callable[[Any], Any],
        n_jobs: int = 1,
        n_trials: int | None = None,
        timeout: Any = None,
        callbacks: Sequence[Callable[..., Any]] = (),
        progress: bool | None = None,
    ) -> None:
        """Run trials here until the answer is proven, the budget is spent or the time is up; see Study.optimize."""
        from surepath.study.optimize import optimize

        optimize(cast(Any, self), function, n_jobs, n_trials, timeout, callbacks, progress)

    def _numbers_of(self, request: str) -> list[int]:
        return [int(trial["number"]) for trial in self._call("trials", request=request)["trials"]]

    # What is known -----------------------------------------------------------------------------------------------

    def overview(self) -> dict[str, Any]:
        """Return what is proven now and who works on it, as the page shows it."""
        return dict(self._call("status"))

    def status(self) -> Status:
        """Say how the study stands; see Study.status."""
        from surepath.study.progress import rough_trials_left
        from surepath.study.status import RunningTrial, Status

        found = self.overview()
        gap = _gap(found)
        same = ("trials", "states", "settled", "epsilon", "delta", "done", "now")
        return Status(
            name=self.name,
            storage=self.url,
            best_plan=self.mdp.plan(found["best_path"]),
            certified_gap=gap,
            rough_trials_left=0 if found["done"] else rough_trials_left(found["evidence"], gap, found["epsilon"]),
            running=tuple(
                RunningTrial(one["number"], one["worker"], self.mdp.plan(one["path"]), one["asked"], one["lease"])
                for one in found["running"]
            ),
            workers=tuple(one["worker"] for one in found["workers"]),
            findings=tuple(found["findings"]),
            **{name: found[name] for name in same},
        )

    def explain(self) -> str:
        """Say in words what is known; see Study.explain."""
        return str(self._call("explain")["words"])

    def certificate(self) -> Certificate:
        """Fetch what is proven by now, with all that is needed to check it; see Study.certificate."""
        from surepath.study.certificate import Certificate

        return Certificate(self._call("certificate"))

    @property
    def done(self) -> bool:
        """Whether the answer is proven."""
        return bool(self.overview()["done"])

    @property
    def best_path(self) -> IntArray:
        """The plan this study stands by now, as arcs."""
        return np.array(self.overview()["best_path"], dtype=np.int64)

    @property
    def best_plan(self) -> Plan:
        """The plan this study stands by now, {step: option}."""
        return self.mdp.plan(self.best_path)

    @property
    def certified_gap(self) -> float:
        """Proven bound on how far best_plan is from the best; infinite while nothing is proven."""
        return _gap(self.overview())

    @property
    def epsilon(self) -> float:
        """How far from the best the answer may be."""
        return float(self.overview()["epsilon"])

    @property
    def delta(self) -> float:
        """Allowed probability of a wrong answer."""
        return float(self.overview()["delta"])

    @property
    def evidence_trials(self) -> int:
        """Number of trials whose rewards are part of the proof."""
        return int(self.overview()["evidence"])

    def __len__(self) -> int:
        """Number of trials handed out, imported or told late."""
        return int(self.overview()["trials"])

    def __bool__(self) -> bool:
        """A study is something, also before its first trial."""
        return True

    def __repr__(self) -> str:
        return f"RemoteStudy({self.name!r}, {self.url!r})"

    def close(self) -> None:
        """Do nothing: there is no connection to release."""

    def __enter__(self) -> RemoteStudy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow none."""


def _gap(overview: Mapping[str, Any]) -> float:
    gap = overview["certified_gap"]
    return float("inf") if gap is None else float(gap)


def _number(trial: Trial | int) -> int:
    return trial.number if isinstance(trial, Trial) else int(trial)


def _rewards(rewards: Any) -> Any:
    if isinstance(rewards, Mapping):
        return {str(step): float(reward) for step, reward in rewards.items()}
    return [float(reward) for reward in rewards]


def _raised(answer: urllib.error.HTTPError) -> Exception:
    """Make the error that the server means."""
    try:
        content = json.loads(answer.read())
        kind, message = str(content["error"]), str(content["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return StorageError(f"the server answered {answer.code} {answer.reason}")
    if answer.code in (401, 403):
        return SettingError(message)
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, SurepathError):
        return found(message)
    return StudyError(message)
