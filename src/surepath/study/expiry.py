"""Leases that have run out: the worker died. Its plan is handed out again first, as a new trial, twice at most."""

from __future__ import annotations

from surepath.study.states import EXPIRED, RETRIED
from surepath.study.storage.contract import Writing
from surepath.study.storage.records import QueueRow, TrialRow

MOST_RETRIES = 2  # an option that kills its worker must not be handed out for ever
BATCH = 1_000


def expire(log: Writing) -> None:
    """Mark running trials whose lease has ended as expired and queue their plans at the front."""
    now = log.now()
    for row in reversed(log.expired(now, BATCH)):  # the oldest ends up at the front
        log.update_trial(row._replace(state=EXPIRED, told=now))
        if _retries(log, row) < MOST_RETRIES:
            log.add_to_queue(QueueRow(0, row.path, RETRIED, row.number, now), front=True)


def _retries(log: Writing, row: TrialRow) -> int:
    """Count how often this plan was already handed out again."""
    count = 0
    while row.source == RETRIED and row.of is not None and count <= MOST_RETRIES:
        count += 1
        earlier = log.trial(row.of)
        if earlier is None:
            break
        row = earlier
    return count
