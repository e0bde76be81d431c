"""The stream of changes: server-sent events that carry only what differs from the last one.

One task per watched study reads the log a few times a second, whoever wrote to it, and sends the difference to all
listeners. A listener that joins, or joins again, gets the change number it starts from and reads the rest itself.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool

from surepath.study.status.gap_history import thin
from surepath.web import views
from surepath.web.open_studies import Opened
from surepath.web.picture import arc_values
from surepath.web.plain import rounded

log = logging.getLogger("surepath.web")

READ_EVERY = 0.4  # seconds between two readings
ALIVE = 15.0  # seconds between two keep-alive comments
MOST_EVENTS_BEHIND = 64  # events a slow listener may be behind before it is cut off, to join again


class Watcher:
    """Watches one study for all its listeners."""

    def __init__(self, at: Opened) -> None:
        self.at = at
        self.listeners: set[asyncio.Queue[str | None]] = set()
        self.task: asyncio.Task[None] | None = None
        self._seen: dict[str, Any] | None = None
        self._sent = 0  # settled trials up to which points were sent for good

    def poll(self) -> dict[str, Any] | None:
        """Return what differs from the last call, or None; the first time all of the status."""
        with self.at.synced() as fold, self.at.study.storage.reading(self.at.study.name) as rows:
            before = self._seen
            if before is not None and before["change"] == fold.change:
                return self._more_past(fold.change)
            learner: Any = fold.view
            status = views.status(self.at.study, fold, rows)
            arrays = {name: getattr(learner, name) for name in ("visits", "failures", "active", "excluded")}
            self._seen = {"change": fold.change, "status": status, **arrays}
            if before is None:
                self._sent = self.at.history.read
                return {"change": fold.change, "status": status}
            changed = np.zeros(self.at.study.mdp.n_arcs, dtype=bool)
            for name, array in arrays.items():
                changed |= before[name] != array
            return {
                "since": before["change"],
                "change": fold.change,
                "status": {name: value for name, value in status.items() if before["status"][name] != value},
                "arcs": arc_values(learner, np.flatnonzero(changed)),
                "gap": self._new_points(),
            }

    def _more_past(self, change: int) -> dict[str, Any] | None:
        """Return points that were read since the last call, where nothing else has changed."""
        if self.at.history.read <= self._sent:
            return None
        return {"change": change, "gap": self._new_points()}

    def _new_points(self) -> list[list[Any]]:
        """Return the points after those that were sent for good; the last of them are sent anew as the log is read."""
        known, self._sent = self._sent, self.at.history.read
        return [[n, *rounded([gap, epsilon])] for n, gap, epsilon in thin(self.at.history.points(known))]

    async def run(self) -> None:
        """Poll, send and pause until nobody listens; an error ends the listeners' streams."""
        try:
            while self.listeners:
                begun = time.monotonic()
                found = await run_in_threadpool(self.poll)
                if found is not None:
                    self.send(event("change", found))
                await asyncio.sleep(max(READ_EVERY, 3 * (time.monotonic() - begun)))
        except asyncio.CancelledError:
            raise
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
            if text is not None and queue.qsize() >= MOST_EVENTS_BEHIND:
                self.listeners.discard(queue)
                text_or_end: str | None = None
            else:
                text_or_end = text
            queue.put_nowait(text_or_end)


class Watchers:
    """The watchers of a server, by study."""

    def __init__(self) -> None:
        self._by_name: dict[str, Watcher] = {}
        self.closing = False

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
            watcher = self._by_name[name] = Watcher(at)
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


def event(name: str, content: dict[str, Any]) -> str:
    """Write one server-sent event."""
    return f"event: {name}\ndata: {json.dumps(content, separators=(',', ':'), allow_nan=False)}\n\n"
