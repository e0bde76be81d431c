"""The studies of a storage, opened when they are asked for and kept open; each with its history."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from surepath.errors import StorageError, StudyError
from surepath.learners.proven import proven_gap
from surepath.study.fold import Fold
from surepath.study.storage import Storage, open_storage, retrying
from surepath.study.study import Study
from surepath.web.background_forecast import BackgroundForecast
from surepath.web.faults import NotFound
from surepath.web.history import History

MOST_OPEN = 64


class Opened(NamedTuple):
    """A study, its history and its forecast."""

    study: Study
    history: History
    forecast: BackgroundForecast
    forget: Callable[[], None]

    @contextmanager
    def synced(self) -> Iterator[Fold]:
        """Lock the study, brought up to date, yield its fold, and note the gap in the history."""
        with self.study._lock:
            try:
                self.study.sync()
            except StorageError:
                raise
            except StudyError as error:  # deleted, or deleted and created anew
                self.forget()
                raise NotFound(str(error)) from None
            fold = self.study._fold
            learner: Any = fold.view
            self.history.note(fold.prefix, proven_gap(learner), float(learner.epsilon))
            yield fold


class OpenStudies:
    """The studies of a storage, opened by name."""

    def __init__(self, storage: str | Storage) -> None:
        self.storage = open_storage(storage)
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """List the studies by name; none where nothing has been created yet."""
        return retrying(self.storage.names)

    def get(self, name: str | None) -> Opened:
        """Return a study; the name may be left out where there is only one."""
        if name is None:
            names = self.names()
            if len(names) != 1:
                known = f"there are {len(names)} here ({', '.join(map(repr, names[:20]))})"
                raise NotFound(f"name the study, as in ?study=NAME: {known}" if names else "there is no study here yet")
            name = names[0]
        with self._lock:
            if name not in self._open:
                self._open[name] = self._load(name)
                if len(self._open) > MOST_OPEN:
                    self._open.popitem(last=False)
            self._open.move_to_end(name)
            return self._open[name]

    def kept(self, name: str | None) -> Opened | None:
        """Return a study that is open already, without waiting for one that is being opened."""
        found = None
        if name is not None and self._lock.acquire(blocking=False):
            found = self._open.get(name)
            if found is not None:
                self._open.move_to_end(name)
            self._lock.release()
        return found

    def _load(self, name: str) -> Opened:
        try:
            study = Study.load(self.storage, name)
        except StorageError:
            raise
        except StudyError as error:
            raise NotFound(str(error)) from None
        return Opened(study, History(study), BackgroundForecast(study), lambda: self._forget(name))

    def _forget(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)

    def close(self) -> None:
        """Release the database's connections."""
        self.storage.close()
