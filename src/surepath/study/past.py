"""Past results from a file: trials that were played before the study, told as data of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from surepath.errors import SurepathError
from surepath.model.sources.textfile import read_text
from surepath.study.sheets import read_past
from surepath.study.storage.records import TrialRow
from surepath.study.telling import append, past_result

if TYPE_CHECKING:
    from surepath.study.study import Study


class Imported(NamedTuple):
    """How many results were taken in, were known from the same import before, and held no score."""

    imported: int
    repeated: int
    empty: int


def import_past(study: Study, path: Path) -> Imported:
    """Take in a CSV file of past results, all of it or nothing; the same file a second time changes nothing."""
    results, empty = read_past(study.mdp, read_text(path), path.name)
    rows: list[TrialRow] = []
    for result in results:
        try:
            rows.append(past_result(study.mdp, result.plan, result.rewards, f"imported from {path.name}"))
        except SurepathError as error:
            raise type(error)(f"{result.where}: {error}") from None
    content = json.dumps([[list(result.plan.values()), result.rewards] for result in results])
    request = f"import {hashlib.sha256(content.encode()).hexdigest()}"
    with study._lock:
        taken = study._write(lambda log: append(log, rows) if log.first_time(request) else 0)
    return Imported(taken, len(results) - taken, empty)
