"""A client with the methods of Study, for workers that reach a server and not the database.

A request whose answer was lost is sent again. That is safe: a tell says the same twice; an ask, a queued plan, an
import and a decision carry keys under which the log knows them again.
"""

from __future__ import annotations

import ipaddress
import json
import math
import os
import random
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from surepath import errors
from surepath._checks import IntArray, check_epsilon, plain, read_numbers, shortened
from surepath._optional import need
from surepath._text import hidden
from surepath.errors import RewardError, SettingError, StorageError, StudyError, SurepathError
from surepath.model.files import parse_json_problem
from surepath.model.mdp import MDP
from surepath.model.paths import option_arcs
from surepath.study.creation import Options
from surepath.study.status import Status
from surepath.study.study import BaseStudy, Study
from surepath.study.trial import Result, StudyRecord, Trial, TrialRow, path_of, result_of, trial_number

if TYPE_CHECKING:
    from surepath.study.cases import CaseSummary
    from surepath.study.certificate import Certificate
    from surepath.study.forecast import Forecast

# Limits of a server, which imports them from here: a client needs nothing of it.
KEEP_ALIVE = 5  # seconds that a connection is kept open for its next request; each is an open file
LARGEST_IMPORT = 64_000_000  # bytes; past results are taken as a whole, from who may write
SLOWEST = 100_000  # bytes a second of a body that a server takes in at the least

CHECK_EVERY = 5.0  # seconds between two checks whether more trials are of use
SERVER_PATIENCE = 600.0  # seconds for which a server, or its database, that does not answer is tried again
FIRST_PATIENCE = 60.0  # before it has answered for the first time
TIMEOUT = 60.0  # seconds for one answer
LONGEST_IDLE = KEEP_ALIVE - 1.0  # seconds; a server must not close a connection just as a request goes out
LONGEST_REQUEST_PAUSE = 5.0
BUSY_STATUSES = (502, 503, 504)


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
    named = dict(parse_qsl(url.partition("#")[2]))
    found = named.get("token") if token is None else token
    if not found:
        raise SettingError('give the token of the server, or the link that it prints ("http://.../#token=...")')
    return RemoteStudy(url, found, named.get("study") if study is None else study, patience=patience)


def _of_status(read: Callable[[Status], Any], about: str) -> Any:
    """Make a property that asks the server for the status, and returns one thing of it."""
    return property(lambda study: read(study.status()), doc=about)


class RemoteStudy(BaseStudy):
    """A study on a server; see `connect`."""

    _next_check, _enough = 0.0, False  # when to ask again whether what was reported suffices, and the last answer

    def __init__(self, url: str, token: str, study: str | None = None, *, patience: float = SERVER_PATIENCE) -> None:
        self._server = Server(url, token, patience)
        self.url = self._server.url
        self._study = study
        self.name = self.record.name
        self._study = self.name

    def _call(self, verb: str, body: dict[str, Any] | None = None, **query: Any) -> Any:
        answer = self._server.send(verb, {"study": self._study, **query}, body)
        try:
            return answer.json()
        except ValueError:
            raise StorageError(f"{self.url} does not answer as a server of studies does") from None

    def _copy(self) -> Study:
        """Fetch the log, and make the same study of it in memory."""
        with TemporaryDirectory() as folder:
            file = Path(folder) / "log.jsonl"
            self.export(file)
            return Study.from_export(file, "memory")

    def sync(self) -> None:
        """Do nothing: every property asks the server, which is up to date."""

    @cached_property
    def record(self) -> StudyRecord:
        """Return what was frozen when the study was created."""
        return StudyRecord(**self._call("problem"))

    @cached_property
    def mdp(self) -> MDP:  # type: ignore[override]
        """Return the problem's graph."""
        return parse_json_problem(self.record.problem).mdp

    @cached_property
    def options(self) -> Options:
        """Return the options of the study that are not its learner's."""
        return Options(**json.loads(self.record.options))

    def status(self) -> Status:
        """Return the status of the study; see Study.status."""
        return Status.from_dict(self._call("status"), self.mdp, self.url)

    def forecast(self, more: int = 50, draws: int = 32, seed: int = 0) -> Forecast:
        """Guess by simulation how many trials are left; see Study.forecast. It is simulated here, from the log."""
        return self._copy().forecast(more, draws, seed)

    def _trials_left(self) -> float:
        """Return the median of the forecast that the server makes for its page; infinite until there is one."""
        left = self._call("forecast").get("trials_left", {}).get("median")
        return math.inf if left is None else float(left)

    def explain(self) -> str:
        """Describe in words what is known; see Study.explain."""
        return str(self._call("explain")["words"])

    def certificate(self) -> Certificate:
        """Fetch what is proven by now, with all that is needed to check it; see Study.certificate."""
        from surepath.study.certificate import Certificate

        return Certificate(self._call("certificate"))

    @property
    def trials(self) -> Any:
        """Return every trial as one row of a frame; see Study.trials."""
        return self._copy().trials

    @property
    def cases(self) -> list[CaseSummary]:
        """Return what is known of each case that was played; see Study.cases."""
        return self._copy().cases

    def export(self, path: str | Path) -> int:
        """Write the whole log to a file here; see Study.export."""
        from surepath._text import write_bytes
        from surepath.study.export import ending

        place = Path(path)
        wanted = "csv" if ending(place) == "csv" else "jsonl"
        answer = self._server.send("export", {"study": self._study, "format": wanted})
        write_bytes(place, answer.content)
        return int(answer.headers["Surepath-Trials"])

    digest = _of_status(lambda now: now.digest, "The hash over what is frozen and the settled prefix of the log.")
    done = _of_status(lambda now: now.done, "Whether the answer is proven.")
    best_path = _of_status(lambda now: np.array(now.best_path, dtype=np.int64), "The current plan, as arcs.")
    best_plan = _of_status(lambda now: now.best_plan, "The current plan, {step: option}.")
    certified_gap = _of_status(lambda now: now.certified_gap, "How far best_plan is from the best at most, proven.")
    epsilon = _of_status(lambda now: now.epsilon, "How far from the best the answer may be.")
    delta = _of_status(lambda now: now.delta, "The allowed probability of a wrong answer.")
    evidence_trials = _of_status(lambda now: now.evidence, "The number of trials whose rewards are part of the proof.")
    spent = _of_status(lambda now: now.spent, "What the trials have cost so far; None where no option has a cost.")

    def __len__(self) -> int:
        """Count the trials assigned, imported or reported late."""
        return self.status().trials

    def __repr__(self) -> str:
        return f"RemoteStudy({self.name!r}, {self.url!r})"

    def close(self) -> None:
        """Close the connections to the server; whatever is asked later opens one again."""
        self._server.close()

    def _asked(self, **wanted: Any) -> list[Trial]:
        found = self._call("ask", wanted | {"request": _key(wanted["request"])})["trials"]
        return [Trial.of_wire(one, self.mdp) for one in found]

    def tell_many(self, results: Iterable[Result]) -> list[str]:
        """Report many trials in one transaction; see Study.tell_many."""
        outcomes: list[str] = self._report(results)["outcomes"]
        return outcomes

    def tell_and_ask(
        self,
        trial: Trial | int,
        rewards: Any,
        *,
        cost: float | None = None,
        tries: int = 1,
        baseline: Any = None,
        worker: str | None = None,
        request: str | None = None,
        budget: float | None = None,
        attended: bool = False,
    ) -> tuple[str, Trial | None]:
        """Report a trial's rewards and ask for the next one, None once the answer is proven, in one request."""
        who = self.worker if worker is None else worker
        ask = {"worker": who, "request": _key(request), "budget": budget, "attended": attended}
        found = self._report([result_of(trial, rewards, cost=cost, tries=tries, baseline=baseline)], ask)
        return found["outcomes"][0], None if found["next"] is None else Trial.of_wire(found["next"], self.mdp)

    def _report(self, results: Iterable[Result], ask: dict[str, Any] | None = None) -> Any:
        rows = [one._asdict() | {"rewards": _rewards(one.rewards), "baseline": plain(one.baseline)} for one in results]
        return self._call("tell-many", {"results": rows, "ask": ask})

    def cancel(self, trial: Trial | int, note: str = "") -> None:
        """Cancel a trial that was not run, with a note that says why."""
        self._call(f"trials/{trial_number(trial)}/cancel", {"note": note})

    def renew(self, trial: Trial | int) -> float:
        """Extend a lease from now; returns when it ends."""
        return float(self._call(f"trials/{trial_number(trial)}/renew", {})["lease_until"])

    def enqueue(self, plan: Mapping[Any, Any] | Sequence[int] | IntArray, *, request: str | None = None) -> None:
        """Queue a plan of your own to be assigned next; see Study.enqueue."""
        self._call("enqueue", {"plan": path_of(self.mdp, plan).tolist(), "request": _key(request)})

    def _import(self, rows: list[TrialRow], note: str, request: str | None, again: bool) -> None:
        listed = [{"plan": row.path, "rewards": row.rewards} for row in rows]
        self._call("import", {"results": listed, "note": note, "request": _key(request), "again": again})

    def exclude(self, option: Any, *, request: str | None = None) -> None:
        """Mark options as infeasible; see Study.exclude."""
        self._call("exclude", {"option": option_arcs(self.mdp, option).tolist(), "request": _key(request)})

    def tighten(self, epsilon: float, *, request: str | None = None) -> None:
        """Continue with a smaller epsilon, all data kept."""
        self._call("tighten", {"epsilon": check_epsilon(epsilon), "request": _key(request)})

    def _holds(self) -> bool:
        """Return whether what was reported suffices once earlier trials are settled, as of a few seconds ago."""
        if time.monotonic() < self._next_check:
            return self._enough
        self._next_check = time.monotonic() + CHECK_EVERY
        self._enough = bool(self._call("enough")["enough"])
        return self._enough

    def _numbers_of(self, request: str) -> list[int]:
        return [int(trial["number"]) for trial in self._call("trials", request=request)["trials"]]


class Server:
    """Sends requests to one server with one token, over connections kept open; threads may share it."""

    def __init__(self, url: str, token: str, patience: float = SERVER_PATIENCE) -> None:
        self._httpx: Any = need("httpx", "web")
        try:
            parts = urlsplit(url)
            self._httpx.URL(f"{parts.scheme}://{parts.netloc}")
            # What stands before an @ may be a password, wherever it is.
            named = parts.hostname and parts.port != 0 and "@" not in url
            valid = named and parts.scheme in ("http", "https")
        except (ValueError, self._httpx.InvalidURL):
            valid = False
        if not valid:
            shown = hidden(url)
            raise SettingError(f'the address of a server is one such as "http://127.0.0.1:8700", not "{shown}"')
        if not (token.isascii() and token.isprintable()):
            raise SettingError("the token of a server is printable ASCII text")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._local = is_loopback(parts.hostname or "")
        self._token, self._patience, self._answered = token, patience, False
        self._kept: tuple[int, Any] | None = None  # the process that opened the connections, and httpx's client

    def _client(self) -> Any:
        """Return the client that holds the connections of this process: a fork shares none of its parent's."""
        if self._kept is None or self._kept[0] != os.getpid():
            try:
                client = self._httpx.Client(
                    headers={"Authorization": f"Bearer {self._token}"},
                    timeout=TIMEOUT,
                    limits=self._httpx.Limits(keepalive_expiry=LONGEST_IDLE),
                    trust_env=not self._local,  # no proxy stands between a machine and itself
                    follow_redirects=False,  # one would carry the token elsewhere
                )
            except (ValueError, self._httpx.InvalidURL):
                raise SettingError(
                    "a proxy that the environment names (HTTP_PROXY, ...) has no valid address"
                ) from None
            weakref.finalize(self, _close, os.getpid(), client)
            self._kept = os.getpid(), client
        return self._kept[1]

    def close(self) -> None:
        """Close the connections to the server; a later request opens one again."""
        kept, self._kept = self._kept, None
        if kept is not None:
            _close(*kept)

    def send(self, verb: str, query: dict[str, Any], body: dict[str, Any] | None = None) -> Any:
        """Send a request and return its answer; a body makes it a POST. Every request must bear being repeated."""
        wanted = {key: value for key, value in query.items() if value is not None}
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        if data is not None and len(data) > LARGEST_IMPORT:
            raise SettingError(
                f"{len(data):,} bytes are more than a server takes at once ({LARGEST_IMPORT:,}); send fewer results"
            )
        options: dict[str, Any] = {"params": wanted}
        if data is not None:
            options |= {"content": data, "headers": {"Content-Type": "application/json"}}
            options["timeout"] = TIMEOUT + len(data) / SLOWEST
        patience = self._patience if self._answered else min(self._patience, FIRST_PATIENCE)
        end, pause = time.monotonic() + patience, 0.05
        while True:
            reason: Exception
            client, method = self._client(), "GET" if data is None else "POST"
            try:
                answer = client.request(method, f"{self.url}/api/{verb}", **options)
                if answer.is_success:
                    self._answered = True
                    return answer
                reason, again = raised(answer), answer.status_code in BUSY_STATUSES
            except RuntimeError:
                if not client.is_closed:  # by another thread, just now
                    raise
                continue
            except self._httpx.RequestError as error:
                reason, again = StorageError(f"{self.url} does not answer: {error or type(error).__name__}"), True
                reason.__cause__ = error
            if not again or time.monotonic() + pause > end:
                raise reason
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, LONGEST_REQUEST_PAUSE)


def _close(process: int, client: Any) -> None:
    """Close the connections of a client, unless they are those of a parent process."""
    if process == os.getpid():
        client.close()


def raised(answer: Any) -> Exception:
    """Build the error that a server's answer describes."""
    try:
        content = answer.json()
        kind, message = str(content["error"]), str(content["message"])
    except (ValueError, KeyError, TypeError):
        return StorageError(f"the server answered {answer.status_code} {answer.reason_phrase}")
    if answer.status_code in (401, 403, 413) or kind == "input":
        return SettingError(message)
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, SurepathError):
        return found(message)
    return StudyError(message)


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _key(request: str | None) -> str:
    return uuid.uuid4().hex if request is None else request


def _rewards(rewards: Any) -> Any:
    """Turn rewards into plain numbers to be sent, whatever holds them; the server checks the rest."""
    try:
        if isinstance(rewards, Mapping):
            return {str(step): float(read_numbers(reward, booleans=True)) for step, reward in rewards.items()}
        return np.atleast_1d(read_numbers(rewards, booleans=True)).tolist()
    except (ValueError, TypeError):
        raise RewardError(f"scores must be numbers, not {shortened(rewards)}") from None
