"""The forecast of trials left, made in the background: simulating worlds takes seconds, and nobody should wait."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from surepath.study.status.progress import rough_trials_left
from surepath.study.study import Study
from surepath.web.plain import plain

log = logging.getLogger("surepath.web")

PAUSE = 20.0  # seconds between two forecasts of one study


class BackgroundForecast:
    """The latest forecast of one study."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._made: dict[str, Any] | None = None
        self._of = -1  # settled trials when it was made
        self._begun = -PAUSE
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    def get(self) -> dict[str, Any]:
        """Return the latest forecast, or a guess from how gaps fall until there is one."""
        if self.study.done:
            words = "Nothing is left to do: what was asked for is proven."
            return {"trials_left": 0, "words": words, "pending": False}
        self._renew()
        with self._lock:
            busy = self._worker is not None and self._worker.is_alive()
            return {**(self._made or rough(self.study)), "pending": busy}

    def _renew(self) -> None:
        make = getattr(self.study, "forecast", None)
        with self._lock:
            busy = self._worker is not None and self._worker.is_alive()
            if make is None or busy or self._of == len(self.study) or time.monotonic() < self._begun + PAUSE:
                return
            self._begun = time.monotonic()
            self._worker = threading.Thread(target=self._make, args=(make,), daemon=True, name="surepath-forecast")
            self._worker.start()

    def _make(self, make: Any) -> None:
        try:
            trials, found = len(self.study), make()
            with self._lock:
                self._made, self._of = {**plain(found.to_dict()), "words": _sentence(str(found))}, trials
        except Exception as error:
            log.warning("no forecast: %s", error)


def rough(study: Study) -> dict[str, Any]:
    """Guess from how gaps fall with the root of the number of trials."""
    left = rough_trials_left(study.evidence_trials, study.certified_gap, study.epsilon)
    if left is None:
        return {"trials_left": None, "words": ""}
    words = f"Roughly {left:,} more trials, if the gap goes on falling with the root of their number."
    return {"trials_left": left, "words": words}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
