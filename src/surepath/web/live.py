"""Keep open the studies that a server serves, their forecasts, and streams of changes.

Studies are opened when they are asked for. Forecasts are computed by threads of their own, so that
nobody waits. One task per watched study reads the log a few times a second, whoever wrote to it, and sends what
differs to all listeners; one that joins gets the change number it starts from and reads the rest itself.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
from starlette.concurrency import run_in_threadpool

from surepath._checks import plain
from surepath.errors import StoppedError, UnknownError
from surepath.study.fold import Point
from surepath.study.forecast import Forecast, forecast
from surepath.study.status import points_of
from surepath.study.storage import Storage, open_storage, retrying
from surepath.study.study import Study, Wanted
from surepath.study.tables import TransientError
from surepath.study.trial import Result, Trial
from surepath.web.views import arc_values, page_status, rounded

log = logging.getLogger("surepath.web")
T = TypeVar("T")

MOST_OPEN = 64
MOST_TOGETHER = 32  # requests that are carried out in one transaction
PATIENCE = 2.0  # seconds for which a database that is away is tried again
ASK_AFTER, PULSE = 1.0, 1.7  # seconds after which a call asks whether the database answers, and that this may take
PAUSE = 20.0  # seconds between two forecasts of one study
READ_EVERY = 0.4  # seconds between two readings
ALIVE = 15.0  # seconds between two keep-alive comments
MOST_STREAMS = 500  # of one process
AWAY = "The database does not answer; what was reported is safe, and this goes on when it is back."
MOST_EVENTS_BEHIND = 64  # events a slow listener may be behind before it is cut off, to join again


class BusyError(TransientError):
    """The server has too much to do; the message is for people."""


class Still(Study):
    """A study as it was at one moment: what readers compute on it holds up nobody who asks and tells."""

    def __init__(self, study: Study) -> None:
        self.__dict__ = {**study.__dict__, "_lock": threading.RLock(), "_fold": study._fold.frozen()}
        self._found: dict[str, Any] = {}

    def sync(self) -> None:
        """Do nothing: it stays as it was."""

    def once(self, what: str, compute: Callable[[], T]) -> T:
        """Return what was computed before under this name, or compute it; with the lock held."""
        if what not in self._found:
            self._found[what] = compute()
        found: T = self._found[what]
        return found


@dataclass
class Job:
    """A request that reports trials, asks for trials, or both; what came of it are the outcomes and the trials."""

    reports: list[Result]
    wanted: Wanted | None
    answer: Future[tuple[list[str], list[Trial]]] = field(default_factory=Future)
    outcomes: Any = ()
    rows: Any = ()


class Opened:
    """A study, the thread that answers those who tell and ask in their order, and its forecast.

    What waits when the thread is free is carried out together: one transaction for all reports and one for all requests
    for trials, each with one write to the disk. An answer goes out when what it says is committed.
    """

    def __init__(self, study: Study, forget: Callable[[], object]) -> None:
        self.study, self._forget = study, forget
        self.forecast = BackgroundForecast(self)
        self._still: tuple[Any, Still] | None = None
        self._waiting: deque[Job] = deque()
        self._thread = ThreadPoolExecutor(1, "surepath-study")

    def carry_out(self, reports: list[Result], wanted: Wanted | None) -> Future[tuple[list[str], list[Trial]]]:
        """Report trials, ask for some, or both when it is this request's turn; no trials once the study is done."""
        job = Job(reports, wanted)
        self._waiting.append(job)
        self._thread.submit(self._carry_out)
        return job.answer

    def _carry_out(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
        jobs = [job for job in batch if job.answer.set_running_or_notify_cancel()]
        with self.study._lock:
            telling = [job for job in jobs if job.reports]
            for job, outcomes in zip(telling, each(self._tell, [job.reports for job in telling])):
                job.outcomes = outcomes
            asking = [job for job in jobs if job.wanted is not None and not isinstance(job.outcomes, Exception)]
            for job, rows in zip(asking, each(self.study._ask_each, [job.wanted for job in asking])):
                job.rows = () if job.reports and isinstance(rows, StoppedError) else rows
        for job in jobs:
            failed = next((one for one in (job.outcomes, job.rows) if isinstance(one, Exception)), None)
            if failed is not None:
                job.answer.set_exception(failed)
            else:
                job.answer.set_result((job.outcomes, [self.study._trial(row) for row in job.rows]))

    def _tell(self, reports: list[list[Result]]) -> list[list[str]]:
        outcomes = iter(self.study.tell_many(chain.from_iterable(reports)))
        return [list(islice(outcomes, len(some))) for some in reports]

    def still(self) -> Still:
        """Return the study as it is now, to compute on: who tells and asks waits for a copy alone."""
        return self._thread.submit(self._as_it_is).result()

    def _as_it_is(self) -> Still:
        with self.study._lock:
            try:
                self.study.sync()
            except UnknownError:  # deleted, or deleted and created anew
                self._forget()
                raise
            fold = self.study._fold
            fold.enough()  # what it finds is kept, for the next still one too
            key = fold.change, fold.stamp
            if self._still is None or self._still[0] != key:
                self._still = key, Still(self.study)
            return self._still[1]

    @contextmanager
    def synced(self) -> Iterator[Still]:
        """Yield the study as it is now, to one reader at a time."""
        still = self.still()
        with still._lock:
            yield still


def each(do: Callable[[list[Any]], list[Any]], items: list[Any]) -> list[Any]:
    """Do something for all at once; where that is refused, for one after the other, each with its own error."""
    try:
        return do(items) if items else []
    except TransientError as error:
        return [error] * len(items)
    except Exception as error:
        return [error] if len(items) == 1 else [each(do, [item])[0] for item in items]


class Pulse:
    """Whether the storage answers: one thread asks, for all who want to know."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._call: asyncio.Future[None] | None = None
        self._thread = ThreadPoolExecutor(1, "surepath-pulse")

    async def beats(self, patience: float) -> bool:
        """Return whether the storage answers within so many seconds."""
        call = self._call
        if call is None or call.done():
            call = self._call = asyncio.get_running_loop().run_in_executor(self._thread, self.storage.ping)
        done, _ = await asyncio.wait({call}, timeout=patience)
        return bool(done) and call.exception() is None

    async def outlasted_by(self, call: asyncio.Future[Any]) -> None:
        """Wait for a call that needs the storage, as long as the storage answers."""
        while not (await asyncio.wait({call}, timeout=ASK_AFTER))[0]:
            if not await self.beats(PULSE):
                call.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may wait for it
                raise TransientError("the database does not answer")


class OpenStudies:
    """The studies of a storage, opened by name."""

    def __init__(self, storage: str | Storage) -> None:
        self.storage = open_storage(storage)
        self.storage.patience = PATIENCE
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """List the studies by name; none where nothing has been created yet."""
        return retrying(self.storage.names, PATIENCE)

    def get(self, name: str | None) -> Opened:
        """Return a study; the name may be left out where there is only one."""
        if name is None:
            names = self.names()
            if len(names) != 1:
                known = f"there are {len(names)} here ({', '.join(map(repr, names[:20]))})"
                some = f"name the study, as in ?study=NAME: {known}"
                raise UnknownError(some if names else "there is no study here yet")
            name = names[0]
        with self._lock:
            if name not in self._open:
                self._open[name] = Opened(Study.load(self.storage, name), lambda: self._open.pop(name, None))
                if len(self._open) > MOST_OPEN:
                    self._open.popitem(last=False)
                    gc.unfreeze()  # it may be collected; see server.Collections
            self._open.move_to_end(name)
            return self._open[name]

    def open_the_only(self) -> None:
        """Open the study, where there is only one, before anybody asks for it; whoever asks is told what is wrong."""
        with suppress(Exception):
            self.get(None).still()

    def kept(self, name: str | None) -> Opened | None:
        """Return a study that is open already, without waiting for one that is being opened."""
        with suppress(KeyError):
            self._open.move_to_end(name or "")
            return self._open[name or ""]
        return None

    def close(self) -> None:
        """Release the database's connections."""
        self.storage.close()


class BackgroundForecast:
    """The latest forecast of one study, made while somebody asks for it."""

    def __init__(self, at: Opened) -> None:
        self.at = at
        self._made: Forecast | None = None
        self._begun, self._asked = -PAUSE, 0.0
        self._lock, self._worker = threading.Lock(), threading.Thread()

    def get(self) -> dict[str, Any]:
        """Return the latest forecast; without words until there is one."""
        self._asked, still = time.monotonic(), self.at.still()
        with self._lock:
            stale = self._made is None or self._made.trials != still.learner.episodes
            if stale and not self._worker.is_alive() and self._asked >= self._begun + PAUSE:
                self._begun = self._asked
                self._worker = threading.Thread(target=self._make, args=(still,), daemon=True, name="surepath-forecast")
                self._worker.start()
            pending, words = self._worker.is_alive(), str(self._made)
            if self._made is None:
                return {"words": "", "pending": pending}
            return {**plain(self._made.to_dict()), "words": f"{words[:1].upper()}{words[1:]}.", "pending": pending}

    def _make(self, still: Still) -> None:
        try:
            self._made = forecast(still, ended=lambda: time.monotonic() > self._asked + PAUSE)
        except Exception as error:
            log.warning("no forecast: %s", error)


class Watcher:
    """Watches one study for all its listeners."""

    def __init__(self, at: Opened, pulse: Pulse) -> None:
        self.at, self.pulse = at, pulse
        self.listeners: set[asyncio.Queue[str | None]] = set()
        self.task: asyncio.Task[None] | None = None
        self._seen: dict[str, Any] | None = None

    def poll(self) -> dict[str, Any] | None:
        """Return what differs from the last call, or None; the first time all of the status."""
        with self.at.synced() as still, still.storage.reading(still.name) as rows:
            before, fold = self._seen, still._fold
            if before is not None and (before["change"], before["stamp"]) == (fold.change, fold.stamp):
                return None
            learner: Any = fold.view
            status = page_status(still, fold, rows)
            arrays = {name: getattr(learner, name) for name in ("visits", "failures", "active", "excluded")}
            self._seen = {"change": fold.change, "stamp": fold.stamp, "prefix": fold.prefix, "status": status, **arrays}
            if before is None:
                return {"change": fold.change, "status": status}
            changed = np.zeros(self.at.study.mdp.n_arcs, dtype=bool)
            for name, array in arrays.items():
                changed |= before[name] != array
            return {
                "since": before["change"],
                "change": fold.change,
                "status": {name: value for name, value in status.items() if before["status"][name] != value},
                "arcs": arc_values(learner, np.flatnonzero(changed)),
                "gap": [drawn(point) for point in points_of(fold) if point.trials > before["prefix"]],
            }

    async def run(self) -> None:
        """Poll, send and pause until nobody listens; an error ends the listeners' streams."""
        call: asyncio.Future[dict[str, Any] | None] | None = None
        away = False
        try:
            while self.listeners:
                begun = time.monotonic()
                call = asyncio.ensure_future(run_in_threadpool(self.poll)) if call is None else call
                try:
                    await self.pulse.outlasted_by(call)
                    found, call = call.result(), None
                    if found is not None or away:
                        self.send(event("change", found or {}))
                    away = False
                except TransientError as error:
                    log.warning("watching %r: %s", self.at.study.name, error)
                    call, away = None if call is None or call.done() else call, True
                    self.send(event("away", {"message": AWAY}))
                await asyncio.sleep(max(READ_EVERY, 3 * (time.monotonic() - begun)))
        except Exception as error:
            log.error("watching %r: %s", self.at.study.name, error)
        finally:
            self.send(None)
            self.task, self._seen = None, None

    @property
    def change(self) -> int | None:
        """Return the change that the next event counts from; None when the next one has all."""
        return None if self._seen is None else int(self._seen["change"])

    def send(self, text: str | None) -> None:
        """Send an event to all listeners; None ends their streams."""
        for queue in list(self.listeners):
            behind = text is not None and queue.qsize() >= MOST_EVENTS_BEHIND
            if behind:
                self.listeners.discard(queue)
            queue.put_nowait(None if behind else text)


class Watchers:
    """The watchers of a server, by study."""

    def __init__(self, pulse: Pulse) -> None:
        self.pulse = pulse
        self._by_name: dict[str, Watcher] = {}
        self.closing = False

    def count(self) -> int:
        """Count the listeners of all studies."""
        return sum(len(watcher.listeners) for watcher in self._by_name.values())

    def watched(self, name: str) -> bool:
        """Return whether anybody listens to a study."""
        found = self._by_name.get(name)
        return found is not None and bool(found.listeners)

    def close(self) -> None:
        """End all streams."""
        self.closing = True
        for watcher in self._by_name.values():
            watcher.send(None)

    async def stream(self, at: Opened) -> AsyncIterator[str]:
        """Yield the events of a study until the listener leaves or the server ends."""
        name = at.study.name
        watcher = self._by_name.get(name)
        if watcher is None or watcher.at is not at:  # one that was deleted and created anew is another study
            watcher = self._by_name[name] = Watcher(at, self.pulse)
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        watcher.listeners.add(queue)
        try:
            yield event("hello", {"study": name, "change": watcher.change})
            if watcher.task is None:
                watcher.task = asyncio.create_task(watcher.run())
            while not self.closing:
                try:
                    text = await asyncio.wait_for(queue.get(), ALIVE)
                except TimeoutError:
                    yield ": alive\n\n"
                    continue
                if text is None:
                    return
                yield text
        finally:
            watcher.listeners.discard(queue)
            if not watcher.listeners and self._by_name.get(name) is watcher and watcher.task is None:
                del self._by_name[name]


def drawn(point: Point) -> list[Any]:
    """Return a point as the page draws it: [trials, gap or null, epsilon, plan]."""
    return [point.trials, *rounded([point.gap, point.epsilon]), point.plan]


def event(name: str, content: dict[str, Any]) -> str:
    """Write one server-sent event."""
    return f"event: {name}\ndata: {json.dumps(content, separators=(',', ':'), allow_nan=False)}\n\n"
