"""What the study commands share: where a study is, trials and plans as words, opening it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surepath._text import shown
from surepath.cli._output import colour

if TYPE_CHECKING:
    from surepath.study.storage import TrialRow
    from surepath.study.study import Study

DEFAULT_STORAGE = "sqlite:///study.db"

Storage = Annotated[
    str,
    typer.Option(envvar="SUREPATH_STORAGE", help="sqlite:///FILE, a file name, or postgresql://USER@HOST/DATABASE."),
]
Name = Annotated[str | None, typer.Option(help="The study; may be left out where the storage has one.")]
Number = Annotated[int, typer.Argument(min=1, help="The number of the trial.")]
Numbers = Annotated[list[int], typer.Argument(min=1, help="The numbers of the trials.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]

# Scores may be negative: "-0.5" is no option.
TAKES_SCORES = {"ignore_unknown_options": True}


def load(storage: str, name: str | None) -> Study:
    """Open a study; everything heavy is imported here."""
    from surepath.study.creation import only_name
    from surepath.study.storage import open_storage
    from surepath.study.study import Study

    place = open_storage(storage)
    return Study.load(place, only_name(place, "name the study with --name") if name is None else name)


def again(found: Study, storage: str) -> str:
    """Write the options by which another command reaches the same study: what its defaults do not say."""
    place = "..." if "@" in storage else quote(storage)  # a password is not repeated
    where = "" if storage == (os.environ.get("SUREPATH_STORAGE") or DEFAULT_STORAGE) else f" --storage {place}"
    which = f" --name {quote(found.name)}" if len(found.storage.names()) > 1 else ""
    return shown(where + which)


def trial_row(found: Study, number: int) -> TrialRow:
    """Read one trial."""
    from surepath.errors import StudyError
    from surepath.study.trial import trial_number

    number = trial_number(number)
    found.sync()
    row = found._read(lambda log: log.trial(number))
    if row is None:
        raise StudyError(f"there is no trial {number}; the last one is {len(found)}")
    return row


def late_rows(found: Study, numbers: Sequence[int]) -> list[TrialRow]:
    """Read the trials under which late results of these were kept."""
    return found._read(lambda log: [row for n in numbers for row in log.trials_of(n) if row.source == "late"])


def why_late(found: Study, number: int) -> str:
    """Say why a result of this trial is kept as a new one."""
    return "was cancelled before" if trial_row(found, number).state == "cancelled" else "came after the lease had ended"


def pairs(words: Sequence[str], what: str) -> dict[str, str]:
    """Read words such as model=large, or one JSON object, as a mapping."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return {str(key): value for key, value in _json(words[0], what).items()}
    found: dict[str, str] = {}
    example = "SCORE, such as model=0.7" if what == "a score" else "OPTION, such as model=large"
    for word in words:
        step, sign, value = word.partition("=")
        if not sign:
            raise typer.BadParameter(f"{what} is written STEP={example}; {shown(word)!r} has no '='")
        if step in found:
            raise typer.BadParameter(f"the step {shown(step)!r} is named twice")
        found[step] = value
    return found


def scores(words: Sequence[str]) -> Any:
    """Read scores: numbers in the order of the steps, STEP=SCORE words, or one JSON array or object."""
    if len(words) == 1 and words[0].lstrip()[:1] in ("{", "["):
        return _json(words[0], "scores")
    if any("=" in word for word in words):
        return {step: _number(value) for step, value in pairs(words, "a score").items()}
    return [_number(word) for word in words]


def shown_plan(plan: Any) -> str:
    """Write a plan on one line of a terminal: model=large, prompt=long."""
    from surepath.model.plans import plan_in_words

    return shown(plan_in_words(plan))


def moment(seconds: float) -> str:
    """Write a time, given in seconds since 1970, as people do."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def refuse_existing(path: Any, force: bool) -> None:
    """Refuse to replace a file that is there."""
    from surepath.errors import StudyError

    if path.exists() and not force:
        raise StudyError(f"{path} is there already; choose another name, or replace it with --force")


def note(text: str) -> None:
    """Print a note beside the answer, on standard error."""
    typer.secho(text, fg=colour("yellow"), err=True)


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise typer.BadParameter(f"a score is a number, not {shown(word)!r}") from None


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{what}: {shown(text)!r} is no JSON: {error}") from None
