"""`surepath study tell`: report scores, of one trial or of a whole sheet."""

from __future__ import annotations

from collections import Counter
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import AsJson, print_json
from surepath.cli.study import study
from surepath.cli.study._open import (
    DEFAULT_STORAGE,
    TAKES_SCORES,
    Name,
    Storage,
    again,
    late_rows,
    load,
    note,
    scores,
    trial_row,
    why_late,
)

WORDS = {
    "told": "recorded",
    "repeated": "recorded before, nothing changed",
    "late": "came after the lease had ended or the trial was cancelled, kept as new trials",
}


@study.command("tell", context_settings=TAKES_SCORES)
def tell(
    what: Annotated[str, typer.Argument(help="A CSV file from study ask, or the number of a trial.")],
    values: Annotated[
        list[str] | None, typer.Argument(help="Its scores: numbers in the order of the steps, or STEP=SCORE.")
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Report scores: a filled-in CSV file, all of it or nothing, or one trial; the same twice changes nothing."""
    if what.isascii() and what.isdigit():
        if not values:
            raise typer.BadParameter(f"give the scores of trial {what}: surepath study tell {what} 0.7 0.4")
        _one(load(storage, name), storage, int(what), scores(values), as_json)
        return
    if values:
        raise typer.BadParameter("give a CSV file alone, or the number of a trial and its scores")
    _sheet(load(storage, name), storage, Path(what), as_json)


def _one(found: Any, storage: str, number: int, rewards: Any, as_json: bool) -> None:
    from surepath.study.running.performed import with_known

    path = trial_row(found, number).path
    rewards = with_known(found.mdp, path, rewards)
    _refuse_missing(found.mdp, number, path, rewards)
    answer = found.tell(number, rewards)
    kept = next(iter(late_rows(found, [number])), None)
    row = kept or trial_row(found, number)
    if as_json:
        facts = {"number": number, "answer": answer, "state": row.state, "done": found.done}
        print_json(facts if kept is None else {**facts, "kept_as": kept.number})
        return
    words = WORDS[answer]
    if kept is not None:
        late = f"{why_late(found, number)}, kept as trial {kept.number}"
        words = late if answer == "late" else f"its late result was kept as trial {kept.number} before, nothing changed"
    typer.echo(f"trial {number}: {words}{_end(found, storage)}")


def _refuse_missing(mdp: Any, number: int, path: Any, rewards: Any) -> None:
    """Refuse too few scores: a score that was forgotten could never be added, since a recorded trial never changes."""
    import numpy as np

    from surepath.errors import StudyError
    from surepath.learners.base import read_rewards
    from surepath.study.running.performed import missing

    seen = read_rewards(mdp, np.asarray(path, dtype=np.int64), rewards).tolist()
    if lacking := missing(mdp, path, len(seen)):
        so_far = "".join(f" {score!r}" for score in seen)
        raise StudyError(
            f"trial {number} has {shown(lacking)}; give a score for every step, or report a trial that failed there by "
            f"`study fail {number}{so_far}` on the same study"
        )


def _sheet(found: Any, storage: str, path: Path, as_json: bool) -> None:
    from surepath.study.sheets.rows import plan_columns
    from surepath.study.sheets.sheet import read_sheet, read_table

    sheet = read_sheet(found.mdp, read_table(path), path.name)
    answers = found.tell_many(sheet.results)
    counts = Counter(answers)
    if as_json:
        rest = {answer: counts[answer] for answer in WORDS}
        print_json({**rest, "empty": sheet.empty, "done": found.done})
        return
    parts = [f"{counts[answer]:,} {words}" for answer, words in WORDS.items() if counts[answer]]
    if counts["late"]:
        late = [result.number for result, answer in zip(sheet.results, answers) if answer == "late"]
        parts[-1] += f" ({_some([row.number for row in late_rows(found, late)])})"
    if sheet.empty:
        parts.append(f"{len(sheet.empty):,} without scores, left as they are ({_some(sheet.empty)})")
    typer.echo(f"{shown(path.name)}: " + ("; ".join(parts) or "no rows") + _end(found, storage))
    if not sheet.plans:
        wanted = ", ".join(map(shown, plan_columns(found.mdp)))
        note(
            f"note: {shown(path.name)} has no plan columns ({wanted}), so its rows could not be compared with the log: "
            f"a row that was shifted or renumbered is not found"
        )


def _some(numbers: list[int]) -> str:
    return (
        ("trials " if len(numbers) > 1 else "trial ")
        + ", ".join(map(str, numbers[:10]))
        + (", ..." if len(numbers) > 10 else "")
    )


def _end(found: Any, storage: str) -> str:
    proven = found.done and isfinite(found.certified_gap)
    return f"\nthe answer is proven: surepath study status{again(found, storage)}" if proven else ""
