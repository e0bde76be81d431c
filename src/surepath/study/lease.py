"""Leases: how long a worker may keep a trial, as people write it, and what happens when a lease expires.

When a lease ends, the plan is assigned again first, as a new trial, twice at most: the worker may have died. The trial
itself is awaited for GRACE leases, since a proof that passes over slow trials leaves scores out by what they are. Then
it is given up, and counts as lost.
"""

from __future__ import annotations

import os
import re
import socket
from datetime import timedelta
from typing import Any

from surepath._checks import real
from surepath.errors import SettingError
from surepath.study.storage import QueueRow, TrialRow, Writing
from surepath.study.trial import EXPIRED, RETRIED

UNITS = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST_LEASE = 10 * 365 * 86400.0
GRACE = 10  # leases after which a trial is given up
MOST_RETRIES = 2  # an option that kills its worker must not be assigned for ever
BATCH = 1_000


def this_worker() -> str:
    """Name the worker that this process is: its host and its number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def seconds(value: Any, what: str = "lease") -> float:
    """Read a duration as seconds: "10min", "2h", "45s", "3d", a number of seconds, a timedelta.

    Example:
        >>> seconds("10min"), seconds("1.5h"), seconds(30)
        (600.0, 5400.0, 30.0)
    """
    if isinstance(value, timedelta):
        found = value.total_seconds()
    elif isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*", value)
        unit = (match.group(2).lower() or "s") if match else ""
        if match is None or unit not in UNITS:
            raise SettingError(f'{what} must be a duration such as "10min", "2h" or "3d", not {value!r}')
        found = float(match.group(1)) * UNITS[unit]
    else:
        found = real(what, value)
    if not 0.0 < found <= LONGEST_LEASE:
        raise SettingError(f"{what} must be longer than 0 and at most ten years, not {value!r}")
    return found


def in_words(duration: float) -> str:
    """Write seconds the way people say them.

    Example:
        >>> in_words(600.0), in_words(5400.0), in_words(86400.0 * 3)
        ('10min', '1.5h', '3d')
    """
    for unit in ("d", "h", "min"):
        if duration >= UNITS[unit]:
            return f"{duration / UNITS[unit]:.3g}{unit}"
    return f"{duration:.3g}s"


def expire(log: Writing, lease: float) -> None:
    """Mark trials whose lease has ended as expired and queue their plans at the front; give up what is long over."""
    now = log.now()
    for row in reversed(log.expired(now, BATCH)):  # the oldest ends up at the front
        if row.state == EXPIRED:
            log.update_trial(row._replace(told=now))
            continue
        log.update_trial(row._replace(state=EXPIRED, lease=row.lease + (GRACE - 1) * lease))
        if _retries(log, row) < MOST_RETRIES:
            log.add_to_queue(QueueRow(0, row.path, RETRIED, row.number, now), front=True)


def _retries(log: Writing, row: TrialRow) -> int:
    """Count how often this plan was already assigned again."""
    count = 0
    while row.source == RETRIED and row.of is not None and count <= MOST_RETRIES:
        count += 1
        earlier = log.trial(row.of)
        if earlier is None:
            break
        row = earlier
    return count
