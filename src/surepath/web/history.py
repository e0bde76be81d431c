"""The proven gap over trials, thinned here so that a million trials draw in an instant.

A thread of its own follows the log (`study/status/gap_history.py`). What is proven at this moment is the last point.
"""

from __future__ import annotations

import logging
import threading

from surepath.study.status import gap_history
from surepath.study.status.gap_history import MOST_POINTS, Past, Point, thin
from surepath.study.study import Study

log = logging.getLogger("surepath.web")


class History:
    """The gap history of one study; safe to use from several threads.

    Attributes:
        read: Settled trials up to which the log has been read.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.read = 0
        self._wanted = 0
        self._past: list[Point] = []
        self._now: list[Point] = []  # what was proven when the study was read, after the past that has been read
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._follower: Past | None = None

    @property
    def complete(self) -> bool:
        """Return whether the past has been read as far as it will be."""
        with self._lock:
            return self.read >= self._wanted

    @property
    def missing(self) -> int:
        """Return the trials after which the past is not read, because there are too many for this learner."""
        follower = self._follower
        return 0 if follower is None or follower.in_blocks else max(0, self._wanted - gap_history.MOST_REPLAYED)

    def note(self, prefix: int, gap: float, epsilon: float) -> None:
        """Add what is proven now, and read on."""
        with self._lock:
            if self._now and self._now[-1][0] >= prefix:
                self._now.pop()
            if prefix > 0:
                self._now.append((prefix, gap, epsilon))
            if len(self._now) > 2 * MOST_POINTS:
                self._now = thin(self._now)
            self._wanted = max(self._wanted, prefix)
            if self.read < self._wanted and (self._reader is None or not self._reader.is_alive()):
                self._reader = threading.Thread(target=self._read, daemon=True, name="surepath-history")
                self._reader.start()

    def points(self, after: int = 0) -> list[Point]:
        """Return the points that are known so far, thinned; or all of those after a number of trials."""
        with self._lock:
            last = self._past[-1][0] if self._past else 0
            found = self._past + [point for point in self._now if point[0] > last]
            if self._now and found[-1][0] == self._now[-1][0]:
                found[-1] = self._now[-1]
        return [point for point in found if point[0] > after] if after else thin(found)

    def wait(self, seconds: float) -> bool:
        """Wait for the past to be read; returns whether it is."""
        reader = self._reader
        if reader is not None:
            reader.join(seconds)
        return self.complete

    def _read(self) -> None:
        try:
            if self._follower is None:
                self._follower = Past(self.study)
            while not self.complete:
                for point in self._follower.points(self._wanted):
                    with self._lock:
                        self._past.append(point)
                        self.read = point[0]
                        if len(self._past) > 4 * MOST_POINTS:
                            self._past = thin(self._past, 2 * MOST_POINTS)
                with self._lock:
                    self.read = self._wanted
        except Exception as error:
            log.error("the history of %r cannot be read: %s", self.study.name, error)
