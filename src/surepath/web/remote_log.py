"""The log of a study on a server: its export, read as a storage's log is read."""

from __future__ import annotations

import json
from typing import Any

from surepath.study.storage.records import QueueRow, TrialRow


class ExportedLog:
    """The trials and waiting plans of an export (JSON lines), in one consistent state."""

    def __init__(self, text: bytes) -> None:
        self._trials: list[TrialRow] = []
        self._queue: list[QueueRow] = []
        for line in text.splitlines()[1:]:  # the first is the study itself
            entry: dict[str, Any] = json.loads(line)
            kind = entry.pop("entry")
            if kind == "trial":
                entry |= {"path": tuple(entry["path"]), "rewards": tuple(entry["rewards"])}
                self._trials.append(TrialRow(**entry))
            elif kind == "waiting":
                self._queue.append(QueueRow(len(self._queue), **{**entry, "path": tuple(entry["path"])}))

    def last_number(self) -> int:
        """Return the number of the last trial, 0 when there is none."""
        return len(self._trials)

    def trials(self, first: int, limit: int) -> list[TrialRow]:
        """Return up to `limit` trials from a number on."""
        return self._trials[first - 1 : first - 1 + limit]

    def queue(self, limit: int) -> list[QueueRow]:
        """Return up to `limit` waiting plans, the next one first."""
        return self._queue[:limit]
