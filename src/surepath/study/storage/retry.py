"""Repeating what a passing fault has stopped: a lost connection, a lock held for too long."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from surepath.study.storage.contract import TransientError

T = TypeVar("T")
STORAGE_PATIENCE = 120.0  # seconds
LONGEST_STORAGE_PAUSE = 2.0
SAID_FROM = 0.3  # shorter pauses are not worth a warning

log = logging.getLogger("surepath.study")
log.addHandler(logging.NullHandler())


def retrying(do: Callable[[], T], patience: float = STORAGE_PATIENCE) -> T:
    """Call a function until it succeeds or patience is at an end; a second call must change nothing."""
    end, pause = time.monotonic() + patience, 0.01
    while True:
        try:
            return do()
        except TransientError as error:
            if time.monotonic() + pause > end:
                raise
            log.log(logging.WARNING if pause >= SAID_FROM else logging.DEBUG, "%s; trying again", error)
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, LONGEST_STORAGE_PAUSE)
